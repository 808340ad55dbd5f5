/* SPDX-License-Identifier: BSD-3-Clause */
/* sluice ping: is there a daemon at a host, how far away is it, and if not, why? */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "console/text.h"
#include "sluice/command.h"
#include "sluice/options.h"
#include "sluice/ping/path_size.h"
#include "sluice/ping/probe.h"
#include "sluice/say.h"
#include "sluice/view/table.h"

const char command_ping_help[] =
    "usage: sluice ping [-c N] [-i TIME] [-W TIME] [--json] [--socket PATH]\n"
    "                   HOST[:SERVICE]\n"
    "Asks whether a Sluice daemon answers at HOST, on the path that transfers take:\n"
    "through our own daemon, its port, and with keys, if there are any. Prints the\n"
    "time of each round trip, or what stands in the way, and the cure; and, once, the\n"
    "longest packet that comes through. A ping is an attempt to connect to a service\n"
    "where nobody listens: 65535, or SERVICE.\n"
    "\n"
    "  -c, --count N        stop after N pings (default: at Ctrl-C)\n"
    "  -i, --interval TIME  from one ping to the next (1s)\n"
    "  -W, --wait TIME      wait so long for an answer (5s)\n"
    "      --json           print the result as JSON, at the end\n"
    "      --socket PATH    socket of the daemon ($SLUICE_SOCKET)\n"
    "  -h, --help           show this help\n"
    "\n"
    "Exit status: 0 a daemon answered, 2 usage error, 3 no daemon here, 4 no answer.\n"
    "Manual: sluice(1).\n";

static const struct option longs[] = {
    {"count", required_argument, NULL, 'c'},
    {"interval", required_argument, NULL, 'i'},
    {"wait", required_argument, NULL, 'W'},
    OPTIONS_PLAIN,
    {NULL, 0, NULL, 0},
};

struct ping {
    struct options common;
    const char *host;
    char shown[300]; /* the host, fit to be shown */
    uint64_t count;  /* 0: no limit */
    uint64_t interval_ns, wait_ns;
    uint64_t sent, answers, sum_ns, min_ns, max_ns;
    struct probe_finding finding; /* of the last ping without an answer; "": there was none */
    struct path_size size;        /* searched after the first answer */
};

static const char *time_text(uint64_t time_ns, char out[32])
{
    return text_time(out, 32, time_ns);
}

static void result_add(struct ping *p, const struct probe *result)
{
    char safe[1100], time[32];

    p->sent++;
    if (result->status == 0) {
        uint64_t t = result->round_trip_ns;

        p->answers++;
        p->sum_ns += t;
        p->min_ns = p->answers == 1 || t < p->min_ns ? t : p->min_ns;
        p->max_ns = t > p->max_ns ? t : p->max_ns;
        if (!p->common.json)
            printf("%s: a daemon answers, after %s\n", p->shown, time_text(t, time));
    } else {
        probe_explain(result, &p->finding);
        if (!p->common.json)
            printf("%s: no answer: %s\n", p->shown, text_safe(safe, sizeof safe, p->finding.text));
        if (!p->common.json && p->finding.cure[0] != '\0')
            printf("    cure: %s\n", p->finding.cure);
    }
    fflush(stdout);
}

static int result_print(const struct ping *p)
{
    uint64_t mean = p->answers > 0 ? p->sum_ns / p->answers : 0;
    char a[32], b[32], c[32], text[sizeof p->finding.text];

    if (p->common.json) {
        json_t *o = json_pack(
            "{s:s,s:I,s:I,s:I,s:I,s:I,s:I,s:b,s:s,s:s}", "host", p->shown, "pings",
            (json_int_t)p->sent, "answers", (json_int_t)p->answers, "min_ns", (json_int_t)p->min_ns,
            "mean_ns", (json_int_t)mean, "max_ns", (json_int_t)p->max_ns, "packet_bytes",
            (json_int_t)p->size.packet_bytes, "mtu_bound", p->size.mtu_bound, "text",
            text_safe(text, sizeof text, p->finding.text), "cure", p->finding.cure);

        table_json(o, stdout);
        json_decref(o);
    } else if (p->answers > 0) {
        printf("%llu of %llu pings answered; round trip min %s, mean %s, max %s\n",
               (unsigned long long)p->answers, (unsigned long long)p->sent, time_text(p->min_ns, a),
               time_text(mean, b), time_text(p->max_ns, c));
    } else {
        printf("none of %llu pings answered\n", (unsigned long long)p->sent);
    }
    if (say_flush() != SAY_OK)
        return SAY_LOCAL;
    return p->answers > 0 ? SAY_OK : SAY_PEER;
}

/* Searches the longest packet that comes through. False: our own daemon is gone. */
static bool size_search(struct ping *p, struct loop *l, const struct probe *answered)
{
    struct probe_finding finding;
    int rc = path_size_find(l, p->host, answered, &p->size);

    if (rc != 0 || p->common.json)
        return rc != -ENOTCONN;
    path_size_explain(&p->size, &finding);
    printf("%s: %s\n", p->shown, finding.text);
    if (finding.cure[0] != '\0')
        printf("    cure: %s\n", finding.cure);
    fflush(stdout);
    return true;
}

/* Sleeps until the next ping. False: our own daemon is gone. */
static bool next_wait(struct loop *l, uint64_t next)
{
    struct sluice_completion c;

    while (loop_signal() == 0 && loop_now() < next) {
        /* Nothing completes here. The poll notices a daemon that died, and lets loop_wait() sleep.
         */
        if (sluice_poll(l->session, &c, 1, 0) < 0)
            return false;
        loop_wait_until(l, -1, next);
    }
    return true;
}

static int pings_run(struct ping *p, struct loop *l)
{
    uint64_t next = loop_now();
    struct probe result;

    while (loop_signal() == 0 && (p->count == 0 || p->sent < p->count)) {
        bool alive = probe_run(l, p->host, p->wait_ns, &result) == 0;

        if (alive && result.status == -EINTR)
            break;
        next += p->interval_ns;
        if (alive) {
            result_add(p, &result);
            if (result.status == 0 && p->answers == 1) {
                alive = size_search(p, l, &result);
                next = loop_now() + p->interval_ns;
            }
        }
        if (alive) {
            alive = p->sent == p->count || next_wait(l, next);
        }
        if (!alive)
            return say_error(SAY_DAEMON, "our daemon is gone; start it again");
    }
    return result_print(p);
}

static int option_take(struct ping *p, int opt)
{
    switch (opt) {
    case 'c':
        return options_number("-c", 1, UINT32_MAX, &p->count);
    case 'i':
        return options_duration("-i", 1000000, 3600 * CLOCK_NS_PER_S, &p->interval_ns);
    case 'W':
        return options_duration("-W", 1000000, 3600 * CLOCK_NS_PER_S, &p->wait_ns);
    default:
        return options_take(&p->common, opt) ? SAY_OK : OPTIONS_GO;
    }
}

int command_ping(int argc, char **argv)
{
    struct ping p = {.interval_ns = CLOCK_NS_PER_S, .wait_ns = PROBE_WAIT_NS};
    struct loop l = {0};
    int opt, code;

    while ((opt = getopt_long(argc, argv, ":hc:i:W:", longs, NULL)) != -1) {
        if (opt == 'h') {
            fputs(command_ping_help, stdout);
            return say_flush();
        }
        code = option_take(&p, opt);
        if (code == OPTIONS_GO)
            return options_refused("ping", argv, opt);
        if (code != SAY_OK)
            return code;
    }
    if (argc != optind + 1)
        return options_wrong("ping", "takes one host");
    p.host = argv[optind];
    text_safe(p.shown, sizeof p.shown, p.host);
    code = loop_open(&l, p.common.socket);
    if (code != SAY_OK)
        return code;
    code = pings_run(&p, &l);
    loop_close(&l);
    return code;
}
