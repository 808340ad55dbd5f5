/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * police: enforces a traffic contract. Packets that exceed the peak rate and its tolerance (PCR,
 * CDVT), or the sustained rate and its burst (SCR, MBS), are dropped, tagged, or held back until
 * they conform. Frames are counted as they are, or as the 53-byte cells that AAL5 (I.363.5) makes
 * of the bytes behind their Ethernet header. One lost cell loses its frame, whose other cells still
 * count against the contract.
 */
#include <errno.h>

#include "path/element.h"
#include "path/element/gcra.h"
#include "path/ip.h"

#define CELL_BYTES   53u
#define CELL_PAYLOAD 48u
#define AAL5_TRAILER 8u
#define ETHER_BYTES  14u
#define TAG_DSCP     8u /* CS1, lower effort (RFC 3662) */

enum police_action { POLICE_DROP, POLICE_TAG, POLICE_SHAPE };

struct police_params {
    uint64_t pcr_Bps, cdvt; /* bytes/s, cycles */
    uint64_t scr_Bps, mbs;  /* scr 0: no sustained rate; mbs in bytes, or in cells if `cells` */
    bool cells;
    uint64_t line_Bps; /* with `cells`: rate of the line on which a frame's cells come */
    enum police_action action;
    uint64_t dscp;
    uint64_t limit_packets, limit_bytes;
};

struct police {
    struct element e;
    struct gcra peak, sustained;
    struct fifo fifo;   /* shape: packets in the order of the times at which they leave */
    uint64_t last_cell; /* when the last cell came; shape: when it leaves */
    uint64_t last;      /* shape: when the last packet leaves */
};

static int action_parse(struct spec *s, struct police_params *p)
{
    if (spec_accept(s, "tag")) {
        p->action = POLICE_TAG;
        if (spec_digit(s))
            spec_number(s, "tag's code point", 0, 63, &p->dscp);
    } else if (spec_accept(s, "shape")) {
        p->action = POLICE_SHAPE;
    } else if (!spec_accept(s, "drop")) {
        return -ENOENT;
    }
    return 0;
}

/* To be called after the last option: checks all options and sets defaults. */
static int police_complete(struct spec *s, struct police_params *p)
{
    if (s->failed)
        return -EINVAL;
    if (p->pcr_Bps == 0)
        return spec_fail(s, "comes after a police without pcr");
    if ((p->scr_Bps > 0) != (p->mbs > 0))
        return spec_fail(s, "comes after a police with only one of scr and mbs");
    if (p->scr_Bps > p->pcr_Bps)
        return spec_fail(s, "comes after a police whose scr is above its pcr");
    if (p->cells && p->line_Bps == 0)
        return spec_fail(s, "comes after a police in cells without the rate of their line");
    if (p->limit_packets == UINT64_MAX && p->limit_bytes == UINT64_MAX)
        p->limit_packets = 1000;
    return 0;
}

static int police_parse(struct spec *s, void *params)
{
    struct police_params *p = params;

    p->dscp = TAG_DSCP;
    p->limit_packets = p->limit_bytes = UINT64_MAX;
    for (;;) {
        if (spec_accept(s, "pcr"))
            spec_rate(s, "pcr", &p->pcr_Bps);
        else if (spec_accept(s, "cdvt"))
            spec_time(s, "cdvt", &p->cdvt);
        else if (spec_accept(s, "scr"))
            spec_rate(s, "scr", &p->scr_Bps);
        else if (spec_accept(s, "mbs"))
            spec_size(s, "mbs", &p->mbs);
        else if (spec_accept(s, "cells"))
            p->cells = true;
        else if (spec_accept(s, "line"))
            spec_rate(s, "line", &p->line_Bps);
        else if (spec_accept(s, "limit"))
            spec_limit(s, "police's limit", &p->limit_packets, &p->limit_bytes);
        else if (action_parse(s, p) != 0)
            return police_complete(s, p);
        if (s->failed)
            return -EINVAL;
    }
}

static void contract_set(struct police *po)
{
    const struct police_params *p = po->e.params;
    uint64_t hz = po->e.path->clock.hz;

    gcra_init(&po->peak, p->pcr_Bps, hz);
    if (p->scr_Bps > 0)
        gcra_init(&po->sustained, p->scr_Bps, hz);
}

static int police_init(struct element *e)
{
    struct police *po = (struct police *)e;

    contract_set(po);
    return fifo_init(&po->fifo, e->path->cfg.packets_max, &e->path->store);
}

static void police_fini(struct element *e)
{
    fifo_fini(&((struct police *)e)->fifo);
}

static void police_change(struct element *e, const void *old, uint64_t at)
{
    contract_set((struct police *)e);
}

/* p->mbs is in cells if the contract counts cells, else in bytes. */
static uint64_t burst_tolerance(const struct police_params *p, uint64_t unit, uint64_t hz)
{
    uint64_t burst = p->cells ? p->mbs * CELL_BYTES : p->mbs;

    return gcra_tolerance(burst, unit, p->scr_Bps, p->pcr_Bps, hz);
}

/* True if a frame or cell (unit) of so many bytes conforms at *at; then counts it. With shape the
 * unit always conforms, but perhaps later: *at becomes the time at which it does. */
static bool unit_conforms(struct police *po, uint64_t bytes, uint64_t *at)
{
    const struct police_params *p = po->e.params;
    /* For cells, one cycle more: a cell's time is the frame's time less an offset, and both of
     * these are rounded to cycles. */
    uint64_t cdvt = p->cdvt + p->cells, earliest = gcra_earliest(&po->peak, cdvt);

    if (p->scr_Bps > 0) {
        uint64_t t = cdvt + burst_tolerance(p, bytes, po->sustained.hz);

        earliest = RTE_MAX(earliest, gcra_earliest(&po->sustained, t));
    }
    if (*at < earliest) {
        if (p->action != POLICE_SHAPE)
            return false;
        *at = earliest;
    }
    gcra_take(&po->peak, *at, bytes);
    if (p->scr_Bps > 0)
        gcra_take(&po->sustained, *at, bytes);
    return true;
}

/* Does unit_conforms() for all cells of a frame whose last cell comes at *at. */
static bool cells_conform(struct police *po, uint32_t len, uint64_t *at)
{
    const struct police_params *p = po->e.params;
    uint64_t n, excess = 0, cell_hz = CELL_BYTES * po->e.path->clock.hz, leaves = *at;

    n = (len - RTE_MIN(len, ETHER_BYTES) + AAL5_TRAILER + CELL_PAYLOAD - 1) / CELL_PAYLOAD;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t before = (n - 1 - i) * cell_hz / p->line_Bps;
        uint64_t cell = *at > before ? *at - before : 0;

        cell = RTE_MAX(cell, po->last_cell);
        leaves = cell;
        excess += !unit_conforms(po, CELL_BYTES, &leaves);
        po->last_cell = p->action == POLICE_SHAPE ? leaves : cell;
    }
    counter_add(&po->e.counts.cells, n);
    counter_add(&po->e.counts.cells_excess, excess);
    *at = RTE_MAX(*at, leaves);
    return excess == 0;
}

static void shape(struct police *po, struct path_packet *packet, uint64_t leaves)
{
    struct element *e = &po->e;

    po->last = RTE_MAX(leaves, po->last);
    element_hold(e, packet);
    histogram_add(e->delay, po->last - packet->at);
    packet->at = po->last;
    fifo_push(&po->fifo, packet);
    e->due = fifo_first(&po->fifo)->at;
}

static void police_arrive(struct element *e, struct path_packet *packet)
{
    struct police *po = (struct police *)e;
    const struct police_params *p = e->params;
    bool shapes = p->action == POLICE_SHAPE;
    /* A new contract does not know what still waits under the old one. */
    uint64_t leaves = shapes ? RTE_MAX(packet->at, po->last) : packet->at;

    if (shapes && (e->counts.queued_packets >= p->limit_packets ||
                   e->counts.queued_bytes + packet->len > p->limit_bytes)) {
        element_drop(e, packet);
        return;
    }
    if (p->cells ? cells_conform(po, packet->len, &leaves)
                 : unit_conforms(po, packet->len, &leaves)) {
        if (leaves > packet->at || fifo_count(&po->fifo) > 0)
            shape(po, packet, leaves);
        else
            element_pass(e, packet);
    } else if (p->action == POLICE_DROP) {
        element_drop(e, packet);
    } else {
        if (!path_whole(e->path, packet)) {
            element_drop(e, packet);
            return;
        }
        counter_add(&e->counts.marked, ip_set_dscp(packet->m, (uint8_t)p->dscp));
        element_pass(e, packet);
    }
}

static void police_run(struct element *e, uint64_t until)
{
    struct police *po = (struct police *)e;

    while (!element_sated(e) && fifo_count(&po->fifo) > 0 && fifo_first(&po->fifo)->at <= until) {
        struct path_packet packet;

        fifo_pop(&po->fifo, &packet);
        element_release(e, &packet);
        element_pass(e, &packet);
    }
    e->due = fifo_count(&po->fifo) > 0 ? fifo_first(&po->fifo)->at : TIME_NEVER;
}

const struct element_kind kind_police = {
    .name = "police",
    .bytes = sizeof(struct police),
    .params_bytes = sizeof(struct police_params),
    .parse = police_parse,
    .init = police_init,
    .fini = police_fini,
    .arrive = police_arrive,
    .run = police_run,
    .change = police_change,
};
