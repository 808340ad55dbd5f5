/* SPDX-License-Identifier: BSD-3-Clause */
#include "emu/report.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>

#include "base/value.h"
#include "emu/sum.h"

/* ---- for people --------------------------------------------------------------------------- */

static const char *time_text(const struct box *b, uint64_t cycles, char *buf)
{
    return value_time_text(clock_ns(&b->clock, cycles), buf);
}

/* Prints nothing if n is 0. */
static void count_show(const char *what, uint64_t n, FILE *out)
{
    if (n > 0)
        fprintf(out, "; %s %" PRIu64, what, n);
}

static void element_show(const struct box *b, const struct path_element_info *e, FILE *out)
{
    const struct path_element_counts *c = e->counts;
    char text[64], a[VALUE_TEXT_MAX], m[VALUE_TEXT_MAX], z[VALUE_TEXT_MAX];

    snprintf(text, sizeof text, "%*s%.40s", (int)(2 * e->depth), "", e->text);
    fprintf(out, "  %-34s %12" PRIu64 " %12" PRIu64 " %10" PRIu64 " %8.4f%%", text, c->in_packets,
            c->out_packets, c->dropped,
            c->in_packets > 0 ? 100.0 * (double)c->dropped / (double)c->in_packets : 0.0);
    if (e->delay != NULL && histogram_count(e->delay) > 0)
        fprintf(out, "  %s mean, %s, %s 99%%; queue %" PRIu64,
                time_text(b, histogram_mean(e->delay), a),
                time_text(b, histogram_quantile(e->delay, 1, 2), m),
                time_text(b, histogram_quantile(e->delay, 99, 100), z), c->queued_packets_max);
    count_show("marked", c->marked, out);
    count_show("copied", c->copied, out);
    count_show("changed", c->changed, out);
    count_show("reordered", c->reordered, out);
    count_show("shared", c->shared, out);
    if (c->cells > 0)
        fprintf(out, "; cells %" PRIu64 ", %" PRIu64 " beyond", c->cells, c->cells_excess);
    fputc('\n', out);
}

/* Prints how many frames the kernel had left to a device to finish, and what became of them
 * here. */
static void offload_show(const struct offload_counts *c, FILE *out)
{
    count_show("checksums completed", c->summed, out);
    count_show("TCP frames cut", c->cut, out);
    count_show("beyond --mtu, no TCP", c->drop_large, out);
    count_show("beyond framesz", c->drop_truncated, out);
    count_show("no buffer for a part", c->drop_no_mbuf, out);
}

static void direction_show(const struct box *b, unsigned int i, FILE *out)
{
    const struct cable_counts *w;
    const struct path_counts *c;
    struct sum_element e;
    struct sum s;
    char m[VALUE_TEXT_MAX], z[VALUE_TEXT_MAX];

    sum_direction(b, i, &s);
    w = &s.cable;
    c = &s.path;
    fprintf(out, "%s, %s to %s: %s\n", box_direction[i], b->port[i].name, b->port[1 - i].name,
            b->spec[i][0] != '\0' ? b->spec[i] : "a wire");
    fprintf(out, "  %-34s %12s %12s %10s %9s  %s\n", "element", "in", "out", "dropped", "",
            "delay, and longest queue");
    for (uint32_t k = 0; sum_element(b, i, k, &e); k++)
        element_show(b, &e.info, out);
    fprintf(out, "  %-34s %12" PRIu64 " %12" PRIu64 " %10" PRIu64, "box", w->rx_packets,
            w->tx_packets, c->drop_full + w->tx_dropped);
    fprintf(out, "            held %" PRIu64, c->held_packets);
    count_show("beyond --packets", c->drop_full, out);
    count_show("no buffer for a copy", c->drop_no_mbuf, out);
    if (w->tx_dropped > 0)
        fprintf(out, "; refused by %s %" PRIu64, b->port[1 - i].name, w->tx_dropped);
    if (b->interface[i].is)
        offload_show(&s.offload, out);
    if (histogram_count(&w->late) > 0)
        fprintf(out, "; late %s, %s 99%%", time_text(b, histogram_quantile(&w->late, 1, 2), m),
                time_text(b, histogram_quantile(&w->late, 99, 100), z));
    fputc('\n', out);
}

void report_show(const struct box *b, FILE *out)
{
    for (unsigned int i = 0; i < 2; i++)
        direction_show(b, i, out);
    fflush(out);
}

void report_rates(const struct box *b, struct report_rates *last, FILE *out)
{
    uint64_t now = rte_rdtsc();
    double s = (double)(now - last->at) / (double)b->clock.hz;

    for (unsigned int i = 0; i < 2; i++) {
        uint64_t rx, tx, bytes;
        struct sum sum;

        sum_direction(b, i, &sum);
        rx = sum.cable.rx_packets;
        tx = sum.cable.tx_packets;
        bytes = sum.cable.tx_bytes;
        if (last->at != 0)
            fprintf(out, "%s%s: in %.3f, out %.3f Mpps, %.3f Gbit/s, held %" PRIu64,
                    i == 0 ? "" : "; ", box_direction[i], (double)(rx - last->rx[i]) / s * 1e-6,
                    (double)(tx - last->tx[i]) / s * 1e-6,
                    (double)(bytes - last->bytes[i]) * 8 / s * 1e-9, sum.path.held_packets);
        last->rx[i] = rx;
        last->tx[i] = tx;
        last->bytes[i] = bytes;
    }
    if (last->at != 0)
        fputc('\n', out);
    last->at = now;
    fflush(out);
}

/* ---- for programs ------------------------------------------------------------------------- */

/* A histogram as JSON. cycles: the values are in cycles, and are converted to ns. buckets: also
 * lists the histogram's buckets. */
static json_t *histogram_json(const struct box *b, const struct histogram *h, bool cycles,
                              bool buckets)
{
    static const struct {
        const char *name;
        uint64_t parts;
    } parts[] = {{"p50", 5000}, {"p90", 9000}, {"p99", 9900}, {"p999", 9990}};
    json_t *o = json_object();
    uint64_t count = histogram_count(h);
    double scale = cycles ? 1e9 / (double)b->clock.hz : 1;

    json_object_set_new(o, "count", json_integer((json_int_t)count));
    json_object_set_new(o, "min", json_real((double)histogram_min(h) * scale));
    json_object_set_new(o, "mean", json_real(histogram_average(h) * scale));
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        json_object_set_new(
            o, parts[i].name,
            json_real((double)histogram_quantile(h, parts[i].parts, 10000) * scale));
    json_object_set_new(o, "max", json_real((double)h->max * scale));
    if (buckets) {
        json_t *list = json_array();

        for (uint32_t k = 0; k < HISTOGRAM_BUCKETS; k++)
            if (h->buckets[k] > 0)
                json_array_append_new(list, json_pack("[f,I]", (double)histogram_floor(k) * scale,
                                                      (json_int_t)h->buckets[k]));
        json_object_set_new(o, "buckets", list);
    }
    return o;
}

static json_t *element_json(const struct box *b, const struct path_element_info *e)
{
    json_t *o = json_pack("{s:s,s:s,s:i,s:i}", "kind", e->kind, "text", e->text, "depth",
                          (int)e->depth, "instance", (int)e->instance);

#define X(name) json_object_set_new(o, #name, json_integer((json_int_t)e->counts->name));
    PATH_ELEMENT_COUNTERS(X)
#undef X
    if (e->delay != NULL) {
        json_object_set_new(o, "delay_ns", histogram_json(b, e->delay, true, false));
        json_object_set_new(o, "queue_packets", histogram_json(b, e->queue, false, false));
    }
    return o;
}

static json_t *offload_json(const struct offload_counts *c)
{
    return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I}", "summed", (json_int_t)c->summed, "cut",
                     (json_int_t)c->cut, "segments", (json_int_t)c->segments, "drop_large",
                     (json_int_t)c->drop_large, "drop_truncated", (json_int_t)c->drop_truncated,
                     "drop_no_mbuf", (json_int_t)c->drop_no_mbuf);
}

static json_t *direction_json(const struct box *b, unsigned int i)
{
    json_t *o = json_object(), *list = json_array();
    const struct cable_counts *w;
    const struct path_counts *c;
    struct sum_element e;
    struct sum s;

    sum_direction(b, i, &s);
    w = &s.cable;
    c = &s.path;
    json_object_set_new(o, "spec", json_string(b->spec[i]));
    json_object_set_new(o, "from", json_string(b->port[i].name));
    json_object_set_new(o, "to", json_string(b->port[1 - i].name));
    json_object_set_new(o, "paths", json_integer(b->layout.paths[i]));
    json_object_set_new(o, "rx_packets", json_integer((json_int_t)w->rx_packets));
    json_object_set_new(o, "rx_bytes", json_integer((json_int_t)w->rx_bytes));
    json_object_set_new(o, "tx_packets", json_integer((json_int_t)w->tx_packets));
    json_object_set_new(o, "tx_bytes", json_integer((json_int_t)w->tx_bytes));
    json_object_set_new(o, "tx_dropped", json_integer((json_int_t)w->tx_dropped));
    json_object_set_new(o, "drop_full", json_integer((json_int_t)c->drop_full));
    json_object_set_new(o, "drop_no_mbuf",
                        json_integer((json_int_t)c->drop_no_mbuf + (json_int_t)w->drop_no_mbuf));
    json_object_set_new(o, "held_packets", json_integer((json_int_t)c->held_packets));
    if (b->interface[i].is)
        json_object_set_new(o, "offload", offload_json(&s.offload));
    json_object_set_new(o, "late_ns", histogram_json(b, &w->late, true, true));
    json_object_set_new(o, "round_ns", histogram_json(b, &w->round, true, true));
    for (uint32_t k = 0; sum_element(b, i, k, &e); k++)
        json_array_append_new(list, element_json(b, &e.info));
    json_object_set_new(o, "elements", list);
    return o;
}

int report_json(const struct box *b, const char *path)
{
    json_t *o = json_object();
    char temporary[4096];
    bool written;
    int rc;

    json_object_set_new(o, "time_s",
                        json_real((double)(rte_rdtsc() - b->start) / (double)b->clock.hz));
    json_object_set_new(o, "seed", json_integer((json_int_t)b->opt.seed));
    json_object_set_new(o, "queues", json_integer(b->layout.queues));
    json_object_set_new(o, "tsc_hz", json_integer((json_int_t)b->clock.hz));
    for (unsigned int i = 0; i < 2; i++)
        json_object_set_new(o, box_direction[i], direction_json(b, i));
    errno = 0;
    if (strcmp(path, "-") == 0) {
        written = json_dumpf(o, stdout, JSON_COMPACT) == 0 && fputc('\n', stdout) != EOF &&
                  fflush(stdout) == 0;
        rc = written ? 0 : errno != 0 ? -errno : -EIO;
    } else {
        snprintf(temporary, sizeof temporary, "%s.new", path);
        written = json_dump_file(o, temporary, JSON_INDENT(2)) == 0 && rename(temporary, path) == 0;
        rc = written ? 0 : errno != 0 ? -errno : -EIO;
        if (!written)
            unlink(temporary);
    }
    json_decref(o);
    return rc;
}
