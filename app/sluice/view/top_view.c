/* SPDX-License-Identifier: BSD-3-Clause */
/* See top_view.h. */
#include "sluice/view/top_view.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "console/text.h"

#define CELL 400

#define BOLD    "\033[1m"
#define REVERSE "\033[7m"
#define RED     "\033[31m"
#define YELLOW  "\033[33m"
#define PLAIN   "\033[0m"

struct page {
    struct top_view *v;
    FILE *out;
    unsigned lines; /* begun so far */
    unsigned at;    /* places used in this line */
};

/* ---- lines ------------------------------------------------------------------------------- */

static bool page_full(const struct page *p)
{
    return p->lines >= p->v->rows;
}

static void line_begin(struct page *p)
{
    if (p->lines++ > 0)
        fputc('\n', p->out);
    p->at = 0;
}

/* Places that UTF-8 text takes, at most `most`; *bytes: the bytes of these places. */
static size_t places(const char *text, size_t most, size_t *bytes)
{
    size_t n = 0, i = 0;

    while (text[i] != 0 && n < most) {
        i++;
        while (utf8_continues(text[i]))
            i++;
        n++;
    }
    *bytes = i;
    return n;
}

/* Writes text into a field of `width` places, cut if it is longer; right: right-aligned. */
static void cell(struct page *p, const char *text, unsigned width, bool right, const char *style)
{
    unsigned left = p->v->columns - p->at;
    size_t bytes, n;
    int blanks;

    width = width < left ? width : left;
    n = places(text, width, &bytes);
    blanks = (int)(width - n);
    if (style != NULL && p->v->colours)
        fputs(style, p->out);
    fprintf(p->out, "%*s%.*s%*s", right ? blanks : 0, "", (int)bytes, text, right ? 0 : blanks, "");
    if (style != NULL && p->v->colours)
        fputs(PLAIN, p->out);
    p->at += width;
}

static void gap(struct page *p, unsigned width)
{
    cell(p, "", width, false, NULL);
}

/* ---- columns ----------------------------------------------------------------------------- */

/* A column of the page, shown only on a terminal that is wide enough. */
struct column {
    const char *title;
    unsigned width; /* places; 0: what the other columns leave */
    unsigned wide;  /* columns that the terminal must have at least */
    bool right;
    const char *(*text)(const void *row, char out[CELL]);
};

#define SPARKLINE_COLUMN "LAST MINUTE"

static unsigned sparkline_columns(const struct top_view *v)
{
    return v->columns >= 160 ? 60 : v->columns >= 120 ? 30 : 12;
}

static unsigned column_width(const struct page *p, const struct column *all, size_t n,
                             const struct column *c)
{
    unsigned sum = 0;
    size_t i;

    if (strcmp(c->title, SPARKLINE_COLUMN) == 0)
        return sparkline_columns(p->v);
    if (c->width > 0)
        return c->width;
    for (i = 0; i < n; i++)
        if (all[i].wide <= p->v->columns)
            sum += 1 + (all[i].width > 0 ? column_width(p, all, n, &all[i]) : 0);
    return p->v->columns >= sum + 10 ? (p->v->columns - sum < 40 ? p->v->columns - sum + 1 : 40)
                                     : 10;
}

/* Writes one line; row NULL: the titles. */
static void row_put(struct page *p, const struct column *all, size_t n, const void *row,
                    const struct sparkline *spark, double max_Bps, const char *style)
{
    char text[CELL];
    size_t i;

    line_begin(p);
    for (i = 0; i < n; i++) {
        const struct column *c = &all[i];
        unsigned width = column_width(p, all, n, c);
        bool bars = strcmp(c->title, SPARKLINE_COLUMN) == 0;

        if (c->wide > p->v->columns)
            continue;
        if (p->at > 0)
            gap(p, 1);
        if (row == NULL)
            cell(p, c->title, width, c->right, BOLD);
        else if (bars)
            cell(p, sparkline_text(spark, width, max_Bps, p->v->utf8, text), width, false, NULL);
        else
            cell(p, c->text(row, text), width, c->right, style);
    }
}

static const char *rate_text(char out[CELL], double rate_Bps)
{
    return rate_Bps > 0 ? text_rate(out, CELL, rate_Bps) : "-";
}

static const char *count_text(char out[CELL], uint64_t n)
{
    if (n < 100000)
        snprintf(out, CELL, "%llu", (unsigned long long)n);
    else if (n < 100000000)
        snprintf(out, CELL, "%lluk", (unsigned long long)n / 1000);
    else
        snprintf(out, CELL, "%lluM", (unsigned long long)n / 1000000);
    return out;
}

/* ---- ports ------------------------------------------------------------------------------- */

#define PORT(name, expression)                                                                     \
    static const char *port_##name(const void *row, char out[CELL])                                \
    {                                                                                              \
        const struct top_port *x = row;                                                            \
        (void)out;                                                                                 \
        return expression;                                                                         \
    }
PORT(name, x->name)
PORT(link, x->up ? "up" : "down")
PORT(capacity, rate_text(out, (double)x->capacity_Bps))
PORT(why, x->why)
PORT(granted, rate_text(out, (double)x->granted_Bps))
PORT(conns, count_text(out, x->conns))
PORT(rx, rate_text(out, x->rx_Bps))
PORT(tx, rate_text(out, x->tx_Bps))
PORT(missed, count_text(out, x->missed))

static const struct column port_columns[] = {
    {"PORT", 0, 0, false, port_name},
    {"LINK", 4, 0, false, port_link},
    {"CAPACITY", 9, 0, true, port_capacity},
    {"BY", 9, 100, false, port_why},
    {"GRANTED", 9, 0, true, port_granted},
    {"CONNS", 5, 70, true, port_conns},
    {"RX", 9, 50, true, port_rx},
    {SPARKLINE_COLUMN, 12, 64, false, NULL},
    {"TX", 9, 78, true, port_tx},
    {"MISSED", 6, 110, true, port_missed},
};
#define PORT_COLUMNS (sizeof port_columns / sizeof *port_columns)

static void ports_put(struct page *p, const struct top *t)
{
    size_t most = p->v->rows / 4, i;
    double full = 0;
    char text[CELL];

    row_put(p, port_columns, PORT_COLUMNS, NULL, NULL, 0, NULL);
    for (i = 0; i < t->n_ports; i++) {
        double rate = sparkline_max(&t->ports[i].spark, sparkline_columns(p->v));

        full = rate > full ? rate : full;
    }
    for (i = 0; i < t->n_ports && !page_full(p); i++) {
        const struct top_port *x = &t->ports[i];

        if (i + 1 >= most && i + 1 < t->n_ports) {
            line_begin(p);
            snprintf(text, sizeof text, "and %zu more ports: sluice show ports", t->n_ports - i);
            cell(p, text, p->v->columns, false, NULL);
            return;
        }
        row_put(p, port_columns, PORT_COLUMNS, x, &x->spark, full, x->up ? NULL : RED);
    }
}

/* ---- flows ------------------------------------------------------------------------------- */

#define FLOW(name, expression)                                                                     \
    static const char *flow_##name(const void *row, char out[CELL])                                \
    {                                                                                              \
        const struct top_flow *x = row;                                                            \
        (void)out;                                                                                 \
        return expression;                                                                         \
    }
FLOW(direction, x->outward ? "out" : "in")
FLOW(port, x->port)
FLOW(peer, x->peer)
FLOW(service, count_text(out, x->service))
FLOW(grant, rate_text(out, (double)x->grant_Bps))
FLOW(rate, rate_text(out, x->rate_Bps))
FLOW(why, strcmp(x->state, "open") == 0 ? x->why : x->state)
FLOW(lost, count_text(out, x->lost))
FLOW(bytes, text_bytes(out, CELL, (double)x->bytes))
FLOW(rtt, x->rtt_ns > 0 ? text_time(out, CELL, x->rtt_ns) : "-")

static const char *flow_conn(const void *row, char out[CELL])
{
    const struct top_flow *x = row;

    snprintf(out, CELL, "%llu.%llu", (unsigned long long)x->worker, (unsigned long long)x->conn);
    return out;
}

static const struct column flow_columns[] = {
    {"DIR", 3, 0, false, flow_direction}, {"CONN", 6, 60, false, flow_conn},
    {"PORT", 12, 140, false, flow_port},  {"PEER", 0, 0, false, flow_peer},
    {"SVC", 5, 100, true, flow_service},  {"GRANT", 9, 0, true, flow_grant},
    {"RATE", 9, 0, true, flow_rate},      {SPARKLINE_COLUMN, 12, 64, false, NULL},
    {"WHY", 9, 50, false, flow_why},      {"LOST", 6, 76, true, flow_lost},
    {"BYTES", 9, 100, true, flow_bytes},  {"RTT", 9, 110, true, flow_rtt},
};
#define FLOW_COLUMNS (sizeof flow_columns / sizeof *flow_columns)

/* Limits v->first, so that the end of the list is not above the end of the page. */
static void scroll(struct top_view *v, size_t n)
{
    if (v->first + v->visible > n)
        v->first = n > v->visible ? n - v->visible : 0;
}

static void flows_put(struct page *p, const struct top *t)
{
    struct top_view *v = p->v;
    unsigned bars = sparkline_columns(v);
    size_t i, n = 0, shown = 0;
    double full = 0;

    row_put(p, flow_columns, FLOW_COLUMNS, NULL, NULL, 0, NULL);
    v->visible = v->rows > p->lines + 1 ? v->rows - p->lines - 1 : 0;
    for (i = 0; i < t->n_flows; i++) {
        double rate = sparkline_max(&t->flows[i].spark, bars);

        full = rate > full ? rate : full;
        n += top_fits(&t->flows[i], v->filter);
    }
    scroll(v, n);
    for (i = n = 0; i < t->n_flows && shown < v->visible; i++) {
        const struct top_flow *f = &t->flows[i];

        if (!top_fits(f, v->filter) || n++ < v->first)
            continue;
        row_put(p, flow_columns, FLOW_COLUMNS, f, &f->spark, full,
                strcmp(f->state, "open") != 0 ? YELLOW : NULL);
        shown++;
    }
    if (n == 0 && v->visible > 0) {
        line_begin(p);
        cell(p, v->filter[0] != 0 ? "no connection fits the filter" : "no connections", v->columns,
             false, NULL);
    }
}

/* ---- the rest ---------------------------------------------------------------------------- */

static void title_put(struct page *p, const struct top *t)
{
    uint64_t s = t->uptime_ns / 1000000000u;
    char text[CELL];

    snprintf(text, sizeof text,
             "sluice top - up %llu:%02llu:%02llu, connections: %llu open, %llu waiting%s",
             (unsigned long long)(s / 3600), (unsigned long long)(s / 60 % 60),
             (unsigned long long)(s % 60), (unsigned long long)t->open,
             (unsigned long long)t->waiting, p->v->paused ? " - PAUSED" : "");
    line_begin(p);
    cell(p, text, p->v->columns, false, REVERSE);
}

static void footer_put(struct page *p)
{
    const struct top_view *v = p->v;
    char text[CELL];

    if (v->typing)
        snprintf(text, sizeof text, "filter: %s_   (Enter: keep, Esc: none)", v->filter);
    else
        snprintf(text, sizeof text, "q quit  h help  space pause  / filter%s%s  sort: %s%s",
                 v->filter[0] != 0 ? ": " : "", v->filter, top_order_name(v->order),
                 v->backward ? ", backward" : "");
    line_begin(p);
    cell(p, text, v->columns, false, REVERSE);
}

static void help_put(struct page *p)
{
    static const char *const lines[] = {
        "",
        "Keys:",
        "  r rate  g grant  b bytes  l lost  p peer  c connection: sort; again: reverse",
        "  /       filter by part of a peer, port, service, state, reason, \"in\" or \"out\"",
        "  up, down, page up, page down, home, end: scroll the list",
        "  space   pause       q   quit       h   back",
        "",
        "Ports: CAPACITY is the rate that senders share, GRANTED the part of it that is",
        "  granted; RX and TX count the bits of all frames; LAST MINUTE shows RX.",
        "Connections: one line for each direction that has carried data. GRANT is the",
        "  rate that the receiver allows; RATE is that of user data; LAST MINUTE shows",
        "  RATE, on one scale. LOST counts units missed, or (out) sent again.",
        "WHY is the reason of our grant: default newcomer capacity loss probe idle",
        "  ceiling minimum demand queue competing ecn occupancy limit; \"peer\": the other",
        "  end grants the rate. A connection that is not open shows its state. sluice(1)",
    };
    size_t i;

    for (i = 0; i < sizeof lines / sizeof *lines && p->lines + 1 < p->v->rows; i++) {
        line_begin(p);
        cell(p, lines[i], p->v->columns, false, NULL);
    }
}

void top_view(const struct top *t, struct top_view *v, FILE *out)
{
    struct page p = {.v = v, .out = out};

    v->visible = 0;
    if (v->rows == 0 || v->columns == 0)
        return;
    title_put(&p, t);
    if (v->help) {
        help_put(&p);
    } else if (v->rows >= 6) {
        ports_put(&p, t);
        if (!page_full(&p))
            line_begin(&p);
        if (!page_full(&p))
            flows_put(&p, t);
    }
    while (p.lines + 1 < v->rows)
        line_begin(&p);
    if (!page_full(&p))
        footer_put(&p);
}
