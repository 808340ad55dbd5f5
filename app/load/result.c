/* SPDX-License-Identifier: BSD-3-Clause */
#include "load/result.h"

#include <inttypes.h>
#include <jansson.h>

#include <rte_common.h>

#include "base/value.h"

static const struct {
    const char *name;
    uint64_t parts; /* of 1000 */
} quantiles[] = {{"p50", 500}, {"p90", 900}, {"p99", 990}, {"p999", 999}};

/* See result_loss(). */
static uint64_t lost(const struct result *r)
{
    if (r->listening)
        return r->missing;
    return r->sent > r->received ? r->sent - r->received : 0;
}

double result_loss(const struct result *r)
{
    uint64_t of = r->listening ? r->received + r->missing : r->sent;

    return of > 0 ? (double)lost(r) / (double)of : 0;
}

void result_add(struct result *sum, const struct result *r)
{
    sum->seconds = RTE_MAX(sum->seconds, r->seconds);
    sum->rx_seconds = RTE_MAX(sum->rx_seconds, r->rx_seconds);
    sum->requested_pps += r->requested_pps;
    sum->link_bps += r->link_bps;
    sum->sent += r->sent;
    sum->sent_bytes += r->sent_bytes;
    sum->refused += r->refused;
    sum->received += r->received;
    sum->duplicates += r->duplicates;
    sum->reordered += r->reordered;
    sum->beyond += r->beyond;
    sum->missing += r->missing;
    sum->flows_seen += r->flows_seen;
    sum->arrived += r->arrived;
    sum->arrived_bytes += r->arrived_bytes;
    sum->earlier += r->earlier;
    sum->corrupt += r->corrupt;
    sum->foreign += r->foreign;
    histogram_join(&sum->latency, &r->latency);
    histogram_join(&sum->displacement, &r->displacement);
    histogram_join(&sum->late, &r->late);
}

static double rate(uint64_t n, double seconds)
{
    return seconds > 0 ? (double)n / seconds : 0;
}

static double l2_bps(uint64_t bytes, double seconds)
{
    return rate(bytes * 8, seconds);
}

static double line_bps(uint64_t bytes, uint64_t frames, double seconds)
{
    return rate((bytes + frames * PLAN_LINE_EXTRA) * 8, seconds);
}

/* ---- for people --------------------------------------------------------------------------- */

static void count_show(const char *what, uint64_t n, FILE *out)
{
    if (n > 0)
        fprintf(out, "; %s %" PRIu64, what, n);
}

static void rates_show(const char *what, uint64_t frames, uint64_t bytes, double seconds, FILE *out)
{
    fprintf(out, "  %-9s %12" PRIu64 " frames  %9.4f Mpps  %9.4f Gbit/s l2  %9.4f Gbit/s line\n",
            what, frames, rate(frames, seconds) * 1e-6, l2_bps(bytes, seconds) * 1e-9,
            line_bps(bytes, frames, seconds) * 1e-9);
}

static const char *ns_text(uint64_t ns, char *buf)
{
    return value_time_text(ns, buf);
}

static void times_show(const char *what, const struct histogram *h, FILE *out)
{
    char text[VALUE_TEXT_MAX];

    if (histogram_count(h) == 0)
        return;
    fprintf(out, "  %-9s min %s", what, ns_text(histogram_min(h), text));
    fprintf(out, ", mean %s", ns_text(histogram_mean(h), text));
    for (unsigned int i = 0; i < RTE_DIM(quantiles); i++)
        fprintf(out, ", %s %s", quantiles[i].name,
                ns_text(histogram_quantile(h, quantiles[i].parts, 1000), text));
    fprintf(out, ", max %s\n", ns_text(h->max, text));
}

void result_table(const struct result *r, FILE *out)
{
    fprintf(out, "size %s, rate %s, flows %u, %.3f s%s\n", r->plan->size, r->plan->rate,
            r->plan->flows.count, r->seconds, r->interrupted ? ", interrupted" : "");
    if (!r->listening)
        rates_show("sent", r->sent, r->sent_bytes, r->seconds, out);
    rates_show("arrived", r->arrived, r->arrived_bytes, r->rx_seconds, out);
    if (r->requested_pps > 0)
        fprintf(out, "  offered   %.4f of %.4f Mpps requested\n",
                rate(r->sent + r->refused, r->seconds) * 1e-6, r->requested_pps * 1e-6);
    if (r->counts) {
        fputs("  only counted (--count)", out);
        count_show("refused by the port", r->refused, out);
        fputc('\n', out);
        times_show("sent late", &r->late, out);
        fflush(out);
        return;
    }
    fprintf(out, "  received %" PRIu64 "; lost %" PRIu64 " (%.6f%%); duplicates %" PRIu64,
            r->received, lost(r), 100 * result_loss(r), r->duplicates);
    fprintf(out, "; reordered %" PRIu64, r->reordered);
    if (r->reordered > 0)
        fprintf(out, ", by %" PRIu64 " of their flow at most", r->displacement.max);
    count_show("refused by the port", r->refused, out);
    count_show("too late to judge", r->beyond, out);
    count_show("of another window", r->earlier, out);
    count_show("corrupt", r->corrupt, out);
    count_show("foreign", r->foreign, out);
    fputc('\n', out);
    times_show("sent late", &r->late, out);
    times_show("latency", &r->latency, out);
    fflush(out);
}

/* ---- for programs ------------------------------------------------------------------------- */

static json_t *histogram_json(const struct histogram *h)
{
    uint64_t count = histogram_count(h);
    json_t *o = json_object();

    json_object_set_new(o, "count", json_integer((json_int_t)count));
    if (count == 0)
        return o;
    json_object_set_new(o, "min", json_integer((json_int_t)histogram_min(h)));
    json_object_set_new(o, "mean", json_real((double)h->sum / (double)count));
    for (unsigned int i = 0; i < RTE_DIM(quantiles); i++)
        json_object_set_new(
            o, quantiles[i].name,
            json_integer((json_int_t)histogram_quantile(h, quantiles[i].parts, 1000)));
    json_object_set_new(o, "max", json_integer((json_int_t)h->max));
    return o;
}

static void count_set(json_t *o, const char *name, uint64_t n)
{
    json_object_set_new(o, name, json_integer((json_int_t)n));
}

static void real_set(json_t *o, const char *name, double value)
{
    json_object_set_new(o, name, json_real(value));
}

static json_t *counts_json(const struct result *r)
{
    json_t *o = json_object();

    real_set(o, "seconds", r->seconds);
    real_set(o, "rx_seconds", r->rx_seconds);
    json_object_set_new(o, "requested_pps",
                        r->requested_pps > 0 ? json_real(r->requested_pps) : json_null());
    real_set(o, "offered_pps", rate(r->sent + r->refused, r->seconds));
    real_set(o, "tx_pps", rate(r->sent, r->seconds));
    real_set(o, "rx_pps", rate(r->arrived, r->rx_seconds));
    real_set(o, "tx_l2_bps", l2_bps(r->sent_bytes, r->seconds));
    real_set(o, "tx_line_bps", line_bps(r->sent_bytes, r->sent, r->seconds));
    real_set(o, "rx_l2_bps", l2_bps(r->arrived_bytes, r->rx_seconds));
    real_set(o, "rx_line_bps", line_bps(r->arrived_bytes, r->arrived, r->rx_seconds));
    json_object_set_new(o, "link_bps", r->link_bps > 0 ? json_real(r->link_bps) : json_null());
    count_set(o, "sent", r->sent);
    count_set(o, "refused", r->refused);
    count_set(o, "arrived", r->arrived);
    json_object_set_new(o, "late_ns", histogram_json(&r->late));
    if (r->counts)
        return o;
    count_set(o, "received", r->received);
    count_set(o, "lost", lost(r));
    real_set(o, "loss", result_loss(r));
    count_set(o, "duplicates", r->duplicates);
    count_set(o, "reordered", r->reordered);
    count_set(o, "beyond", r->beyond);
    count_set(o, "corrupt", r->corrupt);
    count_set(o, "foreign", r->foreign);
    count_set(o, "earlier", r->earlier);
    count_set(o, "flows_seen", r->flows_seen);
    json_object_set_new(o, "displacement", histogram_json(&r->displacement));
    json_object_set_new(o, "latency_ns", histogram_json(&r->latency));
    return o;
}

static json_t *window_json(const struct result *sum)
{
    json_t *o = json_object();

    json_object_set_new(o, "size", json_string(sum->plan->size));
    json_object_set_new(o, "rate", json_string(sum->plan->rate));
    count_set(o, "flows", sum->plan->flows.count);
    json_object_set_new(o, "interrupted", json_boolean(sum->interrupted));
    json_object_update_new(o, counts_json(sum));
    return o;
}

void result_json(const struct result *sum, const struct result *directions, unsigned int n,
                 FILE *out)
{
    json_t *o = window_json(sum), *list;

    if (n > 1) {
        list = json_array();
        for (unsigned int i = 0; i < n; i++)
            json_array_append_new(list, counts_json(&directions[i]));
        json_object_set_new(o, "directions", list);
    }
    json_dumpf(o, out, JSON_REAL_PRECISION(12));
    json_decref(o);
    fputc('\n', out);
    fflush(out);
}

/* ---- CSV: a column for each value of the JSON ---------------------------------------------- */

#define PARTS(name, object, unit)                                                                  \
    {name "_count", object, "count"}, {name "_min" unit, object, "min"},                           \
        {name "_mean" unit, object, "mean"}, {name "_p50" unit, object, "p50"},                    \
        {name "_p90" unit, object, "p90"}, {name "_p99" unit, object, "p99"},                      \
        {name "_p999" unit, object, "p999"},                                                       \
    {                                                                                              \
        name "_max" unit, object, "max"                                                            \
    }
#define COLUMN(name)                                                                               \
    {                                                                                              \
        name, name, NULL                                                                           \
    }

static const struct {
    const char *name, *member;
    const char *part; /* of the histogram that the member is; NULL: the member is the value */
} columns[] = {
    COLUMN("size"),
    COLUMN("rate"),
    COLUMN("flows"),
    COLUMN("interrupted"),
    COLUMN("seconds"),
    COLUMN("rx_seconds"),
    COLUMN("requested_pps"),
    COLUMN("offered_pps"),
    COLUMN("tx_pps"),
    COLUMN("rx_pps"),
    COLUMN("tx_l2_bps"),
    COLUMN("tx_line_bps"),
    COLUMN("rx_l2_bps"),
    COLUMN("rx_line_bps"),
    COLUMN("link_bps"),
    COLUMN("sent"),
    COLUMN("refused"),
    COLUMN("arrived"),
    COLUMN("received"),
    COLUMN("lost"),
    COLUMN("loss"),
    COLUMN("duplicates"),
    COLUMN("reordered"),
    PARTS("displacement", "displacement", ""),
    COLUMN("beyond"),
    COLUMN("corrupt"),
    COLUMN("foreign"),
    COLUMN("earlier"),
    COLUMN("flows_seen"),
    PARTS("latency", "latency_ns", "_ns"),
    PARTS("late", "late_ns", "_ns"),
};

/* A cell without quotes: sizes and rates have no commas, which separate those of several windows.
 * What is not known is empty. */
static void cell_print(const json_t *value, FILE *out)
{
    if (json_is_string(value))
        fputs(json_string_value(value), out);
    else if (value != NULL && !json_is_null(value))
        json_dumpf(value, out, JSON_ENCODE_ANY | JSON_REAL_PRECISION(12));
}

void result_csv_head(FILE *out)
{
    for (unsigned int i = 0; i < RTE_DIM(columns); i++)
        fprintf(out, "%s%s", i > 0 ? "," : "", columns[i].name);
    fputc('\n', out);
}

void result_csv(const struct result *r, FILE *out)
{
    json_t *o = window_json(r);

    for (unsigned int i = 0; i < RTE_DIM(columns); i++) {
        const json_t *value = json_object_get(o, columns[i].member);

        if (i > 0)
            fputc(',', out);
        cell_print(columns[i].part != NULL ? json_object_get(value, columns[i].part) : value, out);
    }
    json_decref(o);
    fputc('\n', out);
    fflush(out);
}
