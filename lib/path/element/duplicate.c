/* SPDX-License-Identifier: BSD-3-Clause */
/* duplicate: makes packets arrive twice. The copy comes right behind the original and goes through
 * the next elements like any other packet. */
#include "path/element.h"

#include "path/draw.h"

struct duplicate_params {
    uint64_t p, rho;
};

struct duplicate {
    struct element e;
    struct draw draw;
};

static int duplicate_parse(struct spec *s, void *params)
{
    struct duplicate_params *p = params;

    if (spec_share(s, "duplicate's probability", &p->p) && spec_digit(s))
        spec_share(s, "duplicate's correlation", &p->rho);
    return 0;
}

static bool duplicate_apart(const void *params)
{
    return ((const struct duplicate_params *)params)->rho == 0;
}

static int duplicate_init(struct element *e)
{
    ((struct duplicate *)e)->draw.rng = &e->rng;
    return 0;
}

static void duplicate_arrive(struct element *e, struct path_packet *packet)
{
    const struct duplicate_params *p = e->params;
    struct path_packet copy = *packet;

    if (!draw_hits(draw_u64(&((struct duplicate *)e)->draw, p->rho), p->p)) {
        element_pass(e, packet);
        return;
    }
    if (!path_whole(e->path, packet)) {
        element_drop(e, packet);
        return;
    }
    copy.seq++; /* right after the original, no matter when the path is polled */
    copy.m = path_copy(e->path, packet->m);
    if (copy.m != NULL) {
        counter_add(&e->counts.copied, 1);
        counter_add(&e->counts.copied_bytes, copy.len);
    }
    element_pass(e, packet);
    if (copy.m != NULL)
        element_pass(e, &copy);
}

const struct element_kind kind_duplicate = {
    .name = "duplicate",
    .bytes = sizeof(struct duplicate),
    .params_bytes = sizeof(struct duplicate_params),
    .parse = duplicate_parse,
    .apart = duplicate_apart,
    .init = duplicate_init,
    .arrive = duplicate_arrive,
};
