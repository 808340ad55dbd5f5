/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * slot: packets wait for the next opening, as on a medium whose turns are handed out. An opening
 * lets at most `packets` packets or `bytes` bytes through. When these are used up, the gap before
 * the next opening begins. When they are not, the gap begins with the first packet that comes after
 * the opening.
 */
#include <errno.h>

#include "path/draw.h"
#include "path/element.h"
#include "path/law.h"

struct slot_params {
    uint64_t least, most; /* bounds of the gap, without a distribution */
    bool distributed;     /* the gap has a distribution: law, mean and spread */
    struct law law;
    uint64_t mean, spread;
    uint64_t packets, bytes; /* let through by an opening; UINT64_MAX: any number */
    uint64_t limit_packets, limit_bytes;
};

struct slot {
    struct element e;
    struct fifo fifo; /* waiting packets, in the order of arrival */
    uint64_t opens;   /* time of the opening that packets wait for, or that is open */
    uint64_t packets_left, bytes_left;
    bool begun; /* `opens` is valid */
};

static int slot_parse(struct spec *s, void *params)
{
    struct slot_params *p = params;

    p->packets = p->bytes = p->limit_packets = p->limit_bytes = UINT64_MAX;
    if (spec_accept(s, "distribution")) {
        if (law_parse(s, &p->law) != 0)
            return -EINVAL;
        p->distributed = true;
        if (spec_time(s, "slot's mean gap", &p->mean))
            spec_time(s, "slot's spread", &p->spread);
    } else if (spec_time(s, "slot's least gap", &p->least)) {
        p->most = p->least;
        if (spec_digit(s) && spec_time(s, "slot's largest gap", &p->most) && p->most < p->least)
            return spec_fail(s, "comes after a largest gap below the least one");
    }
    for (;;) {
        if (spec_accept(s, "packets"))
            spec_number(s, "slot's packets", 1, UINT32_MAX, &p->packets);
        else if (spec_accept(s, "bytes"))
            spec_size(s, "slot's bytes", &p->bytes);
        else if (spec_accept(s, "limit"))
            spec_limit(s, "slot's limit", &p->limit_packets, &p->limit_bytes);
        else
            return s->failed ? -EINVAL : 0;
    }
}

static void slot_free(void *params)
{
    rte_free((void *)(uintptr_t)((struct slot_params *)params)->law.table);
}

static int slot_init(struct element *e)
{
    return fifo_init(&((struct slot *)e)->fifo, e->path->cfg.packets_max, &e->path->store);
}

static void slot_fini(struct element *e)
{
    fifo_fini(&((struct slot *)e)->fifo);
}

/* Sets the next opening, after a gap that begins at `from`. */
static void gap_begin(struct slot *sl, uint64_t from)
{
    const struct slot_params *p = sl->e.params;
    uint64_t gap = p->distributed ? law_value(&p->law, rng_u64(&sl->e.rng), p->mean, p->spread)
                                  : p->least + rng_below(&sl->e.rng, p->most - p->least + 1);

    sl->opens = from + gap;
    sl->packets_left = p->packets;
    sl->bytes_left = p->bytes;
    sl->begun = true;
}

static void slot_arrive(struct element *e, struct path_packet *packet)
{
    struct slot *sl = (struct slot *)e;
    const struct slot_params *p = e->params;

    if (e->counts.queued_packets >= p->limit_packets ||
        e->counts.queued_bytes + packet->len > p->limit_bytes) {
        element_drop(e, packet);
        return;
    }
    element_hold(e, packet);
    if (fifo_count(&sl->fifo) == 0 && (!sl->begun || sl->opens < packet->at))
        gap_begin(sl, packet->at);
    fifo_push(&sl->fifo, packet);
    e->due = sl->opens;
}

static void slot_run(struct element *e, uint64_t until)
{
    struct slot *sl = (struct slot *)e;

    while (!element_sated(e) && fifo_count(&sl->fifo) > 0 && sl->opens <= until) {
        struct path_packet packet;

        fifo_pop(&sl->fifo, &packet);
        element_unhold(e, &packet, sl->opens - packet.at);
        packet.at = sl->opens;
        /* the last packet of an opening may exceed its bytes, as in netem */
        sl->packets_left--;
        sl->bytes_left -= RTE_MIN(sl->bytes_left, packet.len);
        if (sl->packets_left == 0 || sl->bytes_left == 0)
            gap_begin(sl, packet.at);
        element_pass(e, &packet);
    }
    e->due = fifo_count(&sl->fifo) > 0 ? sl->opens : TIME_NEVER;
}

const struct element_kind kind_slot = {
    .name = "slot",
    .bytes = sizeof(struct slot),
    .params_bytes = sizeof(struct slot_params),
    .parse = slot_parse,
    .forget = slot_free,
    .init = slot_init,
    .fini = slot_fini,
    .arrive = slot_arrive,
    .run = slot_run,
};
