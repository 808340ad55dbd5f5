/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one table of console commands (grammar.h). The daemon's console and sluice exec have those
 * with WORDS_DAEMON, sluice-emu's console those with WORDS_BOX. sluice-console(7) lists the same
 * words; a test compares them.
 */
#ifndef SLUICE_COMMAND_WORDS_H
#define SLUICE_COMMAND_WORDS_H

#include "console/grammar.h"

enum words_in { WORDS_DAEMON = 1, WORDS_BOX = 2 };

enum words_run {
    /* the view named by word 1 (the second), and for ports also by words 2 and 3 */
    WORDS_SHOW,
    WORDS_SHOW_CONN,  /* all details of one connection */
    WORDS_SHOW_PATH,  /* in the daemon: paths of connections; in the box: its specs */
    WORDS_SHOW_STATS, /* only in the box */
    WORDS_SHOW_PERF,  /* this and the next two: for a sluice perf that this console has started */
    WORDS_START_PERF,
    WORDS_STOP_PERF,
    /* in the daemon, control executes this and those down to WORDS_SET_PATH */
    WORDS_CLEAR_STATS,
    WORDS_SET_CONN,
    WORDS_SET_CAPACITY,
    WORDS_SET_PATH,
    WORDS_LOAD, /* the console itself executes this and those below */
    WORDS_HELP,
    WORDS_QUIT,
};

extern const struct grammar_command words_commands[];
extern const struct grammar_kind words_kinds[];

#define WORDS_PEER_MAX 128

/* A connection, as in "N", "N@PORT" or "N@PORT/WORKER" */
struct words_conn {
    uint32_t number;
    char port[64];   /* "": any */
    uint32_t worker; /* WORDS_ANY: any */
};
#define WORDS_ANY UINT32_MAX
/* Reads `text` into *out. Returns NULL, or what is wrong with `text`. */
const char *words_conn_read(const char *text, struct words_conn *out);

#endif
