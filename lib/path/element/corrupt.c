/* SPDX-License-Identifier: BSD-3-Clause */
/* corrupt: flips one bit of the frame, any bit with the same probability. */
#include "path/element.h"

#include "path/draw.h"

struct corrupt_params {
    uint64_t p, rho;
};

struct corrupt {
    struct element e;
    struct draw draw;
};

static int corrupt_parse(struct spec *s, void *params)
{
    struct corrupt_params *p = params;

    if (spec_share(s, "corrupt's probability", &p->p) && spec_digit(s))
        spec_share(s, "corrupt's correlation", &p->rho);
    return 0;
}

static bool corrupt_apart(const void *params)
{
    return ((const struct corrupt_params *)params)->rho == 0;
}

static int corrupt_init(struct element *e)
{
    ((struct corrupt *)e)->draw.rng = &e->rng;
    return 0;
}

static void bit_turn(struct rte_mbuf *m, uint64_t bit)
{
    uint64_t byte = bit / 8;

    while (byte >= m->data_len) {
        byte -= m->data_len;
        m = m->next;
    }
    *rte_pktmbuf_mtod_offset(m, uint8_t *, byte) ^= (uint8_t)(1 << bit % 8);
}

static void corrupt_arrive(struct element *e, struct path_packet *packet)
{
    const struct corrupt_params *p = e->params;

    if (packet->len > 0 && draw_hits(draw_u64(&((struct corrupt *)e)->draw, p->rho), p->p)) {
        if (!path_whole(e->path, packet)) {
            element_drop(e, packet);
            return;
        }
        bit_turn(packet->m, rng_below(&e->rng, (uint64_t)packet->len * 8));
        counter_add(&e->counts.changed, 1);
    }
    element_pass(e, packet);
}

const struct element_kind kind_corrupt = {
    .name = "corrupt",
    .bytes = sizeof(struct corrupt),
    .params_bytes = sizeof(struct corrupt_params),
    .parse = corrupt_parse,
    .apart = corrupt_apart,
    .init = corrupt_init,
    .arrive = corrupt_arrive,
};
