/* SPDX-License-Identifier: BSD-3-Clause */
/* See remote.h. */
#include "sluice/remote/remote.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "console/words.h"
#include "sluice/remote/remote_perf.h"
#include "sluice/view/view.h"

/* Console code for a negative errno of the session. */
static int code_of(int status)
{
    return status == -ENOTCONN || status == -ETIMEDOUT || status == -EPROTO ? CONSOLE_GONE
                                                                            : CONSOLE_REFUSED;
}

/* Runs commands such as "show conns" and "show port stats 0". */
static int show(struct remote *r, const struct grammar_line *l, char *err, size_t err_len)
{
    struct view_filter filter = {0};
    struct words_conn conn;
    char name[32];
    const struct view *v;
    int status;

    snprintf(name, sizeof name, "%s", l->word[1]);
    if (l->command->run == WORDS_SHOW_CONN) {
        words_conn_read(l->word[2], &conn);
        filter.conn = &conn;
    } else if (l->n == 4) {
        snprintf(name, sizeof name, "port-%s", l->word[2]);
        if (strcmp(l->word[3], "all") != 0)
            filter.port = l->word[3];
    }
    v = view_find(name);
    status = view_print(v, r->session, &filter, r->json, err, err_len);
    return status < 0 ? code_of(status) : CONSOLE_OK;
}

/* Sends the words, joined by blanks, to the daemon, which parses them with the same grammar. */
static int change(struct remote *r, const struct grammar_line *l, char *err, size_t err_len)
{
    char line[GRAMMAR_LINE_MAX + 1], answer[256];
    int status;

    grammar_join(line, sizeof line, l->word, l->n); /* fits: no longer than the line read */
    status = sluice_command(r->session, line, answer, sizeof answer);
    if (status < 0) {
        snprintf(err, err_len, "%s", sluice_error(r->session));
        return code_of(status);
    }
    if (answer[0] != 0)
        puts(answer);
    return CONSOLE_OK;
}

static int remote_run(void *ctx, const struct grammar_line *l, char *err, size_t err_len)
{
    struct remote *r = ctx;

    switch (l->command->run) {
    case WORDS_START_PERF:
        return remote_perf_start(r, l, err, err_len);
    case WORDS_SHOW_PERF:
        return remote_perf_show(r, err, err_len);
    case WORDS_STOP_PERF:
        return remote_perf_stop(r, err, err_len);
    default:
        remote_perf_notice(r);
        return l->command->run < WORDS_SHOW_PERF ? show(r, l, err, err_len)
                                                 : change(r, l, err, err_len);
    }
}

/* ---- completion --------------------------------------------------------------------------- */

struct passing {
    grammar_found found;
    void *to;
    const struct grammar_kind *kind;
};

static void value_pass(void *ctx, const char *value)
{
    const struct passing *p = ctx;

    p->found(p->to, value, p->kind);
}

static void remote_values(void *ctx, const struct grammar_kind *kind, grammar_found found, void *to)
{
    struct passing p = {found, to, kind};
    struct remote *r = ctx;

    if (strcmp(kind->name, "PORT") == 0)
        view_values(r->session, "ports", "name", value_pass, &p);
    else if (strcmp(kind->name, "CONN") == 0)
        view_values(r->session, "conns", "conn", value_pass, &p);
    else if (strcmp(kind->name, "PEER") == 0)
        view_values(r->session, "neigh", "address", value_pass, &p);
}

void remote_console(struct remote *r, const char *program, const char *prompt, struct console *out)
{
    *out = (struct console){
        .grammar = {.commands = words_commands, .kinds = words_kinds, .in = WORDS_DAEMON},
        .program = program,
        .prompt = prompt,
        .run = remote_run,
        .values = remote_values,
        .ctx = r,
        .stop_fd = -1,
    };
}

void remote_close(struct remote *r)
{
    remote_perf_close(r);
}
