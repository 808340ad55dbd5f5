/* SPDX-License-Identifier: BSD-3-Clause */
/* See tcp93.h. */
#include "lab/tcp93.h"

#include "sim/segment.h"

void tcp93_read(struct tcp93 *c, struct text *t, const char *section, const char *const *hosts,
                uint32_t n_hosts)
{
    c->name = text_name(section);
    text_ends(t, section, hosts, n_hosts, &c->from, &c->to);
    c->cfg.start = text_time(t, section, "start", "0");
    c->cfg.window_bytes = (uint32_t)text_size(t, section, "window", "65536");
    c->cfg.mss_bytes = (uint16_t)text_number(t, section, "mss", "1460", 64, 64000);
    c->cfg.limit_bytes = text_size(t, section, "bytes", "0");
    c->cfg.tick_ns = text_time(t, section, "tick", "500ms");
    c->cfg.open_at_once = text_yes(t, section, "open at once", "no");
    c->cfg.no_fast_retransmit = !text_yes(t, section, "fast retransmit", "yes");
    if (c->cfg.window_bytes < c->cfg.mss_bytes)
        text_wrong(t, section, "window", "is smaller than a segment of %u bytes; enlarge it",
                   c->cfg.mss_bytes);
}

static void was_read(void *ctx, uint32_t len_bytes, uint64_t now)
{
    struct tcp93 *c = ctx;

    c->read_bytes += len_bytes;
    (void)now;
}

void tcp93_open(struct tcp93 *c, const struct frame_route *there, const struct frame_route *back,
                uint64_t hz, struct rte_mempool *pool, uint64_t now)
{
    struct tahoe_receiver_config receiver = {
        .route = *back,
        .hz = hz,
        .window_bytes = c->cfg.window_bytes,
        .mss_bytes = c->cfg.mss_bytes,
        .pool = pool,
        .read = was_read,
        .ctx = c,
    };

    c->cfg.route = *there;
    c->cfg.hz = hz;
    c->cfg.start += now;
    c->cfg.pool = pool;
    tahoe_init(&c->tcp, &c->cfg, now);
    tahoe_receiver_init(&c->receiver, &receiver, now);
}

void tcp93_begin(struct tcp93 *c)
{
    c->read_before = c->read_bytes;
    c->before = c->tcp.counts;
}

void tcp93_sample(struct tcp93 *c, struct result *r, uint64_t now, uint64_t span_ns)
{
    if (c->rate == NULL) {
        c->rate = result_series(r, "bit/s", "throughput.%s", c->name);
        c->cwnd = result_series(r, "bytes", "cwnd.%s", c->name);
    }
    result_point(c->rate, now, (double)(c->read_bytes - c->read_last) * 8e9 / (double)span_ns);
    result_point(c->cwnd, now, (double)c->tcp.cwnd);
    c->read_last = c->read_bytes;
}

void tcp93_tell(const struct tcp93 *c, struct result *r, uint64_t span_ns)
{
    const struct tahoe_counts *now = &c->tcp.counts, *old = &c->before;

    result_value(r, (double)(c->read_bytes - c->read_before) * 8e9 / (double)span_ns, "bit/s",
                 "throughput.%s", c->name);
    result_value(r, (double)(now->segments - old->segments), "segments", "segments.%s", c->name);
    result_value(r, (double)(now->retransmitted - old->retransmitted), "segments", "repeats.%s",
                 c->name);
    result_value(r, (double)(now->timeouts - old->timeouts), "timeouts", "timeouts.%s", c->name);
    result_value(r, (double)(now->fast_retransmits - old->fast_retransmits), "times",
                 "fast_retransmits.%s", c->name);
}
