/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/owd.h"

#define DRIFT_SHIFT   30
#define DRIFT_SPAN_NS ((int64_t)10000000000)
#define DRIFT_MAX     ((int64_t)214748) /* 200 ppm: no clock drifts more */
#define HALVINGS_MAX  4u   /* so often may a measurement halve the error of the drift */
#define ERROR_SHARE   1024 /* a prediction may be wrong by 1/1024 of a window */

void owd_init(struct owd *o)
{
    *o = (struct owd){0};
}

/* How far a delay lies above the base that the point predicts for at_ns. */
static int64_t above(const struct owd *o, const struct owd_point *p, uint64_t delay_ns,
                     uint64_t at_ns)
{
    int64_t rise = (int64_t)(delay_ns - p->delay_ns);

    return rise - (int64_t)(((__int128)o->drift * (int64_t)(at_ns - p->at_ns)) >> DRIFT_SHIFT);
}

/* May the drift in the pause before this packet make older packets' predictions useless? */
static bool long_pause(const struct owd *o, uint64_t arrived_ns, uint64_t window_ns)
{
    __int128 error =
        ((__int128)(DRIFT_MAX >> o->halvings) * (int64_t)(arrived_ns - o->newest_ns)) >>
        DRIFT_SHIFT;

    return error > (int64_t)(window_ns / ERROR_SHARE);
}

static bool jumps(const struct owd_point *p, uint64_t delay_ns)
{
    int64_t rise = (int64_t)(delay_ns - p->delay_ns);

    return p->known && (rise >= OWD_JUMP_NS || rise <= -OWD_JUMP_NS);
}

/* Moves the drift half way to the slope between the fastest packets of two windows, once these lie
 * far enough apart. */
static void drift_update(struct owd *o)
{
    int64_t span = (int64_t)(o->least.at_ns - o->anchor.at_ns);

    if (o->anchor.known && span < DRIFT_SPAN_NS)
        return;
    if (o->anchor.known) {
        __int128 rise =
            (__int128)(int64_t)(o->least.delay_ns - o->anchor.delay_ns) * (1 << DRIFT_SHIFT);
        __int128 drift = o->drift + (rise / span - o->drift) / 2;

        o->drift = drift > DRIFT_MAX ? DRIFT_MAX : drift < -DRIFT_MAX ? -DRIFT_MAX : (int64_t)drift;
        o->halvings += o->halvings < HALVINGS_MAX;
    }
    o->anchor = o->least;
}

static void window_turn(struct owd *o, uint64_t arrived_ns)
{
    if (o->least.known) {
        drift_update(o);
        o->last = o->least;
        o->least.known = false;
    }
    o->begun_ns = arrived_ns;
}

uint64_t owd_increment(struct owd *o, uint64_t sent_ns, uint64_t arrived_ns, uint64_t window_ns)
{
    uint64_t delay_ns = arrived_ns - sent_ns;
    int64_t increment = 0, before;

    if (jumps(&o->least, delay_ns) || jumps(&o->last, delay_ns))
        owd_init(o);
    if (arrived_ns - o->begun_ns >= window_ns)
        window_turn(o, arrived_ns);
    if (long_pause(o, arrived_ns, window_ns))
        o->last.known = o->least.known = false;
    o->newest_ns = arrived_ns;
    if (o->least.known)
        increment = above(o, &o->least, delay_ns, arrived_ns);
    if (!o->least.known || increment <= 0) {
        o->least = (struct owd_point){.known = true, .delay_ns = delay_ns, .at_ns = arrived_ns};
        increment = 0;
    }
    if (o->last.known) {
        before = above(o, &o->last, delay_ns, arrived_ns);
        increment = before > increment ? before : increment;
    }
    return increment < OWD_JUMP_NS ? (uint64_t)increment : OWD_JUMP_NS;
}
