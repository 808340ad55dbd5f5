/* SPDX-License-Identifier: BSD-3-Clause */
/* See path_size.h. */
#include "sluice/ping/path_size.h"

#include <errno.h>
#include <stdio.h>

#define PACKET_MAX  65535u
#define QUEUES_NS   300000000ull /* in routers, as lib/host/black_hole.c says */
#define ROUND_TRIPS 4u           /* for repeats of a probe that was lost by chance */

/* Does a packet of this length get an answer? 1, 0, or a negative errno. */
static int passes(struct loop *l, const char *host, uint32_t packet_bytes, uint64_t wait_ns,
                  bool *mtu)
{
    int status = probe_try(l, host, packet_bytes, wait_ns);

    *mtu = status == -EMSGSIZE;
    return status == -ENOTCONN || status == -EINTR ? status : status == 0;
}

int path_size_find(struct loop *l, const char *host, const struct probe *answered,
                   struct path_size *out)
{
    uint64_t wait_ns = QUEUES_NS + ROUND_TRIPS * answered->round_trip_ns;
    uint32_t most = PACKET_MAX + 1; /* does not pass */
    uint32_t passed = 0;            /* a FIRST that is not padded */
    bool mtu_bound = true;

    *out = (struct path_size){0};
    while (most - passed > 1) {
        uint32_t middle = passed + (most - passed) / 2;
        bool mtu;
        int rc = passes(l, host, middle, wait_ns, &mtu);

        if (rc < 0)
            return rc;
        if (rc == 1) {
            passed = middle;
        } else {
            most = middle;
            mtu_bound = mtu;
        }
    }
    *out = (struct path_size){.packet_bytes = passed, .mtu_bound = mtu_bound};
    return 0;
}

void path_size_explain(const struct path_size *p, struct probe_finding *out)
{
    out->cure[0] = '\0';
    if (p->packet_bytes == 0) {
        snprintf(out->text, sizeof out->text,
                 "how long packets may be is not known: no further one was answered");
        return;
    }
    if (p->mtu_bound) {
        snprintf(out->text, sizeof out->text,
                 "packets of %u bytes come through, the longest that our port sends (mtu)",
                 p->packet_bytes);
        return;
    }
    snprintf(out->text, sizeof out->text,
             "packets of %u bytes come through, and no longer ones, though our port sends them",
             p->packet_bytes);
    snprintf(
        out->cure, sizeof out->cure,
        "raise the MTU of the links on the path and of the port there, or set mtu = %u for our "
        "port; until then, each connection loses its first packets, and halves its units",
        p->packet_bytes);
}
