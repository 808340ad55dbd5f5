/* SPDX-License-Identifier: BSD-3-Clause */
#include "traffic/flows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/bytes.h"

static uint32_t base_of(const struct flows *f, enum flows_field field)
{
    switch (field) {
    case FLOWS_SPORT:
        return f->route.sport;
    case FLOWS_DPORT:
        return f->route.dport;
    case FLOWS_SRC:
        return bytes_get_u32(f->route.src.b + 12);
    default:
        return bytes_get_u32(f->route.dst.b + 12);
    }
}

int flows_check(const struct flows *f, char *err, size_t err_len)
{
    static const char *const names[FLOWS_FIELDS] = {"sport", "dport", "src", "dst"};
    uint64_t product = 1;

    for (unsigned int i = 0; i < FLOWS_FIELDS; i++) {
        uint64_t last = (uint64_t)base_of(f, (enum flows_field)i) + f->span[i] - 1;

        if (last > (i < FLOWS_SRC ? UINT16_MAX : UINT32_MAX)) {
            snprintf(err, err_len, "%s: %u values do not fit behind the first one; start lower",
                     names[i], f->span[i]);
            return -EINVAL;
        }
        product *= f->span[i];
        product = product < FLOWS_MAX ? product : FLOWS_MAX;
    }
    if (addr_is_v4(&f->route.src) != addr_is_v4(&f->route.dst)) {
        snprintf(err, err_len, "src and dst are of two families; give both as IPv4 or as IPv6");
        return -EINVAL;
    }
    if (product < f->count) {
        snprintf(err, err_len,
                 "%u flows need more values than sport, dport, src and dst have: %" PRIu64
                 "; write more, such as src=198.18.0.1+256",
                 f->count, product);
        return -EINVAL;
    }
    return 0;
}

uint32_t flows_list(const struct flows *f, uint32_t first, uint32_t step, struct stamp_flow *out)
{
    uint32_t n = 0;

    for (uint64_t i = first; i < f->count; i += step, n++) {
        uint64_t rest = i;
        uint32_t value[FLOWS_FIELDS];

        for (unsigned int k = 0; k < FLOWS_FIELDS; k++) {
            value[k] = base_of(f, (enum flows_field)k) + (uint32_t)(rest % f->span[k]);
            rest /= f->span[k];
        }
        out[n] = (struct stamp_flow){.flow = n,
                                     .src = value[FLOWS_SRC],
                                     .dst = value[FLOWS_DST],
                                     .sport = (uint16_t)value[FLOWS_SPORT],
                                     .dport = (uint16_t)value[FLOWS_DPORT]};
    }
    return n;
}

struct flows flows_back(const struct flows *f)
{
    struct flows back = *f;

    back.route.src_mac = f->route.dst_mac;
    back.route.dst_mac = f->route.src_mac;
    back.route.src = f->route.dst;
    back.route.dst = f->route.src;
    back.route.sport = f->route.dport;
    back.route.dport = f->route.sport;
    back.span[FLOWS_SPORT] = f->span[FLOWS_DPORT];
    back.span[FLOWS_DPORT] = f->span[FLOWS_SPORT];
    back.span[FLOWS_SRC] = f->span[FLOWS_DST];
    back.span[FLOWS_DST] = f->span[FLOWS_SRC];
    return back;
}
