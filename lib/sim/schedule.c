/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/schedule.h"

#include <stdbool.h>

#include "base/check.h"
#include "base/clock.h"

#define OUT UINT32_MAX

void schedule_init(struct schedule *s, void *storage, uint32_t events)
{
    s->at = storage;
    s->place = (uint32_t *)(s->at + events);
    s->heap = s->place + events;
    s->count = 0;
    for (uint32_t e = 0; e < events; e++) {
        s->at[e] = TIME_NEVER;
        s->place[e] = OUT;
    }
}

static bool before(const struct schedule *s, uint32_t a, uint32_t b)
{
    return s->at[a] != s->at[b] ? s->at[a] < s->at[b] : a < b;
}

static void put(struct schedule *s, uint32_t i, uint32_t event)
{
    s->heap[i] = event;
    s->place[event] = i;
}

static void rise(struct schedule *s, uint32_t i, uint32_t event)
{
    for (; i > 0 && before(s, event, s->heap[(i - 1) / 2]); i = (i - 1) / 2)
        put(s, i, s->heap[(i - 1) / 2]);
    put(s, i, event);
}

static void sink(struct schedule *s, uint32_t i, uint32_t event)
{
    for (;;) {
        uint32_t child = 2 * i + 1;

        if (child >= s->count)
            break;
        if (child + 1 < s->count && before(s, s->heap[child + 1], s->heap[child]))
            child++;
        if (!before(s, s->heap[child], event))
            break;
        put(s, i, s->heap[child]);
        i = child;
    }
    put(s, i, event);
}

/* Puts an event where it belongs; place i is free. */
static void settle(struct schedule *s, uint32_t i, uint32_t event)
{
    if (i > 0 && before(s, event, s->heap[(i - 1) / 2]))
        rise(s, i, event);
    else
        sink(s, i, event);
}

void schedule_set(struct schedule *s, uint32_t event, uint64_t at)
{
    uint32_t i = s->place[event];

    if (s->at[event] == at)
        return;
    s->at[event] = at;
    if (at == TIME_NEVER) {
        uint32_t last = s->heap[--s->count];

        s->place[event] = OUT;
        if (last != event)
            settle(s, i, last);
    } else if (i == OUT) {
        rise(s, s->count++, event);
    } else {
        settle(s, i, event);
    }
}

uint64_t schedule_next(const struct schedule *s)
{
    return s->count > 0 ? s->at[s->heap[0]] : TIME_NEVER;
}

uint32_t schedule_first(const struct schedule *s)
{
    CHECK(s->count > 0);
    return s->heap[0];
}
