/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * delay: each packet waits for a time of its own. With jitter, packets overtake each other, unless
 * `order` keeps them back. With `reorder`, some packets do not wait at all.
 */
#include <errno.h>
#include <string.h>

#include "path/draw.h"
#include "path/element.h"
#include "path/law.h"
#include "path/sorter.h"

struct delay_params {
    uint64_t delay, jitter; /* cycles */
    uint64_t rho;
    struct law law;
    bool order;
    bool reorder;
    uint64_t reorder_p, reorder_rho, gap;
    uint64_t limit_packets, limit_bytes; /* UINT64_MAX: none */
};

struct delay {
    struct element e;
    struct draw jitter, reorder;
    uint64_t last;    /* latest time at which a packet leaves */
    uint64_t counter; /* packets since the last reordered one */
    bool sorts;       /* packets may overtake and wait in sorter; else in fifo */
    struct fifo fifo;
    struct sorter sorter;
};

static int options_parse(struct spec *s, struct delay_params *p)
{
    for (;;) {
        if (spec_accept(s, "distribution")) {
            if (p->law.table != NULL)
                return spec_fail(s, "comes after a second distribution");
            if (law_parse(s, &p->law) != 0)
                return -EINVAL;
        } else if (spec_accept(s, "order")) {
            p->order = true;
        } else if (spec_accept(s, "reorder")) {
            p->reorder = true;
            p->gap = RTE_MAX(p->gap, 1ull);
            if (spec_share(s, "reorder's probability", &p->reorder_p) && spec_digit(s))
                spec_share(s, "reorder's correlation", &p->reorder_rho);
        } else if (spec_accept(s, "gap")) {
            if (!p->reorder) {
                p->reorder = true;
                p->reorder_p = DRAW_ALWAYS; /* as netem: gap alone reorders every gap-th packet */
            }
            spec_number(s, "gap", 1, UINT32_MAX, &p->gap);
        } else if (spec_accept(s, "limit")) {
            spec_limit(s, "delay's limit", &p->limit_packets, &p->limit_bytes);
        } else {
            return s->failed ? -EINVAL : 0;
        }
    }
}

static int delay_parse(struct spec *s, void *params)
{
    struct delay_params *p = params;

    p->limit_packets = p->limit_bytes = UINT64_MAX;
    if (!spec_time(s, "delay", &p->delay))
        return -EINVAL;
    if (spec_digit(s) && spec_time(s, "delay's jitter", &p->jitter) && spec_digit(s))
        spec_share(s, "delay's correlation", &p->rho);
    return options_parse(s, p);
}

static bool delay_apart(const void *params)
{
    const struct delay_params *p = params;

    return p->rho == 0 && p->reorder_rho == 0 && p->gap <= 1 && !p->order &&
           p->limit_packets == UINT64_MAX && p->limit_bytes == UINT64_MAX;
}

static void delay_free(void *params)
{
    rte_free((void *)(uintptr_t)((struct delay_params *)params)->law.table);
}

/* Raises *span to how far apart the times of packets usually are; sets *sorts if packets may
 * overtake each other. */
static void delay_shape(const struct delay_params *p, uint64_t *span, bool *sorts)
{
    *span = RTE_MAX(*span, p->delay + 4 * p->jitter);
    if (!p->order && (p->jitter > 0 || p->reorder))
        *sorts = true;
}

static int delay_init(struct element *e)
{
    struct delay *d = (struct delay *)e;
    const struct delay_params *p = e->params;
    uint64_t span = 0;

    bool limited = p->limit_packets != UINT64_MAX || p->limit_bytes != UINT64_MAX;

    d->jitter.rng = d->reorder.rng = &e->rng;
    delay_shape(p, &span, &d->sorts);
    for (const struct stage_change *c = e->stage->changes; c != NULL; c = c->next) {
        const struct delay_params *later = c->params;

        delay_shape(later, &span, &d->sorts);
        if (!later->order)
            d->sorts = true;
        limited = limited || later->limit_packets != UINT64_MAX || later->limit_bytes != UINT64_MAX;
    }
    /* with a limit, what happens to an arriving packet depends on those that wait */
    e->blind = !limited;
    return d->sorts ? sorter_init(&d->sorter, e->path->cfg.packets_max, span, &e->path->store)
                    : fifo_init(&d->fifo, e->path->cfg.packets_max, &e->path->store);
}

static void delay_fini(struct element *e)
{
    struct delay *d = (struct delay *)e;

    if (d->sorts)
        sorter_fini(&d->sorter);
    else
        fifo_fini(&d->fifo);
}

/* True if this packet does not wait. netem's rule: after gap - 1 packets that wait, chance
 * decides. */
static bool skips(struct delay *d, const struct delay_params *p)
{
    if (!p->reorder)
        return false;
    if (d->counter + 1 < p->gap ||
        !draw_hits(draw_u64(&d->reorder, p->reorder_rho), p->reorder_p)) {
        d->counter++;
        return false;
    }
    d->counter = 0;
    return true;
}

static void delay_arrive_one(struct element *e, struct path_packet *packet)
{
    struct delay *d = (struct delay *)e;
    const struct delay_params *p = e->params;
    uint64_t arrived = packet->at;

    if (e->counts.queued_packets >= p->limit_packets ||
        e->counts.queued_bytes + packet->len > p->limit_bytes) {
        element_drop(e, packet);
        return;
    }
    element_hold(e, packet);
    if (!skips(d, p))
        packet->at += p->jitter == 0
                          ? p->delay
                          : law_value(&p->law, draw_u64(&d->jitter, p->rho), p->delay, p->jitter);
    if (p->order)
        packet->at = RTE_MAX(packet->at, d->last);
    d->last = RTE_MAX(packet->at, d->last);
    histogram_add(e->delay, packet->at - arrived);
    if (d->sorts) {
        sorter_push(&d->sorter, packet);
        e->due = sorter_next(&d->sorter);
    } else {
        fifo_push(&d->fifo, packet);
        e->due = fifo_first(&d->fifo)->at;
    }
}

/* The usual case: one delay for all packets, no limit. */
static void plain_burst(struct delay *d, uint64_t delay, struct path_packet *packets, uint32_t n)
{
    struct path_element_counts *c = &d->e.counts;
    uint64_t queued = c->queued_packets, bytes = c->queued_bytes;

    for (uint32_t i = 0; i < n; i++) {
        /* packets that arrive at the same time add one sample of the queue's length */
        if (packets[i].at != d->e.held_at)
            histogram_add(d->e.queue, queued);
        d->e.held_at = packets[i].at;
        queued++;
        bytes += packets[i].len;
        packets[i].at += delay;
        fifo_push(&d->fifo, &packets[i]);
    }
    d->last = packets[n - 1].at;
    histogram_add_many(d->e.delay, delay, n);
    counter_set(&c->queued_packets, queued);
    counter_set(&c->queued_bytes, bytes);
    counter_set(&c->queued_packets_max, RTE_MAX(c->queued_packets_max, queued));
    counter_set(&c->queued_bytes_max, RTE_MAX(c->queued_bytes_max, bytes));
    if (d->e.due == TIME_NEVER)
        d->e.due = packets[0].at;
}

static void delay_arrive_burst(struct element *e, struct path_packet *packets, uint32_t n)
{
    struct delay *d = (struct delay *)e;
    const struct delay_params *p = e->params;

    if (e->blind && !d->sorts && !p->order) {
        plain_burst(d, p->delay, packets, n);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (e->due <= packets[i].at && !e->blind)
            element_run(e, packets[i].at);
        delay_arrive_one(e, &packets[i]);
    }
}

static void delay_arrive(struct element *e, struct path_packet *packet)
{
    delay_arrive_burst(e, packet, 1);
}

static void sorter_run(struct delay *d, uint64_t until)
{
    struct element *e = &d->e;
    struct path_packet packet;
    bool overtaken;

    while (!element_sated(e) && sorter_pop(&d->sorter, until, &packet, &overtaken)) {
        counter_add(&e->counts.reordered, overtaken);
        element_release(e, &packet);
        element_pass(e, &packet);
    }
    e->due = sorter_next(&d->sorter);
}

static void delay_run(struct element *e, uint64_t until)
{
    struct delay *d = (struct delay *)e;

    if (d->sorts)
        sorter_run(d, until);
    else
        element_run_fifo(e, &d->fifo, until);
}

const struct element_kind kind_delay = {
    .name = "delay",
    .bytes = sizeof(struct delay),
    .params_bytes = sizeof(struct delay_params),
    .parse = delay_parse,
    .apart = delay_apart,
    .forget = delay_free,
    .init = delay_init,
    .fini = delay_fini,
    .arrive = delay_arrive,
    .arrive_burst = delay_arrive_burst,
    .run = delay_run,
};
