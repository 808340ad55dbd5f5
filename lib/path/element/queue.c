/* SPDX-License-Identifier: BSD-3-Clause */
#include "path/element/queue.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "path/ip.h"

/* Reads a list of code points such as 46,34. */
static int dscp_parse(struct spec *s, uint64_t *set)
{
    const char *c = s->word;

    *set = 0;
    while (isdigit((unsigned char)*c)) {
        char *end;
        unsigned long v = strtoul(c, &end, 10);

        if (v > 63)
            break;
        *set |= 1ull << v;
        c = end;
        if (*c == ',' && isdigit((unsigned char)c[1]))
            c++;
    }
    if (*set == 0 || *c != '\0')
        return spec_fail(s, "is no list of code points (0 to 63) such as 46,34");
    spec_next(s);
    return 0;
}

/* Reads what follows "band": length N, dscp LIST. Limits are left to queue_option(). */
static void band_parse(struct spec *s, struct queue_params *p)
{
    struct queue_band *b;

    if (p->n_bands == QUEUE_BANDS_MAX) {
        spec_fail(s, "belongs to a ninth band: there can be 8");
        return;
    }
    b = &p->bands[p->n_bands++];
    *b = (struct queue_band){UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
    for (;;) {
        if (spec_accept(s, "length"))
            spec_number(s, "band's length", 1, UINT32_MAX, &b->length);
        else if (spec_accept(s, "dscp"))
            dscp_parse(s, &b->dscp_set);
        else
            return;
    }
}

bool queue_option(struct spec *s, struct queue_params *p)
{
    if (spec_accept(s, "limit")) {
        if (p->n_bands == 0)
            p->bands[p->n_bands++] =
                (struct queue_band){UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
        spec_limit(s, "limit", &p->bands[p->n_bands - 1].limit_packets,
                   &p->bands[p->n_bands - 1].limit_bytes);
    } else if (spec_accept(s, "band")) {
        band_parse(s, p);
    } else if (spec_accept(s, "red")) {
        p->has_red = true;
        red_parse(s, &p->red);
    } else if (spec_accept(s, "codel")) {
        p->has_codel = true;
        codel_parse(s, &p->codel);
    } else {
        return false;
    }
    return !s->failed;
}

int queue_complete(struct spec *s, struct queue_params *p)
{
    if (p->n_bands == 0)
        p->bands[p->n_bands++] =
            (struct queue_band){UINT64_MAX, UINT64_MAX, QUEUE_LIMIT_PACKETS, UINT64_MAX};
    for (uint32_t i = 0; i < p->n_bands; i++) {
        struct queue_band *b = &p->bands[i];
        bool any = b->length == UINT64_MAX && b->dscp_set == UINT64_MAX;

        if (b->limit_packets == UINT64_MAX && b->limit_bytes == UINT64_MAX)
            b->limit_packets = QUEUE_LIMIT_PACKETS;
        if (any != (i + 1 == p->n_bands))
            return spec_fail(s, any ? "comes after a band that takes all packets before the last"
                                    : "comes where a last band for all other packets is missing");
    }
    if (p->has_red + p->has_codel + (p->n_bands > 1) > 1)
        return spec_fail(s, "comes after two of red, codel and band: a queue has one of them");
    return s->failed ? -EINVAL : 0;
}

static uint64_t band_packets(const struct queue_params *p, uint32_t band)
{
    return band < p->n_bands ? p->bands[band].limit_packets : 0;
}

int queue_init(struct queue *q, const struct element *e,
               const struct queue_params *(*of)(const void *params))
{
    q->n_bands = of(e->params)->n_bands;
    for (const struct stage_change *c = e->stage->changes; c != NULL; c = c->next)
        q->n_bands = RTE_MAX(q->n_bands, of(c->params)->n_bands);
    for (uint32_t i = 0; i < q->n_bands; i++) {
        uint64_t most = band_packets(of(e->params), i);

        for (const struct stage_change *c = e->stage->changes; c != NULL; c = c->next)
            most = RTE_MAX(most, band_packets(of(c->params), i));
        /* one more for the packet being served, which a plain link keeps in this ring (rate.c) */
        most = RTE_MIN(most, (uint64_t)e->path->cfg.packets_max - 1) + 1;
        if (fifo_init(&q->bands[i].fifo, (uint32_t)RTE_MAX(most, 1ull), &e->path->store) != 0)
            return -ENOMEM;
    }
    return 0;
}

void queue_fini(struct queue *q)
{
    for (uint32_t i = 0; i < QUEUE_BANDS_MAX; i++)
        fifo_fini(&q->bands[i].fifo);
}

static uint32_t band_of(const struct queue_params *p, const struct path_packet *packet)
{
    uint32_t i = 0;

    while (i + 1 < p->n_bands) {
        const struct queue_band *b = &p->bands[i];

        if (packet->len <= b->length &&
            (b->dscp_set == UINT64_MAX || b->dscp_set >> ip_dscp(packet->m) & 1))
            break;
        i++;
    }
    return i;
}

/* True if RED drops the packet. */
static bool early(struct queue *q, struct element *e, const struct queue_params *p,
                  struct path_packet *packet, const struct queue_extra *extra)
{
    enum red_verdict v = red_arrive(&q->red, &p->red, e->counts.queued_bytes, extra->idle,
                                    extra->rate_Bps, &e->path->clock, packet->at, &e->rng);

    if (v == RED_PASS)
        return false;
    if (v == RED_EARLY && p->red.ecn && path_whole(e->path, packet) && ip_mark(packet->m)) {
        counter_add(&e->counts.marked, 1);
        return false;
    }
    return true;
}

bool queue_push(struct queue *q, struct element *e, const struct queue_params *p,
                struct path_packet *packet, const struct queue_extra *extra)
{
    const struct queue_band *b;
    uint32_t i = 0;

    if (p->n_bands > 1) {
        if (!path_whole(e->path, packet)) {
            element_drop(e, packet);
            return false;
        }
        i = band_of(p, packet);
    }
    b = &p->bands[i];
    if (p->has_red && early(q, e, p, packet, extra)) {
        element_drop(e, packet);
        return false;
    }
    if (extra->idle && !extra->served_counts)
        return true;
    if (fifo_count(&q->bands[i].fifo) + extra->packets >= b->limit_packets ||
        q->bands[i].bytes + extra->bytes + packet->len > b->limit_bytes) {
        element_drop(e, packet);
        return false;
    }
    if (extra->idle)
        return true;
    fifo_push(&q->bands[i].fifo, packet);
    q->bands[i].bytes += packet->len;
    return true;
}

bool queue_pop(struct queue *q, struct element *e, const struct queue_params *p, uint64_t now,
               struct path_packet *packet)
{
    for (uint32_t i = 0; i < q->n_bands;) {
        if (fifo_count(&q->bands[i].fifo) == 0) {
            i++;
            continue;
        }
        fifo_pop(&q->bands[i].fifo, packet);
        q->bands[i].bytes -= packet->len;
        if (!p->has_codel || !codel_leave(&q->codel, &p->codel, packet->at, q->bands[i].bytes, now))
            return true;
        if (p->codel.ecn && path_whole(e->path, packet) && ip_mark(packet->m)) {
            counter_add(&e->counts.marked, 1);
            codel_marked(&q->codel, &p->codel);
            return true;
        }
        element_unhold(e, packet, now - packet->at);
        element_drop(e, packet);
    }
    codel_empty(&q->codel);
    q->red.idle_at = now;
    return false;
}
