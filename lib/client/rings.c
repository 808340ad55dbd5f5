/* SPDX-License-Identifier: BSD-3-Clause */
/* The client's ends of the rings. The client writes sq_tail and cq_head, and keeps copies of its
 * own. */
#include <errno.h>
#include <time.h>

#include "client/state.h"

void client_rings_init(struct sluice *s)
{
    uint32_t i;

    for (i = 0; i < s->limits.channels; i++) {
        uint8_t *at = s->memory + i * s->layout.channel_bytes;

        s->channels[i] = (struct client_channel){
            .shared = (struct protocol_channel *)at,
            .sq = (struct protocol_submission *)(at + s->layout.sq_offset),
            .cq = (struct protocol_completion *)(at + s->layout.cq_offset),
        };
    }
}

/*
 * Waits for room in a full submission ring. The completions of all submissions fit, so the worker
 * takes each submission as soon as it polls. The wait takes microseconds, and needs no action of
 * the application.
 */
static int rings_wait_room(struct sluice *s, struct client_channel *c)
{
    const struct timespec nap = {.tv_nsec = 50000};
    uint32_t naps = 0;

    while (c->sq_tail - __atomic_load_n(&c->shared->sq_head, __ATOMIC_ACQUIRE) >= s->sq_entries) {
        if (++naps % 16 == 0)
            client_socket_check(s);
        if (s->gone)
            return -ENOTCONN;
        nanosleep(&nap, NULL);
    }
    return 0;
}

int client_submit(struct sluice *s, uint32_t channel, const struct protocol_submission *e,
                  uint32_t completions)
{
    struct client_channel *c = &s->channels[channel];

    if (s->gone)
        return -ENOTCONN;
    if (c->owed + completions > s->cq_entries)
        return client_fail(s, -EAGAIN, "%u completions are outstanding: take them first", c->owed);
    if (rings_wait_room(s, c) < 0)
        return -ENOTCONN;
    c->sq[c->sq_tail & (s->sq_entries - 1)] = *e;
    c->sq_tail++;
    c->owed += completions;
    if (protocol_submit(c->shared, c->sq_tail))
        client_ring(s, channel);
    return 0;
}

bool client_take(struct sluice *s, uint32_t channel, struct protocol_completion *e)
{
    struct client_channel *c = &s->channels[channel];

    if (__atomic_load_n(&c->shared->cq_tail, __ATOMIC_ACQUIRE) == c->cq_head)
        return false;
    *e = c->cq[c->cq_head & (s->cq_entries - 1)];
    c->cq_head++;
    c->owed--;
    __atomic_store_n(&c->shared->cq_head, c->cq_head, __ATOMIC_RELEASE);
    return true;
}

bool client_arm(struct sluice *s)
{
    bool empty = true;
    uint32_t i;

    for (i = 0; i < s->limits.channels; i++)
        empty &= protocol_arm(s->channels[i].shared, s->channels[i].cq_head);
    return empty;
}
