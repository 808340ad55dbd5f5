/* SPDX-License-Identifier: BSD-3-Clause */
/* See view.h. A view is one of the daemon's lists with some of its columns. A view without columns
 * shows each row as a record of all its members. */
#include "sluice/view/view.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console/text.h"
#include "sluice/view/table.h"

static const struct table_column conns[] = {
    {"port", "PORT", TABLE_TEXT},
    {"worker", "WORKER", TABLE_COUNT},
    {"conn", "CONN", TABLE_COUNT},
    {"state", "STATE", TABLE_TEXT},
    {"peer", "PEER", TABLE_TEXT},
    {"service", "SERVICE", TABLE_COUNT},
    {"unit_bytes", "UNIT", TABLE_COUNT},
    {"dropped_unit_bytes", "DROPPED UNIT", TABLE_COUNT},
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

static const struct table_column ports[] = {
    {"name", "NAME", TABLE_TEXT},
    {"driver", "DRIVER", TABLE_TEXT},
    {"link", "LINK", TABLE_TEXT},
    {"address", "ADDRESS", TABLE_TEXT},
    {"address6", "ADDRESS6", TABLE_TEXT},
    {"mac", "MAC", TABLE_TEXT},
    {"mtu_bytes", "MTU", TABLE_COUNT},
    {"capacity_Bps", "CAPACITY", TABLE_RATE},
    {"rx_packets", "RX PACKETS", TABLE_COUNT},
    {"rx_bytes", "RX BYTES", TABLE_BYTES},
    {"rx_missed", "MISSED", TABLE_COUNT},
    {"tx_packets", "TX PACKETS", TABLE_COUNT},
    {"tx_bytes", "TX BYTES", TABLE_BYTES},
    {"mbufs_in_use", "MBUFS", TABLE_COUNT},
    {"steered_by", "STEERED BY", TABLE_TEXT},
    {"conflict", "CONFLICT", TABLE_TEXT},
    {NULL, NULL, TABLE_TEXT},
};

static const struct table_column workers[] = {
    {"lcore", "LCORE", TABLE_COUNT},   {"cpu", "CPU", TABLE_COUNT},
    {"idle", "IDLE MODE", TABLE_TEXT}, {"iterations", "ITERATIONS", TABLE_COUNT},
    {"busy_ns", "BUSY", TABLE_TIME},   {"idle_ns", "IDLE", TABLE_TIME},
    {"nap_ns", "ASLEEP", TABLE_TIME},  {"control_stalls", "CONTROL STALLS", TABLE_COUNT},
    {NULL, NULL, TABLE_TEXT},
};

static const struct table_column capacity[] = {
    {"port", "PORT", TABLE_TEXT},
    {"capacity_Bps", "CEILING", TABLE_RATE},
    {"measured_Bps", "MEASURED", TABLE_RATE},
    {"measured_why", "BY", TABLE_TEXT},
    {"shared_Bps", "SHARED", TABLE_RATE},
    {"granted_Bps", "GRANTED", TABLE_RATE},
    {"overruns", "OVERRUNS", TABLE_COUNT},
    {"open_conns", "CONNS", TABLE_COUNT},
    {"received_bytes", "RECEIVED", TABLE_BYTES},
    {NULL, NULL, TABLE_TEXT},
};

static const struct table_column history[] = {
    {"ago_ns", "AGO", TABLE_TIME},      {"port", "PORT", TABLE_TEXT},
    {"decided", "DECIDED", TABLE_TEXT}, {"worker", "WORKER", TABLE_COUNT},
    {"conn", "CONN", TABLE_COUNT},      {"peer", "PEER", TABLE_TEXT},
    {"rate_Bps", "RATE", TABLE_RATE},   {"burst_bytes", "BURST", TABLE_BYTES},
    {"why", "WHY", TABLE_TEXT},         {"rx_Bps", "RX RATE", TABLE_RATE},
    {"lost", "LOST", TABLE_COUNT},      {NULL, NULL, TABLE_TEXT},
};

static const struct table_column trace[] = {
    {"ago_ns", "AGO", TABLE_TIME}, {"port", "PORT", TABLE_TEXT}, {"worker", "WORKER", TABLE_COUNT},
    {"text", "EVENT", TABLE_TEXT}, {NULL, NULL, TABLE_TEXT},
};

static const struct table_column reload[] = {
    {"number", "NUMBER", TABLE_COUNT}, {"ago_ns", "AGO", TABLE_TIME},  {"good", "GOOD", TABLE_FLAG},
    {"file", "FILE", TABLE_TEXT},      {"error", "ERROR", TABLE_TEXT}, {NULL, NULL, TABLE_TEXT},
};

static const struct table_column grants[] = {
    {"port", "PORT", TABLE_TEXT},
    {"worker", "WORKER", TABLE_COUNT},
    {"conn", "CONN", TABLE_COUNT},
    {"peer", "PEER", TABLE_TEXT},
    {"rx_rate_Bps", "GRANTED", TABLE_RATE},
    {"rx_burst_bytes", "BURST", TABLE_BYTES},
    {"rx_why", "WHY", TABLE_TEXT},
    {"rx_momentary_Bps", "RX RATE", TABLE_RATE},
    {"set_rate_Bps", "SET RATE", TABLE_RATE},
    {"set_ceiling_Bps", "SET CEILING", TABLE_RATE},
    {"set_burst_bytes", "SET BURST", TABLE_BYTES},
    {"set_weight", "SET WEIGHT", TABLE_COUNT},
    {"tx_rate_Bps", "GRANTED TO US", TABLE_RATE},
    {"tx_burst_bytes", "BURST", TABLE_BYTES},
    {NULL, NULL, TABLE_TEXT},
};

static const struct table_column spread[] = {
    {"port", "PORT", TABLE_TEXT},
    {"worker", "WORKER", TABLE_COUNT},
    {"conn", "CONN", TABLE_COUNT},
    {"peer", "PEER", TABLE_TEXT},
    {"increment_p50_ns", "DELAY P50", TABLE_TIME},
    {"increment_p99_ns", "P99", TABLE_TIME},
    {"momentary_p50_Bps", "RX RATE P50", TABLE_RATE},
    {"momentary_p99_Bps", "P99", TABLE_RATE},
    {"latency_count", "REQUESTS", TABLE_COUNT},
    {"latency_p50_ns", "LATENCY P50", TABLE_TIME},
    {"latency_p99_ns", "P99", TABLE_TIME},
    {NULL, NULL, TABLE_TEXT},
};

static const struct table_column path[] = {
    {"port", "PORT", TABLE_TEXT},
    {"worker", "WORKER", TABLE_COUNT},
    {"conn", "CONN", TABLE_COUNT},
    {"peer", "PEER", TABLE_TEXT},
    {"rtt_ns", "RTT", TABLE_TIME},
    {"unit_bytes", "UNIT", TABLE_COUNT},
    {"rx_rate_Bps", "GRANTED", TABLE_RATE},
    {"rx_why", "WHY", TABLE_TEXT},
    {"rx_path_Bps", "PATH RATE", TABLE_RATE},
    {"rx_momentary_Bps", "RX RATE", TABLE_RATE},
    {"rx_lost_ppm", "LOST", TABLE_PPM},
    {"increment_p50_ns", "DELAY P50", TABLE_TIME},
    {"increment_p99_ns", "P99", TABLE_TIME},
    {"tx_rate_Bps", "GRANTED TO US", TABLE_RATE},
    {"tx_repeats_ppm", "REPEATED", TABLE_PPM},
    {NULL, NULL, TABLE_TEXT},
};

static const struct table_column clients[] = {
    {"session", "SESSION", TABLE_COUNT},
    {"pid", "PID", TABLE_COUNT},
    {"uid", "UID", TABLE_COUNT},
    {"state", "STATE", TABLE_TEXT},
    {"memory_bytes", "MEMORY", TABLE_BYTES},
    {"regions", "REGIONS", TABLE_COUNT},
    {"services", "SERVICES", TABLE_TEXT},
    {"user_bytes", "USER'S MEMORY", TABLE_BYTES},
    {"quota_bytes", "QUOTA", TABLE_BYTES},
    {NULL, NULL, TABLE_TEXT},
};

static const struct table_column neigh[] = {
    {"port", "PORT", TABLE_TEXT},          {"worker", "WORKER", TABLE_COUNT},
    {"address", "ADDRESS", TABLE_TEXT},    {"mac", "MAC", TABLE_TEXT},
    {"heard_ago_ns", "HEARD", TABLE_TIME}, {NULL, NULL, TABLE_TEXT},
};

static const struct table_column peers[] = {
    {"port", "PORT", TABLE_TEXT},
    {"peer", "PEER", TABLE_TEXT},
    {"address", "ADDRESS", TABLE_TEXT},
    {"address6", "ADDRESS6", TABLE_TEXT},
    {"state", "STATE", TABLE_TEXT},
    {"handshake_ago_ns", "HANDSHAKE", TABLE_TIME},
    {"failures", "FAILED", TABLE_COUNT},
    {"public_key", "PUBLIC KEY", TABLE_TEXT},
    {NULL, NULL, TABLE_TEXT},
};

static const struct table_column port_stats[] = {
    {"port", "PORT", TABLE_TEXT},
    {"rx_packets", "RX PACKETS", TABLE_COUNT},
    {"rx_bytes", "RX BYTES", TABLE_BYTES},
    {"rx_missed", "MISSED", TABLE_COUNT},
    {"rx_errors", "RX ERRORS", TABLE_COUNT},
    {"rx_nombuf", "NO MBUF", TABLE_COUNT},
    {"tx_packets", "TX PACKETS", TABLE_COUNT},
    {"tx_bytes", "TX BYTES", TABLE_BYTES},
    {"tx_errors", "TX ERRORS", TABLE_COUNT},
    {"since_ns", "SINCE", TABLE_TIME},
    {NULL, NULL, TABLE_TEXT},
};

static const struct table_column port_xstats[] = {
    {"port", "PORT", TABLE_TEXT},
    {"name", "COUNTER", TABLE_TEXT},
    {"value", "VALUE", TABLE_COUNT},
    {NULL, NULL, TABLE_TEXT},
};

static const struct view {
    const char *name;
    const char *source;                 /* the daemon's list; NULL: path_rows() makes it */
    const struct table_column *columns; /* NULL: each row as a record */
} views[] = {
    {"conns", "conns", conns},
    {"ports", "ports", ports},
    {"workers", "workers", workers},
    {"capacity", "capacity", capacity},
    {"history", "history", history},
    {"trace", "trace", trace},
    {"reload", "reload", reload},
    {"grants", "conns", grants},
    {"spread", "spread", spread},
    {"path", NULL, path},
    {"clients", "clients", clients},
    {"neigh", "neigh", neigh},
    {"peers", "peers", peers},
    {"conn", "conns", NULL},
    {"port-info", "ports", NULL},
    {"port-stats", "port-stats", port_stats},
    {"port-xstats", "port-xstats", port_xstats},
};
#define VIEWS (sizeof views / sizeof *views)

const struct view *view_find(const char *name)
{
    for (size_t i = 0; i < VIEWS; i++)
        if (strcmp(views[i].name, name) == 0)
            return &views[i];
    return NULL;
}

const char *view_names(char *out, size_t out_len)
{
    size_t len = 0;

    *out = 0;
    for (size_t i = 0; i < VIEWS && len < out_len; i++)
        len += (size_t)snprintf(out + len, out_len - len, "%s%s", i > 0 ? ", " : "", views[i].name);
    return out;
}

/* ---- rows --------------------------------------------------------------------------------- */

static const char *member_text(const json_t *row, const char *key)
{
    const char *text = json_string_value(json_object_get(row, key));

    return text != NULL ? text : "";
}

/* True if the row's port has this name, or this number if the row has a port number. */
static bool port_is(const json_t *row, const char *port)
{
    const json_t *number = json_object_get(row, "port_number");
    char text[24];

    snprintf(text, sizeof text, "%lld", (long long)json_integer_value(number));
    if (number != NULL && strcmp(text, port) == 0)
        return true;
    return strcmp(member_text(row, json_object_get(row, "port") != NULL ? "port" : "name"), port) ==
           0;
}

static bool conn_is(const json_t *row, const struct words_conn *c)
{
    if (json_integer_value(json_object_get(row, "conn")) != (json_int_t)c->number ||
        (c->port[0] != 0 && !port_is(row, c->port)))
        return false;
    return c->worker == WORDS_ANY ||
           json_integer_value(json_object_get(row, "worker")) == (json_int_t)c->worker;
}

static void rows_filter(json_t *rows, const struct view_filter *f)
{
    for (size_t i = json_array_size(rows); i-- > 0;) {
        const json_t *row = json_array_get(rows, i);

        if ((f->port != NULL && !port_is(row, f->port)) ||
            (f->conn != NULL && !conn_is(row, f->conn)))
            json_array_remove(rows, i);
    }
}

static bool ends_in(const char *key, const char *end)
{
    size_t len = strlen(key), n = strlen(end);

    return len >= n && strcmp(key + len - n, end) == 0;
}

/* Prints a member in the unit that its name ends with. */
static void member_print(const char *key, const json_t *v)
{
    char text[128];
    double n = json_number_value(v);

    if (json_is_string(v))
        text_safe(text, sizeof text, json_string_value(v));
    else if (json_is_boolean(v))
        snprintf(text, sizeof text, "%s", json_is_true(v) ? "yes" : "no");
    else if (ends_in(key, "_Bps"))
        text_rate(text, sizeof text, n);
    else if (ends_in(key, "_bytes") && n < 1e6)
        snprintf(text, sizeof text, "%.0f B", n);
    else if (ends_in(key, "_bytes"))
        text_bytes(text, sizeof text, n);
    else if (ends_in(key, "_ns"))
        text_time(text, sizeof text, (uint64_t)n);
    else
        snprintf(text, sizeof text, "%.0f", n);
    printf("%-20s %s\n", key, text);
}

static void record_print(json_t *row)
{
    const char *key;
    json_t *v;

    json_object_foreach(row, key, v)
    {
        if (!json_is_array(v) && !json_is_object(v))
            member_print(key, v);
    }
}

static void rows_print(const struct view *v, const json_t *rows)
{
    if (v->columns != NULL) {
        table_print(rows, v->columns, stdout);
        return;
    }
    for (size_t i = 0; i < json_array_size(rows); i++) {
        if (i > 0)
            putchar('\n');
        record_print(json_array_get(rows, i));
    }
}

/* Says that the daemon has left out what belongs to other users, if it has. */
static void only_note(const json_t *top)
{
    const json_t *uid = json_object_get(top, "only_uid");

    if (uid == NULL)
        return;
    fflush(stdout);
    fprintf(stderr, "only what belongs to user %lld is shown; root sees everything\n",
            (long long)json_integer_value(uid));
}

/* ---- views -------------------------------------------------------------------------------- */

int view_print(const struct view *v, struct sluice *s, const struct view_filter *filter, bool json,
               char *err, size_t err_len)
{
    int code;
    json_t *rows, *top = v->source != NULL ? daemon_list(s, v->source, &rows, &code, err, err_len)
                                           : path_rows(s, &rows, &code, err, err_len);

    if (top == NULL)
        return code;
    rows_filter(rows, filter);
    if (json_array_size(rows) == 0 && (filter->port != NULL || filter->conn != NULL)) {
        snprintf(err, err_len,
                 filter->conn != NULL ? "no such connection; show conns lists them"
                                      : "no such port; show port info all lists them");
        code = -ENOENT;
    } else if (json) {
        table_json(top, stdout);
    } else {
        rows_print(v, rows);
        only_note(top);
    }
    json_decref(top);
    return code;
}

void view_values(struct sluice *s, const char *view, const char *member,
                 void (*found)(void *ctx, const char *value), void *ctx)
{
    char err[256], number[32];
    int code;
    json_t *rows, *top = daemon_list(s, view_find(view)->source, &rows, &code, err, sizeof err);
    json_t *row;
    size_t i;

    if (top == NULL)
        return;
    json_array_foreach(rows, i, row)
    {
        const json_t *v = json_object_get(row, member);

        snprintf(number, sizeof number, "%lld", (long long)json_integer_value(v));
        found(ctx, json_is_string(v) ? json_string_value(v) : number);
    }
    json_decref(top);
}
