/* SPDX-License-Identifier: BSD-3-Clause */
/* See command.h. */
#include "sluiced/control/command.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/value.h"
#include "common/say.h"
#include "console/text.h"
#include "console/words.h"
#include "sluiced/daemon.h"
#include "sluiced/observe/count.h"
#include "sluiced/observe/names.h"

struct command {
    struct daemon *d;
    const struct grammar_line *l;
    char *text;
    size_t text_len;
};

__attribute__((format(printf, 3, 4))) static int refuse(const struct command *c, int status,
                                                        const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(c->text, c->text_len, format, args);
    va_end(args);
    return status;
}

/* The index of the port with this name or number, or -1. */
static int port_named(const struct daemon *d, const char *name)
{
    int named = port_by_name(d, name);
    uint64_t number;

    if (named >= 0)
        return named;
    return value_number(name, &number) == NULL && number < d->n_ports ? (int)number : -1;
}

static int port_unknown(const struct command *c, const char *name)
{
    return refuse(c, -ENODEV, "no port %.64s; show port info all lists them", name);
}

/* ---- ports -------------------------------------------------------------------------------- */

/* clear port stats|xstats all|PORT */
static int clear_run(const struct command *c)
{
    const char *name = c->l->word[3];
    bool all = strcmp(name, "all") == 0;
    int one = all ? 0 : port_named(c->d, name);

    if (one < 0)
        return port_unknown(c, name);
    for (uint32_t i = 0; i < c->d->n_ports; i++)
        if (all || (int)i == one)
            count_clear(c->d, i);
    return 0;
}

/* set capacity RATE|none [PORT] */
static int capacity_run(const struct command *c)
{
    struct daemon *d = c->d;
    int one = c->l->n > 3 ? port_named(d, c->l->word[3]) : -1;
    uint64_t rate = 0;

    if (c->l->n > 3 && one < 0)
        return port_unknown(c, c->l->word[3]);
    if (strcmp(c->l->word[2], "none") != 0)
        value_rate(c->l->word[2], &rate);
    for (uint32_t i = 0; i < d->n_ports; i++)
        if (one < 0 || (int)i == one) {
            host_control_set_capacity(d->controls[i], rate);
            d->config.ports[i].capacity_Bps = rate; /* show commands read the capacity there */
        }
    return 0;
}

/* set path PORT forward|reverse|both SPEC */
static int path_run(const struct command *c)
{
    const char *name = c->l->word[2], *direction = c->l->word[3], *spec = c->l->word[4];
    int port = port_named(c->d, name);
    struct port_queue *q;
    char err[512];

    if (port < 0)
        return port_unknown(c, name);
    q = &c->d->queues[c->d->first_queue[port]];
    if (q->cable == NULL)
        return refuse(c, -ENODEV, "port %.64s has no emulated wire; configure one: wire = SPEC",
                      c->d->ports[port].cfg->name);
    if (!__atomic_load_n(&q->active, __ATOMIC_RELAXED))
        return refuse(c, -EAGAIN,
                      "port %.64s is down, so its wire does not run; try again when its link is up",
                      c->d->ports[port].cfg->name);
    if (strcmp(spec, "wire") == 0)
        spec = "";
    for (unsigned i = 0; i < 2; i++) {
        int rc;

        if (strcmp(direction, i == 0 ? "reverse" : "forward") == 0)
            continue;
        rc = cable_set(q->cable, i, spec, err, sizeof err);
        if (rc != 0)
            return refuse(c, rc, "%s path unchanged: %.150s", i == 0 ? "forward" : "reverse", err);
    }
    return 0;
}

/* ---- connections -------------------------------------------------------------------------- */

/* The index of the port queue on which the connection is open, or -1 with the reason in *status. */
static int conn_find(const struct command *c, const struct words_conn *conn, int *status)
{
    int found = -1;

    for (uint32_t i = 0; i < c->d->n_queues; i++) {
        const struct port_queue *q = &c->d->queues[i];
        struct host_conn_info info;

        if ((conn->port[0] != 0 && port_named(c->d, conn->port) != (int)(q->port - c->d->ports)) ||
            (conn->worker != WORDS_ANY && conn->worker != q->queue) ||
            conn->number >= host_conn_limit(q->host) ||
            !host_conn_info(q->host, conn->number, &info) || info.state != HOST_OPEN)
            continue;
        if (found >= 0) {
            *status = refuse(c, -ENOTUNIQ,
                             "several workers have an open connection %u; write %u@PORT/WORKER",
                             conn->number, conn->number);
            return -1;
        }
        found = (int)i;
    }
    if (found < 0)
        *status =
            refuse(c, -ENOENT, "no open connection %.60s; show conns lists them", c->l->word[2]);
    return found;
}

/* Sets the field of *t that `what` names. The value "auto" becomes 0: no override. */
static void override_set(struct host_override *t, const char *what, const char *value)
{
    bool back = strcmp(value, "auto") == 0;
    uint64_t n = 0;

    if (strcmp(what, "burst") == 0) {
        if (!back)
            value_size(value, &n);
        t->burst_bytes = n;
    } else if (strcmp(what, "weight") == 0) {
        if (!back)
            value_number(value, &n);
        t->weight = (uint16_t)n;
    } else {
        if (!back)
            value_rate(value, &n);
        if (strcmp(what, "rate") == 0)
            t->rate_Bps = n;
        else
            t->ceiling_Bps = n;
    }
}

/* set conn CONN rate|ceiling|burst|weight VALUE */
static int conn_run(const struct command *c)
{
    struct words_conn conn;
    struct host_override override;
    int status, i;
    uint32_t p;

    words_conn_read(c->l->word[2], &conn);
    i = conn_find(c, &conn, &status);
    if (i < 0)
        return status;
    p = (uint32_t)(c->d->queues[i].port - c->d->ports);
    host_control_overrides(c->d->controls[p], c->d->queues[i].queue, conn.number, &override);
    override_set(&override, c->l->word[3], c->l->word[4]);
    status =
        host_control_override(c->d->controls[p], c->d->queues[i].queue, conn.number, &override);
    if (status == -ENOSPC)
        return refuse(c, status,
                      "this rate and those reserved for others exceed the port's capacity; lower "
                      "it, or use set conn %.40s ceiling",
                      c->l->word[2]);
    if (status != 0)
        return refuse(c, status, "connection %.60s has just begun or ended; try again",
                      c->l->word[2]);
    return 0;
}

/* ---- all ---------------------------------------------------------------------------------- */

int command_run(void *daemon, const char *line, char *text, size_t text_len)
{
    static const struct grammar grammar = {words_commands, words_kinds, WORDS_DAEMON};
    struct grammar_line l;
    const struct command c = {daemon, &l, text, text_len};
    char safe[256];
    int status = -EINVAL;

    text[0] = 0;
    if (grammar_parse(&grammar, line, &l, text, text_len) != 0)
        return -EINVAL;
    if (l.command == NULL)
        return 0;
    switch (l.command->run) {
    case WORDS_CLEAR_STATS:
        status = clear_run(&c);
        break;
    case WORDS_SET_CONN:
        status = conn_run(&c);
        break;
    case WORDS_SET_CAPACITY:
        status = capacity_run(&c);
        break;
    case WORDS_SET_PATH:
        status = path_run(&c);
        break;
    default:
        return refuse(&c, -EINVAL, "\"%s\" is a command for the console, not for sluiced",
                      l.command->pattern);
    }
    if (status == 0)
        say(SAY_NOTICE, "console: %s", text_safe(safe, sizeof safe, line));
    return status;
}
