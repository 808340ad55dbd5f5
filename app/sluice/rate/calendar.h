/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a transfer may take at which time of the day, as people write it:
 *
 *   80% until 08:00, then 10%
 *   calendar = step { ("," [ "then" ] | "then") step }
 *   step     = (RATE | SHARE | "unlimited") [ "until" HH:MM ]
 *
 * RATE is a rate of base/value.h, SHARE a percentage of what the port carries. A step ends at its
 * time, at which the next one begins; the first one follows the last one. Only the last step may
 * have no time. It then ends at midnight, where the first one begins; a step that is alone never
 * ends. The times go once around the day: each step lasts for some of it, and no two at the same
 * time.
 *
 * The time of day is what the wall clock shows. So where daylight saving time skips the end of a
 * step, the step ends with the hour that is skipped; where it repeats an hour, a step that ended in
 * that hour holds once more. The clock is the caller's.
 */
#ifndef SLUICE_COMMAND_CALENDAR_H
#define SLUICE_COMMAND_CALENDAR_H

#include <stddef.h>
#include <stdint.h>

#define CALENDAR_STEPS_MAX 24
#define CALENDAR_DAY_S     86400u

struct calendar_step {
    uint64_t rate_Bps; /* 0: no limit, if share is 0, too */
    uint64_t share; /* of what the port carries, in 1 / 2^64; UINT64_MAX: all; 0: rate_Bps holds */
    uint32_t until_s; /* second of the day at which the step ends */
};

struct calendar {
    uint32_t n; /* steps; 0: no limit at any time */
    struct calendar_step steps[CALENDAR_STEPS_MAX];
};

/* Reads a calendar. Returns NULL, or a static text that says what is wrong; then *at is where in
 * the text, in bytes. */
const char *calendar_read(struct calendar *c, const char *text, size_t *at);
/* The step that holds at this second of the day; NULL: there are none. *left_s: how long it still
 * lasts, 1 to CALENDAR_DAY_S. */
const struct calendar_step *calendar_at(const struct calendar *c, uint32_t second,
                                        uint32_t *left_s);
/* What the step allows at a port that carries port_Bps; 0: no limit. */
uint64_t calendar_rate(const struct calendar_step *s, uint64_t port_Bps);

#endif
