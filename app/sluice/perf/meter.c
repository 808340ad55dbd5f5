/* SPDX-License-Identifier: BSD-3-Clause */
/* Figures of `sluice perf` over time. */
#include "sluice/perf/meter.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "console/text.h"
#include "sluice/say.h"

int meter_open(struct meter *m, uint64_t interval_ns, bool lines, const char *rates_path)
{
    memset(m, 0, sizeof *m);
    m->interval_ns = interval_ns;
    m->lines = lines;
    m->intervals = json_array();
    return rates_open(&m->rates, rates_path);
}

int meter_close(struct meter *m)
{
    json_decref(m->intervals);
    m->intervals = NULL;
    return rates_close(&m->rates);
}

void meter_start(struct meter *m, uint64_t now_ns, uint32_t streams, bool tx, bool rx)
{
    m->start_ns = m->last_ns = now_ns;
    m->streams = streams;
    m->tx = tx;
    m->rx = rx;
    memset(m->now, 0, sizeof m->now);
    memset(m->last, 0, sizeof m->last);
    json_array_clear(m->intervals);
}

uint64_t meter_next(const struct meter *m)
{
    uint64_t rates = rates_next(&m->rates);
    uint64_t interval = m->interval_ns == 0 ? UINT64_MAX : m->last_ns + m->interval_ns;

    if (m->start_ns == 0)
        return UINT64_MAX;
    return rates < interval ? rates : interval;
}

void meter_line(const char *id, double from_s, double to_s, uint64_t bytes, uint64_t repeats,
                const char *what)
{
    char amount[32], rate[32];
    double seconds = to_s - from_s;

    printf("[%3s] %7.2f-%-7.2f s  %10s  %10s  %8" PRIu64 "  %s\n", id, from_s, to_s,
           text_bytes(amount, sizeof amount, (double)bytes),
           text_rate(rate, sizeof rate, seconds > 0 ? (double)bytes / seconds : 0), repeats, what);
}

static void meter_lines(const struct meter *m, uint32_t i, double from_s, double to_s)
{
    const struct meter_point *now = &m->now[i], *last = &m->last[i];
    char id[16] = "SUM";

    if (i < METER_SUM)
        snprintf(id, sizeof id, "%u", i + 1);
    if (m->tx)
        meter_line(id, from_s, to_s, now->tx_bytes - last->tx_bytes, now->repeats - last->repeats,
                   "sent");
    if (m->rx)
        meter_line(id, from_s, to_s, now->rx_bytes - last->rx_bytes,
                   m->tx ? 0 : now->repeats - last->repeats, "received");
}

static void meter_interval(struct meter *m, uint64_t now_ns)
{
    double from_s = (double)(m->last_ns - m->start_ns) / 1e9;
    double to_s = (double)(now_ns - m->start_ns) / 1e9, seconds = to_s - from_s;
    const struct meter_point *now = &m->now[METER_SUM], *last = &m->last[METER_SUM];
    uint64_t tx = now->tx_bytes - last->tx_bytes, rx = now->rx_bytes - last->rx_bytes;
    uint32_t i;

    for (i = 0; m->lines && m->streams <= METER_STREAM_LINES && i < m->streams; i++)
        meter_lines(m, i, from_s, to_s);
    if (m->lines && m->streams > 1)
        meter_lines(m, METER_SUM, from_s, to_s);
    fflush(stdout);
    json_array_append_new(m->intervals,
                          json_pack("{sf sf sI sf sI sf sI}", "start_s", from_s, "end_s", to_s,
                                    "tx_bytes", (json_int_t)tx, "tx_bps", (double)tx * 8 / seconds,
                                    "rx_bytes", (json_int_t)rx, "rx_bps", (double)rx * 8 / seconds,
                                    "repeats", (json_int_t)(now->repeats - last->repeats)));
    memcpy(m->last, m->now, sizeof m->last);
    m->last_ns = now_ns;
}

/* The counters in one struct sluice_stats may be from different moments. So the bytes computed from
 * them may be fewer than at the previous call; the larger number is kept. */
static void meter_point(struct meter_point *p, const struct sluice_stats *s, bool tx)
{
    uint64_t again = s->tx_repeats * s->unit_bytes;
    uint64_t sent = s->tx_bytes > again ? s->tx_bytes - again : 0;

    p->tx_bytes = sent > p->tx_bytes ? sent : p->tx_bytes;
    p->rx_bytes = s->rx_bytes > p->rx_bytes ? s->rx_bytes : p->rx_bytes;
    p->repeats = tx ? s->tx_repeats : s->rx_lost;
}

void meter_sample(struct meter *m, uint64_t now_ns, struct sluice_conn *const *conns, uint32_t n,
                  bool last)
{
    struct meter_point *sum = &m->now[METER_SUM];
    struct sluice_stats stats;
    struct flow f = {.outward = m->tx && !m->rx};
    uint32_t i;

    if (m->start_ns == 0 || (now_ns < meter_next(m) && !last))
        return;
    memset(sum, 0, sizeof *sum);
    for (i = 0; i < n && i < METER_SUM; i++) {
        if (conns[i] != NULL) {
            sluice_conn_stats(conns[i], &stats);
            meter_point(&m->now[i], &stats, m->tx);
            flow_add(&f, &stats, m->tx);
        }
        sum->tx_bytes += m->now[i].tx_bytes;
        sum->rx_bytes += m->now[i].rx_bytes;
        sum->repeats += m->now[i].repeats;
    }
    /* Unlike flow_add(), the sums include connections that have closed. */
    f.tx_bytes = sum->tx_bytes;
    f.rx_bytes = sum->rx_bytes;
    rates_sample(&m->rates, now_ns, &f);
    if (m->interval_ns == 0)
        return;
    /* A last interval of a few milliseconds would show nonsense. */
    if (now_ns >= m->last_ns + m->interval_ns ||
        (last && now_ns >= m->last_ns + m->interval_ns / 10))
        meter_interval(m, now_ns);
}
