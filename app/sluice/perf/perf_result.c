/* SPDX-License-Identifier: BSD-3-Clause */
/* The result of a `sluice perf` test. */
#include "sluice/perf/perf_result.h"

#include <inttypes.h>
#include <stdio.h>

#include "console/text.h"
#include "sluice/perf/meter.h"

static uint64_t us(const struct timeval *t)
{
    return (uint64_t)t->tv_sec * 1000000 + (uint64_t)t->tv_usec;
}

void perf_result_start(struct perf_result *r, uint64_t now_ns)
{
    r->start_ns = now_ns;
    getrusage(RUSAGE_SELF, &r->before);
    if (r->stream_list == NULL)
        r->stream_list = json_array();
}

void perf_result_end(struct perf_result *r, uint64_t now_ns)
{
    struct rusage now;

    getrusage(RUSAGE_SELF, &now);
    r->end_ns = now_ns;
    r->cpu_user_us = us(&now.ru_utime) - us(&r->before.ru_utime);
    r->cpu_system_us = us(&now.ru_stime) - us(&r->before.ru_stime);
}

static void side_add(struct perf_side *sum, const struct perf_side *s)
{
    sum->bytes += s->bytes;
    sum->requests += s->requests;
    sum->units += s->units;
    sum->repeats += s->repeats;
    sum->wrong_bytes += s->wrong_bytes;
    if (s->time_ns > sum->time_ns)
        sum->time_ns = s->time_ns;
}

static double side_seconds(const struct perf_side *s)
{
    return (double)s->time_ns / 1e9;
}

static double side_bps(const struct perf_side *s)
{
    return s->time_ns == 0 ? 0 : (double)s->bytes * 8 / side_seconds(s);
}

static json_t *side_json(const struct perf_side *s)
{
    return json_pack("{sI sI sf sf sI sI sI}", "bytes", (json_int_t)s->bytes, "requests",
                     (json_int_t)s->requests, "seconds", side_seconds(s), "goodput_bps",
                     side_bps(s), "packets", (json_int_t)s->units, "repeats",
                     (json_int_t)s->repeats, "wrong_bytes", (json_int_t)s->wrong_bytes);
}

void perf_result_add(struct perf_result *r, const struct perf_side *tx, const struct perf_side *rx,
                     const struct sluice_stats *stats, const struct perf_report *report)
{
    bool sends = (r->parameters.flags & (r->server ? PERF_SERVER_SENDS : PERF_CLIENT_SENDS)) != 0;

    r->streams++;
    side_add(&r->tx, tx);
    side_add(&r->rx, rx);
    if (report != NULL) {
        r->peer_known = true;
        side_add(&r->other.tx, &report->tx);
        side_add(&r->other.rx, &report->rx);
        /* The server is one process: its last report has the CPU time of all streams. */
        r->other.cpu_user_us = report->cpu_user_us;
        r->other.cpu_system_us = report->cpu_system_us;
        r->other.memory_bytes += report->memory_bytes;
    }
    r->rate_grant_Bps += sends ? stats->tx_rate_Bps : stats->rx_rate_Bps;
    r->rtt_ns = stats->rtt_ns;
    r->unit_bytes = stats->unit_bytes;
    snprintf(r->peer, sizeof r->peer, "%s", stats->peer);
    json_array_append_new(r->stream_list,
                          json_pack("{so so}", "tx", side_json(tx), "rx", side_json(rx)));
}

/* The main figures: as measured where the data arrived, if that is known. Of two directions, their
 * sum. */
static struct perf_side result_main(const struct perf_result *r, double *bps)
{
    struct perf_side out = {0};
    const struct perf_side *there = r->peer_known ? &r->other.rx : &r->tx;

    *bps = 0;
    if (r->rx.requests > 0) {
        side_add(&out, &r->rx);
        *bps += side_bps(&r->rx);
    }
    if (r->tx.requests > 0) {
        side_add(&out, there);
        out.units += r->tx.units - there->units; /* lost units had to be sent, too */
        out.repeats += r->tx.repeats - there->repeats;
        *bps += side_bps(there);
    }
    return out;
}

static void result_row(const char *where, const struct perf_side *s, const char *what)
{
    char label[64];

    snprintf(label, sizeof label, "%s, %s", what, where);
    if (s->requests > 0)
        meter_line("SUM", 0, side_seconds(s), s->bytes, s->repeats, label);
    if (s->wrong_bytes > 0)
        printf("      %" PRIu64 " bytes were wrong\n", s->wrong_bytes);
}

static double cpu_percent(uint64_t cpu_us, uint64_t time_ns)
{
    return time_ns == 0 ? 0 : (double)cpu_us * 1e5 / (double)time_ns;
}

void perf_result_print(const struct perf_result *r)
{
    char grant[32], rtt[32];

    result_row("here", &r->tx, "sent");
    if (r->peer_known)
        result_row("there", &r->other.rx, "received");
    if (r->peer_known)
        result_row("there", &r->other.tx, "sent");
    result_row("here", &r->rx, "received");
    printf("%s: %u stream%s, granted %s, RTT %s, units of %u bytes, CPU %.1f %% here", r->peer,
           r->streams, r->streams == 1 ? "" : "s",
           text_rate(grant, sizeof grant, (double)r->rate_grant_Bps),
           text_time(rtt, sizeof rtt, r->rtt_ns), r->unit_bytes,
           cpu_percent(r->cpu_user_us + r->cpu_system_us, r->end_ns - r->start_ns));
    if (r->peer_known)
        printf(", %.1f %% there",
               cpu_percent(r->other.cpu_user_us + r->other.cpu_system_us, r->end_ns - r->start_ns));
    putchar('\n');
}

static json_t *result_config(const struct perf_result *r)
{
    const struct perf_start *p = &r->parameters;
    json_t *j =
        json_pack("{sI sI sI sI sI sI}", "request_bytes", (json_int_t)p->request_bytes, "parallel",
                  (json_int_t)p->streams, "outstanding", (json_int_t)p->outstanding, "total_bytes",
                  (json_int_t)p->limit_bytes * (json_int_t)p->streams, "memory_bytes",
                  (json_int_t)r->memory_bytes, "peer_memory_bytes",
                  r->server ? (json_int_t)p->memory_bytes * (json_int_t)p->streams
                            : (json_int_t)r->other.memory_bytes);

    json_object_set_new(j, "duration_s", json_real((double)p->duration_ns / 1e9));
    json_object_set_new(j, "client_sends", json_boolean((p->flags & PERF_CLIENT_SENDS) != 0));
    json_object_set_new(j, "server_sends", json_boolean((p->flags & PERF_SERVER_SENDS) != 0));
    json_object_set_new(j, "check", json_boolean((p->flags & PERF_CHECK) != 0));
    json_object_set_new(j, "go_back_n", json_boolean(r->go_back_n));
    json_object_set_new(j, "sync", json_boolean(r->sync));
    return j;
}

static json_t *result_cpu(uint64_t user_us, uint64_t system_us, uint64_t time_ns)
{
    return json_pack("{sf sf sf}", "user_s", (double)user_us / 1e6, "system_s",
                     (double)system_us / 1e6, "percent", cpu_percent(user_us + system_us, time_ns));
}

void perf_result_json(const struct perf_result *r, json_t *intervals)
{
    double bps;
    struct perf_side m = result_main(r, &bps);
    uint64_t time_ns = r->end_ns - r->start_ns;
    json_t *j = json_pack(
        "{ss ss si sI sf sf sI sI sI sI sI sI so}", "command",
        r->server ? "perf server" : "perf client", "peer", r->peer, "exit", r->exit_code, "bytes",
        (json_int_t)m.bytes, "seconds", side_seconds(&m), "goodput_bps", bps, "packets",
        (json_int_t)m.units, "repeats", (json_int_t)m.repeats, "wrong_bytes",
        (json_int_t)m.wrong_bytes, "rate_grant_Bps", (json_int_t)r->rate_grant_Bps, "rtt_ns",
        (json_int_t)r->rtt_ns, "unit_bytes", (json_int_t)r->unit_bytes, "config", result_config(r));

    json_object_set_new(j, "tx", side_json(&r->tx));
    json_object_set_new(j, "rx", side_json(&r->rx));
    json_object_set_new(j, "cpu", result_cpu(r->cpu_user_us, r->cpu_system_us, time_ns));
    if (r->peer_known) {
        json_object_set_new(j, "peer_tx", side_json(&r->other.tx));
        json_object_set_new(j, "peer_rx", side_json(&r->other.rx));
        json_object_set_new(j, "peer_cpu",
                            result_cpu(r->other.cpu_user_us, r->other.cpu_system_us, time_ns));
    }
    json_object_set(j, "streams", r->stream_list);
    if (intervals != NULL)
        json_object_set(j, "intervals", intervals);
    json_dumpf(j, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9));
    putchar('\n');
    json_decref(j);
}

void perf_result_free(struct perf_result *r)
{
    json_decref(r->stream_list);
    r->stream_list = NULL;
}
