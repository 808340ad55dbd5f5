/* SPDX-License-Identifier: BSD-3-Clause */
/* What a transfer allows itself. See allowance.h. */
#include "sluice/rate/allowance.h"

#include <string.h>
#include <time.h>

#include "base/value.h"
#include "console/text.h"
#include "sluice/loop.h"
#include "sluice/say.h"

#define LOOK_S     60u /* the wall clock may be set, or jump by an hour */
#define ANSWER_NS  5000000000ull
#define NAP_NS     1000000u
#define TEXT_BYTES 256
#define WANT_SHARE 64u /* of the whole: so that a connection that paused can begin again */

static int bwlimit_option(struct allowance_options *o)
{
    uint64_t rate_Bps = 0;
    const char *why = value_rate(optarg, &rate_Bps);
    char safe[TEXT_BYTES];

    if (why != NULL)
        return say_error(SAY_USAGE,
                         "--bwlimit %s: %s; write it like 500Mbit or 60MB/s (rsync's N is NKiB/s)",
                         text_safe(safe, sizeof safe, optarg), why);
    o->option = rate_Bps == 0 ? NULL : "--bwlimit"; /* 0: no limit, as rsync has it */
    o->text = optarg;
    o->calendar = (struct calendar){.n = 1, .steps = {{.rate_Bps = rate_Bps}}};
    return SAY_OK;
}

int allowance_option(struct allowance_options *o, int opt)
{
    char safe[TEXT_BYTES];
    const char *why;
    size_t at;

    if (o->option != NULL)
        return say_error(SAY_USAGE, "--bwlimit and --rate: give one of them, once");
    if (opt == OPTIONS_BWLIMIT)
        return bwlimit_option(o);
    why = calendar_read(&o->calendar, optarg, &at);
    if (why != NULL)
        return say_error(SAY_USAGE, "--rate \"%s\": character %zu: %s",
                         text_safe(safe, sizeof safe, optarg), at + 1, why);
    o->option = "--rate";
    o->text = optarg;
    return SAY_OK;
}

const char *allowance_read(struct allowance_options *o, const char *text)
{
    const char *why;
    size_t at;

    why = calendar_read(&o->calendar, text, &at);
    o->option = why == NULL ? "--bwlimit or --rate" : NULL;
    return why;
}

void allowance_look(struct allowance *a, const struct allowance_options *o, const struct tm *local,
                    uint64_t now_ns)
{
    uint32_t second = (uint32_t)(local->tm_hour * 3600 + local->tm_min * 60 + local->tm_sec);
    uint32_t left_s;

    a->step = NULL;
    a->next_ns = UINT64_MAX;
    if (o->option == NULL)
        return;
    /* a leap second is the last one of its minute */
    a->step = calendar_at(&o->calendar, second % CALENDAR_DAY_S, &left_s);
    if (o->calendar.n > 1 || a->step->share != 0)
        a->next_ns = now_ns + (uint64_t)(left_s < LOOK_S ? left_s : LOOK_S) * CLOCK_NS_PER_S;
}

void allowance_update(struct allowance *a, const struct allowance_options *o)
{
    uint64_t now_ns = loop_now();
    time_t now = time(NULL);
    struct tm local;

    if (now_ns < a->next_ns)
        return;
    localtime_r(&now, &local);
    allowance_look(a, o, &local, now_ns);
}

static bool allowance_shares(const struct allowance_options *o)
{
    uint32_t i = 0;

    while (i < o->calendar.n && o->calendar.steps[i].share == 0)
        i++;
    return i < o->calendar.n;
}

int allowance_port(const struct allowance_options *o, const struct sluice_conn *c,
                   uint64_t *port_Bps)
{
    const struct timespec nap = {.tv_nsec = NAP_NS};
    uint64_t end_ns = loop_now() + ANSWER_NS;
    struct sluice_stats stats = {0};

    if (o->option == NULL || !allowance_shares(o))
        return SAY_OK;
    for (sluice_conn_stats(c, &stats); stats.state == 0 && loop_now() < end_ns && loop_code() == 0;
         sluice_conn_stats(c, &stats))
        nanosleep(&nap, NULL);
    if (stats.state == 0)
        return loop_code() != 0
                   ? loop_code()
                   : say_error(SAY_DAEMON, "the daemon has not opened a connection for 5 s; see "
                                           "\"sluice doctor\"");
    if (stats.port_Bps != 0)
        *port_Bps = stats.port_Bps;
    if (*port_Bps != 0)
        return SAY_OK; /* known now, or before */
    return say_error(SAY_USAGE,
                     "%s: the daemon does not know what its port carries, so there is no share of "
                     "it; set \"capacity\" of the port, or give a rate, as 500Mbit",
                     o->option);
}

uint64_t allowance_rate(const struct allowance *a, uint64_t port_Bps)
{
    return a->step == NULL ? 0 : calendar_rate(a->step, port_Bps);
}

/* What a connection wants of an allowance. */
static uint64_t part_wanted(const struct allowance_part *p, uint64_t rate_Bps)
{
    if (p->part_Bps == 0 || p->used_Bps >= p->part_Bps / 8 * 7)
        return rate_Bps;
    return p->used_Bps + p->used_Bps / 4 + rate_Bps / WANT_SHARE;
}

void allowance_divide(uint64_t rate_Bps, struct allowance_part *parts, uint32_t n)
{
    uint64_t left = rate_Bps, level = n > 0 ? rate_Bps / n : 0, before;
    uint32_t i, open = n;

    /* The level rises while some want less than it: then more is left for each of the others. */
    do {
        before = level;
        left = rate_Bps;
        open = n;
        for (i = 0; i < n; i++) {
            uint64_t wanted = part_wanted(&parts[i], rate_Bps);

            if (wanted <= level) {
                left -= wanted;
                open--;
            }
        }
        level = open > 0 ? left / open : level;
    } while (open > 0 && level > before);
    for (i = 0; i < n; i++) {
        uint64_t wanted = part_wanted(&parts[i], rate_Bps);

        if (open == 0)
            parts[i].part_Bps = wanted + left / n;
        else
            parts[i].part_Bps = wanted < level ? wanted : level;
        parts[i].part_Bps += parts[i].part_Bps == 0; /* 0 would be no limit */
    }
}
