/* SPDX-License-Identifier: BSD-3-Clause */
/* See remote_perf.h. The daemon knows how the perf proceeds: it lists the perf's session, found by
 * process ID, and the connections of that session. */
#include "sluice/remote/remote_perf.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "console/text.h"
#include "sluice/loop.h"
#include "sluice/view/table.h"
#include "sluice/view/view.h"

#define START_WAIT_NS 2000000000u /* start perf waits so long for the perf's session */
#define STOP_WAIT_NS  5000000000u /* stop perf waits so long for the perf to end */
#define END_WAIT_NS   1000000000u /* a console that ends, and maybe its daemon, waits so long */
#define LOOK_US       10000

static const struct table_column columns[] = {
    {"port", "PORT", TABLE_TEXT},
    {"worker", "WORKER", TABLE_COUNT},
    {"conn", "CONN", TABLE_COUNT},
    {"state", "STATE", TABLE_TEXT},
    {"peer", "PEER", TABLE_TEXT},
    {"tx_rate_Bps", "TX GRANT", TABLE_RATE},
    {"tx_bytes", "SENT", TABLE_BYTES},
    {"tx_repeats", "REPEATED", TABLE_COUNT},
    {"rx_rate_Bps", "RX GRANT", TABLE_RATE},
    {"rx_why", "WHY", TABLE_TEXT},
    {"rx_momentary_Bps", "RX RATE", TABLE_RATE},
    {"rx_bytes", "RECEIVED", TABLE_BYTES},
    {"rx_lost", "LOST", TABLE_COUNT},
    {"rtt_ns", "RTT", TABLE_TIME},
    {NULL, NULL, TABLE_TEXT},
};

/* ---- what the daemon knows ---------------------------------------------------------------- */

/* The number of the session that the perf's process has with the daemon; -1: none yet. */
static json_int_t session_of(struct remote *r)
{
    char err[256];
    json_int_t found = -1;
    int status;
    json_t *rows, *row, *top = daemon_list(r->session, "clients", &rows, &status, err, sizeof err);
    size_t i;

    if (top == NULL)
        return -1;
    json_array_foreach(rows, i, row)
    {
        if (json_integer_value(json_object_get(row, "pid")) == r->perf.pid)
            found = json_integer_value(json_object_get(row, "session"));
    }
    json_decref(top);
    return found;
}

/* The perf's connections that are open or opening; the caller calls json_decref(). The lowest 16
 * bits of a connection's owner are the session. */
static json_t *conns_of(struct remote *r)
{
    char err[256];
    json_t *list = json_array(), *rows, *row, *top;
    json_int_t session = r->perf.running ? session_of(r) : -1;
    int status;
    size_t i;

    if (session < 0)
        return list;
    top = daemon_list(r->session, "conns", &rows, &status, err, sizeof err);
    if (top == NULL)
        return list;
    json_array_foreach(rows, i, row)
    {
        const char *state = json_string_value(json_object_get(row, "state"));

        if ((json_integer_value(json_object_get(row, "owner")) & 0xffff) == session &&
            state != NULL && (strcmp(state, "open") == 0 || strcmp(state, "opening") == 0))
            json_array_append(list, row);
    }
    json_decref(top);
    return list;
}

/* ---- what is said ------------------------------------------------------------------------- */

/* Prints the perf's output. With --json, lines for people go to stderr, out of a script's way. */
static void said_print(const struct remote *r)
{
    FILE *people = r->json ? stderr : stdout;
    const struct perf_job *j = &r->perf;
    char *said = perf_job_said(j), *save = NULL, *line, safe[512];

    if (said == NULL)
        return;
    if (*said == 0 && j->asked_to)
        fprintf(people, "perf %s: stopped before anything was measured\n", j->whom);
    for (line = strtok_r(said, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save)) {
        if (*line == '{') /* JSON: may be longer than `safe`, but is made of safe text */
            puts(line);
        else
            fprintf(people, "%s\n", text_safe(safe, sizeof safe, line));
    }
    free(said);
}

static void head_print(const struct perf_job *j)
{
    char time[32];
    uint64_t now = loop_now();

    if (j->running)
        printf("perf %s: process %d, for %s\n", j->whom, (int)j->pid,
               text_time(time, sizeof time, now - j->begun_ns));
    else
        printf("perf %s: ended %s ago, status %d\n", j->whom,
               text_time(time, sizeof time, now - j->ended_ns), j->status);
}

static void json_show(const struct perf_job *j, json_t *conns)
{
    char *said = perf_job_said(j);
    uint64_t now = loop_now();
    json_t *row = json_pack("{s:s, s:i, s:b, s:I}", "whom", j->whom, "pid", (int)j->pid, "running",
                            (int)j->running, "begun_ago_ns", (json_int_t)(now - j->begun_ns));
    json_t *top = json_object(), *list = json_array();

    if (!j->running)
        json_object_set_new(row, "status", json_integer(j->status));
    if (said != NULL)
        json_object_set_new(row, "said", json_string(said));
    json_object_set(row, "conns", conns);
    json_array_append_new(list, row);
    json_object_set_new(top, "perf", list);
    table_json(top, stdout);
    json_decref(top);
    free(said);
}

/* ---- the words ---------------------------------------------------------------------------- */

static int none(char *err, size_t err_len)
{
    snprintf(err, err_len, "no perf was started here; start perf PEER does that");
    return CONSOLE_REFUSED;
}

/* Prints the output and forgets the job. CONSOLE_REFUSED, with a line in err, if it failed. */
static int result(struct remote *r, char *err, size_t err_len)
{
    struct perf_job *j = &r->perf;
    int code = CONSOLE_OK;

    said_print(r);
    if (j->asked_to && j->status == 128 + SIGKILL) {
        snprintf(err, err_len, "perf %s did not end when asked, and was killed: no result",
                 j->whom);
        code = CONSOLE_REFUSED;
    } else if (j->status != 0 && !(j->asked_to && j->status == 128 + SIGINT)) {
        snprintf(err, err_len, "perf %s ended with status %d; its messages are above", j->whom,
                 j->status);
        code = CONSOLE_REFUSED;
    }
    perf_job_forget(j);
    return code;
}

int remote_perf_start(struct remote *r, const struct grammar_line *l, char *err, size_t err_len)
{
    const struct perf_job_order order = {.whom = l->word[2],
                                         .options = l->n > 3 ? l->word[3] : "",
                                         .socket = r->socket,
                                         .json = r->json};
    uint64_t end = loop_now() + START_WAIT_NS;

    if (!r->stays) {
        snprintf(err, err_len,
                 "perf would end with this console, which ends now; in a shell: sluice perf %s%s",
                 strcmp(l->word[2], "server") == 0 ? "" : "client ", l->word[2]);
        return CONSOLE_REFUSED;
    }
    if (r->perf.pid != 0) {
        snprintf(err, err_len, "perf %s %s; stop perf first", r->perf.whom,
                 r->perf.running ? "is running" : "has ended, and its result was not shown");
        return CONSOLE_REFUSED;
    }
    if (perf_job_start(&r->perf, &order, err, err_len) != 0)
        return CONSOLE_LOCAL;
    /* Once the perf has a session, its options were right, and there is a daemon. */
    while (session_of(r) < 0 && loop_now() < end) {
        if (perf_job_ended(&r->perf))
            return r->perf.status != 0 ? result(r, err, err_len) : CONSOLE_OK;
        usleep(LOOK_US);
    }
    return CONSOLE_OK;
}

int remote_perf_show(struct remote *r, char *err, size_t err_len)
{
    json_t *conns;

    if (r->perf.pid == 0)
        return none(err, err_len);
    r->perf.reported = perf_job_ended(&r->perf);
    conns = conns_of(r);
    if (r->json) {
        json_show(&r->perf, conns);
    } else {
        head_print(&r->perf);
        if (r->perf.running)
            table_print(conns, columns, stdout);
        said_print(r);
    }
    json_decref(conns);
    return CONSOLE_OK;
}

int remote_perf_stop(struct remote *r, char *err, size_t err_len)
{
    if (r->perf.pid == 0)
        return none(err, err_len);
    perf_job_stop(&r->perf, STOP_WAIT_NS);
    return result(r, err, err_len);
}

void remote_perf_notice(struct remote *r)
{
    if (r->perf.pid == 0 || r->perf.reported || !perf_job_ended(&r->perf))
        return;
    r->perf.reported = true;
    fprintf(stderr, "perf %s has ended, status %d; stop perf shows its result\n", r->perf.whom,
            r->perf.status);
}

void remote_perf_close(struct remote *r)
{
    if (r->perf.pid == 0)
        return;
    perf_job_stop(&r->perf, END_WAIT_NS);
    said_print(r);
    perf_job_forget(&r->perf);
}
