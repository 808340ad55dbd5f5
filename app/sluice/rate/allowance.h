/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a transfer allows itself, by --bwlimit or --rate, and how that is divided among its
 * connections. The daemon keeps it, packet by packet (sluice_limit()).
 *
 * Several senders share what one receiver allows by max-min fairness: one that uses less than 7/8
 * of its part wants what it uses, a quarter more, and 1/64 of the whole; the others want all. What
 * nobody wants is divided equally. So the parts sum to the whole, but for less than 1 byte/s each.
 */
#ifndef SLUICE_COMMAND_ALLOWANCE_H
#define SLUICE_COMMAND_ALLOWANCE_H

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "client/sluice.h"
#include "sluice/options.h"
#include "sluice/rate/calendar.h"

/* Entries for a command's table of long options. */
#define ALLOWANCE_LONG                                                                             \
    {"bwlimit", required_argument, NULL, OPTIONS_BWLIMIT},                                         \
    {                                                                                              \
        "rate", required_argument, NULL, OPTIONS_RATE                                              \
    }

/* What the options say. */
struct allowance_options {
    const char *option; /* its name, for messages; NULL: there is no limit */
    const char *text;   /* what it says, as a calendar; NULL: no option was given */
    struct calendar calendar;
};

/* Takes the value of an option of ALLOWANCE_LONG from optarg. SAY_OK, or SAY_USAGE; the error is
 * printed. */
int allowance_option(struct allowance_options *o, int opt);

/* Takes the text of an option that was given elsewhere. NULL, or what is wrong with it. */
const char *allowance_read(struct allowance_options *o, const char *text);

/* Is there a limit at some time of the day? */
static inline bool allowance_limits(const struct allowance_options *o)
{
    return o->option != NULL;
}

/* What holds now. All 0: nothing was looked up yet. */
struct allowance {
    const struct calendar_step *step; /* NULL: there is no limit at any time */
    uint64_t next_ns;                 /* when to look again; 0: at once */
};

/* Looks up what holds now. local: the time of the day, as localtime_r(3) gives it. */
void allowance_look(struct allowance *a, const struct allowance_options *o, const struct tm *local,
                    uint64_t now_ns);
/* The same, by the clocks of this machine. */
void allowance_update(struct allowance *a, const struct allowance_options *o);
/* Sets *port_Bps to what the connection's port carries, if any step depends on it, so that an error
 * comes at the beginning and not when that step begins. Waits until the daemon has told. What is
 * not known any more stays as it was; 0: it was never known. Returns an exit code; the error is
 * printed. */
int allowance_port(const struct allowance_options *o, const struct sluice_conn *c,
                   uint64_t *port_Bps);
/* What the step allows at a port that carries port_Bps; 0: no limit. */
uint64_t allowance_rate(const struct allowance *a, uint64_t port_Bps);

/* A connection among which an allowance is divided. */
struct allowance_part {
    uint64_t used_Bps; /* lately */
    uint64_t part_Bps; /* in force, then: the new one. In force 0: none, as of a new connection */
};
void allowance_divide(uint64_t rate_Bps, struct allowance_part *parts, uint32_t n);

#endif
