/* SPDX-License-Identifier: BSD-3-Clause */
#include "path/element/codel.h"

#include <errno.h>

int codel_parse(struct spec *s, struct codel_params *p)
{
    p->target = clock_cycles(&s->clock, 5000000);
    p->interval = clock_cycles(&s->clock, 100000000);
    for (;;) {
        if (spec_accept(s, "target"))
            spec_time(s, "codel's target", &p->target);
        else if (spec_accept(s, "interval"))
            spec_time(s, "codel's interval", &p->interval);
        else if (spec_accept(s, "ecn"))
            p->ecn = true;
        else
            return s->failed ? -EINVAL : 0;
    }
}

static uint64_t root(unsigned __int128 x)
{
    uint64_t r = 0;

    for (uint64_t bit = 1ull << 63; bit > 0; bit >>= 1)
        if ((unsigned __int128)(r | bit) * (r | bit) <= x)
            r |= bit;
    return r;
}

/* interval / sqrt(count), rounded to the nearest, since errors would add up */
static uint64_t distance(const struct codel *c, const struct codel_params *p)
{
    return (root((unsigned __int128)p->interval * p->interval * 4 / c->count) + 1) / 2;
}

/* Has the wait been above target for an interval? */
static bool above(struct codel *c, const struct codel_params *p, uint64_t wait,
                  uint64_t queued_bytes, uint64_t now)
{
    if (wait < p->target || queued_bytes <= CODEL_MTU_BYTES) {
        c->first_above = 0;
        return false;
    }
    if (c->first_above == 0) {
        c->first_above = now + p->interval;
        return false;
    }
    return now >= c->first_above;
}

void codel_empty(struct codel *c)
{
    c->first_above = 0;
    c->dropping = false;
    c->owed = false;
}

static void pay(struct codel *c, const struct codel_params *p)
{
    if (c->owed)
        c->drop_next += distance(c, p);
    c->owed = false;
}

void codel_marked(struct codel *c, const struct codel_params *p)
{
    pay(c, p);
}

bool codel_leave(struct codel *c, const struct codel_params *p, uint64_t arrived,
                 uint64_t queued_bytes, uint64_t now)
{
    bool drop = above(c, p, now - arrived, queued_bytes, now);

    if (c->dropping) {
        if (!drop) {
            c->dropping = false;
            c->owed = false;
            return false;
        }
        pay(c, p);
        if (now < c->drop_next)
            return false;
        c->count++;
        c->owed = true;
        return true;
    }
    if (!drop)
        return false;
    /* if the last series of drops ended not long ago, begin near the rate of drops that it had
     * reached */
    uint32_t delta = c->count - c->last_count;

    c->dropping = true;
    c->count = delta > 1 && (int64_t)(now - c->drop_next) < (int64_t)(16 * p->interval) ? delta : 1;
    c->drop_next = now + distance(c, p);
    c->last_count = c->count;
    return true;
}
