/* SPDX-License-Identifier: BSD-3-Clause */
/* The paths of open connections, as one list made of two of the daemon's: "conns", and "spread",
 * which says how much delays varied. See view.h. */
#include <string.h>

#include "sluice/view/view.h"

static json_int_t number(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

static const char *text(const json_t *o, const char *key)
{
    const char *t = json_string_value(json_object_get(o, key));

    return t != NULL ? t : "";
}

/* part / whole in millionths; 0 if whole is 0. */
static json_t *share(json_int_t part, json_int_t whole)
{
    return json_integer(whole > 0 ? (json_int_t)((double)part * 1e6 / (double)whole + 0.5) : 0);
}

/* True if `why`, the reason of a grant, means that the path limits it: doc/control.md. */
static bool path_decides(const char *why)
{
    return strcmp(why, "loss") == 0 || strcmp(why, "queue") == 0 || strcmp(why, "competing") == 0 ||
           strcmp(why, "ecn") == 0;
}

/* The row of `spreads` for a connection. Both lists have the same order, so the search begins at
 * *at, where the previous row was found. */
static const json_t *spread_of(const json_t *spreads, const json_t *conn, size_t *at)
{
    size_t n = json_array_size(spreads), i;

    for (i = 0; i < n; i++, *at = (*at + 1) % n) {
        const json_t *row = json_array_get(spreads, *at);

        if (number(row, "conn") == number(conn, "conn") &&
            number(row, "worker") == number(conn, "worker") &&
            strcmp(text(row, "port"), text(conn, "port")) == 0)
            return row;
    }
    return NULL;
}

static void members_copy(json_t *to, const json_t *from, const char *const *keys)
{
    for (; *keys != NULL; keys++)
        if (json_object_get(from, *keys) != NULL)
            json_object_set(to, *keys, json_object_get(from, *keys));
}

static json_t *path_row(const json_t *conn, const json_t *spread)
{
    static const char *const first[] = {"port",       "worker",      "conn",   "peer", "rtt_ns",
                                        "unit_bytes", "rx_rate_Bps", "rx_why", NULL},
                             *const then[] = {"rx_momentary_Bps", "rx_lost", NULL},
                             *const delays[] = {"increment_p50_ns", "increment_p99_ns", NULL},
                             *const last[] = {"tx_rate_Bps", "tx_repeats", NULL};
    json_int_t lost = number(conn, "rx_lost");
    json_int_t came =
        number(conn, "rx_units") + number(conn, "rx_duplicates") + number(conn, "rx_unposted");
    json_t *o = json_object();

    members_copy(o, conn, first);
    if (path_decides(text(conn, "rx_why")))
        json_object_set(o, "rx_path_Bps", json_object_get(conn, "rx_rate_Bps"));
    members_copy(o, conn, then);
    json_object_set_new(o, "rx_lost_ppm", share(lost, came + lost));
    members_copy(o, spread, delays);
    members_copy(o, conn, last);
    json_object_set_new(o, "tx_repeats_ppm",
                        share(number(conn, "tx_repeats"), number(conn, "tx_units")));
    return o;
}

json_t *path_rows(struct sluice *s, json_t **rows, int *status, char *err, size_t err_len)
{
    json_t *conns, *spreads, *conn, *delays = NULL, *out;
    json_t *top = daemon_list(s, "conns", &conns, status, err, err_len);
    size_t i, at = 0;

    if (top != NULL)
        delays = daemon_list(s, "spread", &spreads, status, err, err_len);
    if (delays == NULL) {
        json_decref(top);
        return NULL;
    }
    out = json_object();
    *rows = json_array();
    json_object_set(out, "uptime_ns", json_object_get(top, "uptime_ns"));
    json_object_set_new(out, "path", *rows);
    json_array_foreach(conns, i, conn)
    {
        if (strcmp(text(conn, "state"), "open") == 0)
            json_array_append_new(*rows, path_row(conn, spread_of(spreads, conn, &at)));
    }
    json_decref(delays);
    json_decref(top);
    return out;
}
