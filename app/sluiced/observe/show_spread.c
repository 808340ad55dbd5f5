/* SPDX-License-Identifier: BSD-3-Clause */
/* How delays, rates and latencies of connections vary: quantiles, and histograms as arrays of
 * counts by powers of two (base/spread.h). Writes JSON as text, for the reason in trace_show.c. */
#include "sluiced/observe/show_spread.h"

#include <inttypes.h>
#include <stdlib.h>

#include "sluiced/observe/put.h"
#include "sluiced/observe/viewer.h"
#include "wire/addr.h"

static void put_spread(FILE *f, const char *what, const char *unit, const struct spread *s)
{
    fprintf(f,
            ",\"%s_count\":%" PRIu64 ",\"%s_sum%s\":%" PRIu64 ",\"%s_p50%s\":%" PRIu64
            ",\"%s_p99%s\":%" PRIu64 ",\"%s\":[",
            what, spread_count(s), what, unit, s->sum, what, unit, spread_quantile(s, 50, 100),
            what, unit, spread_quantile(s, 99, 100), what);
    for (uint32_t k = 0; k < SPREAD_BUCKETS; k++)
        fprintf(f, "%s%" PRIu64, k > 0 ? "," : "", s->n[k]);
    putc(']', f);
}

bool show_spread(FILE *f, const char *before, const struct port_queue *q, uint32_t number)
{
    struct host_conn_info info;
    struct host_conn_spread s;
    char peer[ADDR_TEXT_MAX], *port;

    if (!host_conn_info(q->host, number, &info) || !host_conn_spread(q->host, number, &s))
        return false;
    port = put_quoted(q->port->cfg->name);
    if (port == NULL)
        return false;
    fprintf(f, "%s{\"port\":%s,\"worker\":%u,\"conn\":%" PRIu32 ",\"peer\":\"%s\"", before, port,
            q->queue, number, addr_format(&info.peer, peer));
    put_spread(f, "increment", "_ns", &s.increment_ns);
    put_spread(f, "momentary", "_Bps", &s.momentary_Bps);
    put_spread(f, "latency", "_ns", &s.latency_ns);
    putc('}', f);
    free(port);
    return true;
}

static bool seen(const struct daemon *d, const struct access_user *viewer, uint32_t queue,
                 uint32_t number)
{
    struct host_conn_info info;

    return host_conn_info(d->hosts[queue], number, &info) && viewer_sees_conn(d, viewer, &info);
}

char *show_spreads(const struct daemon *d, const struct access_user *viewer, uint64_t uptime_ns)
{
    const char *between = "";
    struct put_file text;

    if (!put_file_open(&text))
        return NULL;
    viewer_begin(text.f, viewer, uptime_ns, "spread");
    for (uint32_t i = 0; i < d->n_queues; i++)
        for (uint32_t k = 0; k < host_conn_limit(d->hosts[i]); k++)
            if (seen(d, viewer, i, k) && show_spread(text.f, between, &d->queues[i], k))
                between = ",";
    fputs("]}", text.f);
    return put_file_text(&text);
}
