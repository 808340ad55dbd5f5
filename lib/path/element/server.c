/* SPDX-License-Identifier: BSD-3-Clause */
#include "path/element/server.h"

static const struct queue_params *queue_of(const void *params)
{
    return &((const struct server_params *)params)->queue;
}

int server_init(struct element *e)
{
    return queue_init(&((struct server *)e)->queue, e, queue_of);
}

void server_fini(struct element *e)
{
    struct server *sv = (struct server *)e;

    queue_fini(&sv->queue);
    if (sv->busy)
        store_free(&e->path->store, sv->packet.m, sv->packet.len);
}

void server_arrive(struct element *e, struct path_packet *packet)
{
    struct server *sv = (struct server *)e;
    const struct server_params *p = e->params;
    uint64_t at = packet->at;
    struct queue_extra extra = {0, 0, !sv->busy, p->limit_served, 0};

    if (p->limit_served && sv->busy) {
        extra.packets = 1;
        extra.bytes = sv->packet.len;
    }
    if (p->queue.has_red)
        extra.rate_Bps = sv->rate_Bps(sv);
    if (!queue_push(&sv->queue, e, &p->queue, packet, &extra)) {
        if (sv->busy && sv->overrun != NULL)
            sv->overrun(sv, at);
        return;
    }
    element_hold(e, packet);
    if (!sv->busy) {
        packet_copy(&sv->packet, packet);
        sv->busy = true;
        sv->begin(sv, packet->at, true);
    }
}

void server_run(struct element *e, uint64_t until)
{
    struct server *sv = (struct server *)e;
    const struct server_params *p = e->params;

    while (e->due <= until && !element_sated(e)) {
        struct path_packet done;
        uint64_t now = e->due;

        packet_copy(&done, &sv->packet);
        element_unhold(e, &done, now - done.at);
        done.at = now;
        sv->busy = queue_pop(&sv->queue, e, &p->queue, now, &sv->packet);
        if (sv->busy)
            sv->begin(sv, now, false);
        else
            e->due = TIME_NEVER;
        element_pass(e, &done);
    }
}
