/* SPDX-License-Identifier: BSD-3-Clause */
/* The bar on the terminal while a transfer runs, and what limits the transfer; for programs, lines
 * of JSON. No bar is drawn if stderr is no terminal. */
#ifndef SLUICE_COMMAND_PROGRESS_H
#define SLUICE_COMMAND_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define PROGRESS_INTERVAL_NS 200000000u

struct progress_view;

struct progress {
    bool on;     /* there is a bar */
    FILE *lines; /* for json_lines_progress(); NULL: none */
    /* Shows it to somebody else; NULL: to nobody. Set after progress_init(). */
    void (*tell)(void *context, const struct progress_view *v);
    void *context;
    uint64_t next_ns, first_ns;
    uint64_t last_ns, last_bytes;
    double rate_Bps; /* smoothed over about a second */
};

struct progress_view {
    const char *name; /* of the file that is being moved; "": none */
    /* The bar: of what it shows. */
    uint64_t done_bytes;
    uint64_t total_bytes; /* 0: unknown */
    uint64_t moved_bytes; /* of all files until now */
    uint64_t all_bytes;   /* of all files; 0: unknown */
    uint64_t repeats;
    const char *limit; /* what limits the transfer now; "" if that is not known */
};

/* quiet: no bar is drawn. lines: where lines of JSON go; NULL: nowhere. */
void progress_init(struct progress *p, bool quiet, FILE *lines);
/* When the progress is to be shown again, ns; UINT64_MAX: never. */
uint64_t progress_next(const struct progress *p);
/* Shows the progress if it is due. */
void progress_show(struct progress *p, uint64_t now_ns, const struct progress_view *v);
void progress_clear(struct progress *p);

#endif
