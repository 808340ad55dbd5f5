/* SPDX-License-Identifier: BSD-3-Clause */
/* sluice top: what the daemon is doing, live on a terminal, or once for scripts. */
#include "sluice/command.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "console/text.h"
#include "sluice/loop.h"
#include "sluice/options.h"
#include "sluice/say.h"
#include "sluice/view/table.h"
#include "sluice/view/terminal.h"
#include "sluice/view/top_view.h"

const char command_top_help[] =
    "usage: sluice top [-i TIME] [--once [--json]] [--sort ORDER] [--filter TEXT]\n"
    "                  [--ascii] [--socket PATH]\n"
    "Shows ports and connections live: capacities, grants and their reasons, current\n"
    "rates, and the rates of the last minute.\n"
    "\n"
    "  -i, --interval TIME  time between updates, 100ms to 1h (1s)\n"
    "      --once           sample twice, an interval apart; print tables and exit\n"
    "      --json           with --once: print JSON; names end in the unit\n"
    "      --sort ORDER     rate, peer, conn, grant, bytes or lost (rate)\n"
    "      --filter TEXT    show only connections with TEXT in their peer, port,\n"
    "                       service, state, reason or direction (in, out)\n"
    "      --ascii          draw bars with ASCII characters in any locale\n"
    "      --socket PATH    socket of the daemon ($SLUICE_SOCKET)\n"
    "  -h, --help           show this help\n"
    "\n"
    "Keys: q quit, h help, space pause, / filter; r g b l p c sort by rate, grant,\n"
    "bytes, lost, peer or connection (again: reverse the order); arrows and page keys\n"
    "scroll. Set NO_COLOR for a display without colours.\n"
    "\n"
    "Exit status: 0 success, 2 usage error or no terminal, 3 no daemon, or it ended.\n"
    "Manual: sluice(1).\n";

enum { TOP_ONCE = OPTIONS_OWN, TOP_SORT, TOP_FILTER, TOP_ASCII };

static const struct option longs[] = {
    {"interval", required_argument, NULL, 'i'},
    {"once", no_argument, NULL, TOP_ONCE},
    {"sort", required_argument, NULL, TOP_SORT},
    {"filter", required_argument, NULL, TOP_FILTER},
    {"ascii", no_argument, NULL, TOP_ASCII},
    {"json", no_argument, NULL, OPTIONS_JSON},
    {"socket", required_argument, NULL, OPTIONS_SOCKET},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static const struct table_column port_columns[] = {
    {"port", "PORT", TABLE_TEXT},
    {"link", "LINK", TABLE_TEXT},
    {"capacity_Bps", "CAPACITY", TABLE_RATE},
    {"measured_why", "BY", TABLE_TEXT},
    {"granted_Bps", "GRANTED", TABLE_RATE},
    {"open_conns", "CONNS", TABLE_COUNT},
    {"rx_Bps", "RX", TABLE_RATE},
    {"tx_Bps", "TX", TABLE_RATE},
    {"rx_missed", "MISSED", TABLE_COUNT},
    {NULL, NULL, TABLE_TEXT},
};

static const struct table_column flow_columns[] = {
    {"direction", "DIR", TABLE_TEXT},    {"port", "PORT", TABLE_TEXT},
    {"worker", "WORKER", TABLE_COUNT},   {"conn", "CONN", TABLE_COUNT},
    {"state", "STATE", TABLE_TEXT},      {"peer", "PEER", TABLE_TEXT},
    {"service", "SERVICE", TABLE_COUNT}, {"grant_Bps", "GRANT", TABLE_RATE},
    {"rate_Bps", "RATE", TABLE_RATE},    {"why", "WHY", TABLE_TEXT},
    {"lost", "LOST", TABLE_COUNT},       {"bytes", "BYTES", TABLE_BYTES},
    {"rtt_ns", "RTT", TABLE_TIME},       {NULL, NULL, TABLE_TEXT},
};

struct run {
    struct options o;
    struct loop loop;
    struct top top;
    struct top_view view;
    uint64_t interval_ns;
    bool once, ascii;
};

/* Looks at the daemon once. Returns an exit code. The error goes to `why` and is not printed here,
 * since there may be a page on the terminal. */
static int look(struct run *r, char *why, size_t why_len)
{
    static const char *const whats[] = {"ports", "capacity", "conns"};
    char *said[3] = {NULL, NULL, NULL};
    int code = SAY_OK;
    size_t i;

    for (i = 0; i < 3 && code == SAY_OK; i++) {
        if (sluice_show(r->loop.session, whats[i], &said[i]) < 0) {
            snprintf(why, why_len, "%s", sluice_error(r->loop.session));
            code = SAY_DAEMON;
        }
    }
    if (code == SAY_OK && !top_take(&r->top, said[0], said[1], said[2], loop_now())) {
        snprintf(why, why_len,
                 "invalid answer from the daemon; use the same version of sluice and sluiced");
        code = SAY_DAEMON;
    }
    for (i = 0; i < 3; i++)
        free(said[i]);
    return code;
}

/* ---- once -------------------------------------------------------------------------------- */

static int once_print(struct run *r)
{
    json_t *ports, *flows;

    top_sort(&r->top, r->view.order, r->view.backward);
    ports = top_ports_json(&r->top);
    flows = top_flows_json(&r->top, r->view.filter);
    if (r->o.json) {
        json_t *o = json_pack("{s:I,s:O,s:O}", "uptime_ns", (json_int_t)r->top.uptime_ns, "ports",
                              ports, "conns", flows);

        table_json(o, stdout);
        json_decref(o);
    } else {
        table_print(ports, port_columns, stdout);
        putchar('\n');
        table_print(flows, flow_columns, stdout);
    }
    json_decref(ports);
    json_decref(flows);
    return say_flush();
}

static int once(struct run *r)
{
    char why[512];
    uint64_t now = loop_now(), until = now + r->interval_ns;
    int code = look(r, why, sizeof why);

    while (code == SAY_OK && (now = loop_now()) < until) {
        struct sluice_completion none;

        /* Nothing completes here. The poll notices a daemon that died, and lets loop_wait() sleep.
         */
        if (sluice_poll(r->loop.session, &none, 1, 0) < 0)
            break;
        loop_wait(&r->loop, -1, until - now);
        if (loop_signal() != 0)
            return 128 + loop_signal();
    }
    if (code == SAY_OK)
        code = look(r, why, sizeof why);
    return code == SAY_OK ? once_print(r) : say_error(code, "%s", why);
}

/* ---- live -------------------------------------------------------------------------------- */

static bool page_show(struct run *r)
{
    char *page = NULL;
    size_t len;
    FILE *f = open_memstream(&page, &len);
    bool shown;

    if (f == NULL)
        return false;
    terminal_size(&r->view.rows, &r->view.columns);
    top_sort(&r->top, r->view.order, r->view.backward);
    top_view(&r->top, &r->view, f);
    fclose(f);
    shown = terminal_show(page, len);
    free(page);
    return shown;
}

/* Handles a key while the filter is typed. */
static void key_type(struct top_view *v, int key)
{
    size_t len = strlen(v->filter);

    if (key == '\r' || key == '\n' || key == TERMINAL_ESCAPE)
        v->typing = false;
    if (key == TERMINAL_ESCAPE)
        v->filter[0] = 0;
    if ((key == 0x7f || key == '\b') && len > 0)
        v->filter[len - 1] = 0;
    if (key >= ' ' && key < 0x7f && len + 1 < sizeof v->filter) {
        v->filter[len] = (char)key;
        v->filter[len + 1] = 0;
    }
    v->first = 0;
}

static void key_move(struct top_view *v, int key)
{
    size_t page = v->visible > 1 ? v->visible - 1 : 1;

    if (key == TERMINAL_UP)
        v->first -= v->first > 0;
    else if (key == TERMINAL_DOWN)
        v->first++;
    else if (key == TERMINAL_PAGE_UP)
        v->first -= v->first < page ? v->first : page;
    else if (key == TERMINAL_PAGE_DOWN)
        v->first += page;
    else if (key == TERMINAL_HOME)
        v->first = 0;
    else if (key == TERMINAL_END)
        v->first = SIZE_MAX / 2; /* top_view() limits it */
}

/* Handles a key. False: it ends `sluice top`. */
static bool key_take(struct top_view *v, int key)
{
    static const char orders[] = {
        [TOP_RATE] = 'r',  [TOP_PEER] = 'p',  [TOP_CONN] = 'c',
        [TOP_GRANT] = 'g', [TOP_BYTES] = 'b', [TOP_LOST] = 'l',
    };
    unsigned i;

    if (v->typing) {
        key_type(v, key);
        return true;
    }
    if (key == 'q' || key == 4 /* ^D */)
        return false;
    if (key == ' ')
        v->paused = !v->paused;
    else if (key == 'h' || key == '?' || (key == TERMINAL_ESCAPE && v->help))
        v->help = !v->help;
    else if (key == '/')
        v->typing = true;
    else if (key == TERMINAL_ESCAPE)
        v->filter[0] = 0;
    for (i = 0; i < TOP_ORDERS; i++) {
        if (key == orders[i]) {
            v->backward = v->order == (enum top_order)i && !v->backward;
            v->order = (enum top_order)i;
        }
    }
    key_move(v, key);
    return true;
}

static int live(struct run *r)
{
    uint64_t due = loop_now();
    char why[512] = "";
    bool on = true;
    int code = terminal_open();

    if (code != SAY_OK)
        return code;
    while (on && code == SAY_OK) {
        int key;

        if (loop_now() >= due) {
            if (!r->view.paused)
                code = look(r, why, sizeof why);
            due = loop_now() + r->interval_ns;
        }
        if (code != SAY_OK)
            break;
        on = page_show(r);
        key = on ? terminal_key(due) : TERMINAL_STOP;
        if (key == TERMINAL_STOP)
            on = false;
        else if (key != TERMINAL_NONE && key != TERMINAL_DRAW)
            on = key_take(&r->view, key);
    }
    terminal_close();
    if (code == SAY_OK && terminal_signal() != 0)
        code = 128 + terminal_signal();
    return code == SAY_DAEMON ? say_error(code, "%s", why) : code;
}

/* ---- the command ------------------------------------------------------------------------- */

static int take_order(struct top_view *v, const char *text)
{
    char safe[64];
    unsigned i;

    for (i = 0; i < TOP_ORDERS; i++) {
        if (strcmp(text, top_order_name((enum top_order)i)) == 0) {
            v->order = (enum top_order)i;
            return SAY_OK;
        }
    }
    return say_error(SAY_USAGE,
                     "--sort %s: no such order; write one of rate, peer, conn, grant, bytes, lost",
                     text_safe(safe, sizeof safe, text));
}

static int take_filter(struct top_view *v, const char *text)
{
    if (strlen(text) >= sizeof v->filter)
        return say_error(SAY_USAGE, "--filter: longer than %zu bytes; shorten it",
                         sizeof v->filter - 1);
    text_safe(v->filter, sizeof v->filter, text);
    return SAY_OK;
}

static int run_option(struct run *r, int opt)
{
    switch (opt) {
    case 'i':
        return options_duration("--interval", CLOCK_NS_PER_S / 10, 3600 * CLOCK_NS_PER_S,
                                &r->interval_ns);
    case TOP_SORT:
        return take_order(&r->view, optarg);
    case TOP_FILTER:
        return take_filter(&r->view, optarg);
    case TOP_ONCE:
        r->once = true;
        return SAY_OK;
    case TOP_ASCII:
        r->ascii = true;
        return SAY_OK;
    default:
        return -1;
    }
}

int command_top(int argc, char **argv)
{
    struct run r = {.interval_ns = CLOCK_NS_PER_S};
    int opt, code = SAY_OK;

    while (code == SAY_OK && (opt = getopt_long(argc, argv, ":hi:", longs, NULL)) != -1) {
        if (opt == 'h') {
            fputs(command_top_help, stdout);
            return say_flush();
        }
        code = run_option(&r, opt);
        if (code == -1)
            code = options_take(&r.o, opt) ? SAY_OK : options_refused("top", argv, opt);
    }
    if (code != SAY_OK)
        return code;
    if (argc != optind)
        return options_wrong("top", "takes no arguments but options");
    if (r.o.json && !r.once)
        return options_wrong("top", "--json goes with --once");
    r.view.utf8 = !r.ascii && terminal_utf8();
    r.view.colours = terminal_colours();
    code = loop_open(&r.loop, r.o.socket);
    if (code == SAY_OK)
        code = r.once ? once(&r) : live(&r);
    loop_close(&r.loop);
    top_free(&r.top);
    return code;
}
