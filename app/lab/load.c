/* SPDX-License-Identifier: BSD-3-Clause */
/* See load.h. */
#include "lab/load.h"

#include <math.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/clock.h"

/* low bit of a connection's `owner`: 1 at the writer's end, 0 at the other */
#define OWNER_WRITER 1u

void load_read(struct load *l, struct text *t, const char *section, const char *const *hosts,
               uint32_t n_hosts, uint64_t until_ns)
{
    struct load_config *c = &l->cfg;

    c->name = text_name(section);
    text_ends(t, section, hosts, n_hosts, &c->from, &c->to);
    c->start_ns = text_time(t, section, "start", "0");
    c->stop_ns = text_time(t, section, "stop", "0");
    c->on_ns = text_time(t, section, "on", "0");
    c->off_ns = text_time(t, section, "off", "0");
    c->synchronous = text_yes(t, section, "synchronous", "no");
    c->request_bytes = text_size(t, section, "request", "256kB");
    c->requests = text_number(t, section, "requests", "0", 0, UINT32_MAX);
    c->tail_bytes = text_size(t, section, "tail", "0");
    c->tails = (uint32_t)text_number(t, section, "tails", "2", 1, 64);
    c->depth = (uint32_t)text_number(t, section, "depth", "16", 1, 1024);
    c->posted = (uint32_t)text_number(t, section, "posted", "16", 1, 1024);
    c->go_back_n = text_yes(t, section, "go back n", "no");
    c->stop_ns = c->stop_ns != 0 ? c->stop_ns : until_ns;
    if (c->request_bytes == 0 || c->request_bytes > 1u << 30)
        text_wrong(t, section, "request", "0, or above 1 GiB; choose another length");
    if (c->off_ns != 0 && c->on_ns == 0)
        text_wrong(t, section, "off",
                   "it needs \"on\" as well; add on, the time for which the load is on");
    if (c->tail_bytes != 0 && !c->synchronous)
        text_wrong(t, section, "tail",
                   "only synchronous writers copy tails; add synchronous = yes");
}

bool load_open(struct load *l, struct host *sender, struct host *receiver)
{
    l->sender = sender;
    l->receiver = receiver;
    /* The sender reads these bytes and the receiver writes them; their content does not matter. */
    l->data = calloc(1, l->cfg.request_bytes);
    CHECK(host_listen(receiver, l->cfg.service) == 0);
    return l->data != NULL;
}

void load_free(struct load *l)
{
    free(l->data);
}

static void failed(struct load *l, int status)
{
    if (l->status == 0)
        l->status = status;
}

static void begin(struct load *l, uint64_t now)
{
    struct host_connect op = {
        .peer = l->cfg.peer,
        .service = l->cfg.service,
        .go_back_n = l->cfg.go_back_n,
        .owner = 2ull * l->cfg.service + OWNER_WRITER,
    };
    int64_t peer = host_accept(l->receiver, l->cfg.service, 2ull * l->cfg.service, 0);
    int64_t own = host_connect(l->sender, &op, now);

    l->begun = true;
    if (own < 0 || peer < 0) {
        failed(l, (int)(own < 0 ? own : peer));
        l->ended = true;
        return;
    }
    l->own = (uint32_t)own;
    l->peer = (uint32_t)peer;
    for (uint32_t i = 0; i < l->cfg.posted; i++)
        host_recv(l->receiver, l->peer, l->data, l->cfg.request_bytes, i, now);
}

static void written(struct load *l, uint64_t len)
{
    l->writing = false;
    l->written_bytes += len;
}

static void write_done(struct load *l, const struct host_completion *c)
{
    bool waited = l->cfg.synchronous && l->writing && c->user == l->next - 1;

    if (c->status != 0)
        failed(l, c->status);
    if (c->provisional) {
        if (waited)
            written(l, l->cfg.request_bytes);
        return;
    }
    l->under_way--;
    if (l->cfg.tail_bytes != 0)
        l->tails_used--;
    if (waited)
        written(l, l->cfg.request_bytes);
    else if (!l->cfg.synchronous)
        l->written_bytes += c->len;
}

void load_done(struct load *l, struct host *h, const struct host_completion *c, uint64_t now)
{
    if (c->op == HOST_SEND) {
        write_done(l, c);
    } else if (c->op == HOST_RECV && c->status == 0) {
        l->read_bytes += c->len;
        host_recv(h, c->conn, l->data, l->cfg.request_bytes, c->user, now);
    } else if (c->status != 0 && c->status != -ECANCELED) {
        failed(l, c->status);
    }
}

static void write_one(struct load *l, uint64_t now)
{
    const struct load_config *cfg = &l->cfg;
    uint64_t tail = cfg->tail_bytes < cfg->request_bytes ? cfg->tail_bytes : cfg->request_bytes;
    uint64_t head = cfg->request_bytes - tail;
    struct host_send op = {.pieces = {{l->data, cfg->request_bytes}}, .user = l->next};

    /* The copy itself takes no virtual time; only the bytes it would copy are counted. */
    if (tail > 0 && head > 0) {
        op.pieces[0].len = head;
        op.pieces[1] = (struct host_piece){l->data + head, tail};
        op.provisional = true;
    }
    if (host_send(l->sender, l->own, &op, now) != 0)
        return;
    l->next++;
    l->under_way++;
    l->copied_bytes += tail;
    l->tails_used += cfg->tail_bytes != 0;
    l->writing = true;
    if (tail > 0 && head == 0)
        written(l, cfg->request_bytes); /* the request was copied whole, so it is over at once */
}

static bool may_write(const struct load *l)
{
    const struct load_config *c = &l->cfg;

    if (c->requests != 0 && l->next == c->requests)
        return false;
    if (!c->synchronous)
        return l->under_way < c->depth;
    return !l->writing && (c->tail_bytes == 0 || l->tails_used < c->tails);
}

uint64_t load_turn(struct load *l, uint64_t now)
{
    const struct load_config *c = &l->cfg;
    uint64_t wake = TIME_NEVER;

    if (now < c->start_ns)
        return c->start_ns;
    if (!l->begun)
        begin(l, now);
    if (l->ended || now >= c->stop_ns)
        return TIME_NEVER;
    if (c->off_ns != 0) {
        uint64_t phase = (now - c->start_ns) % (c->on_ns + c->off_ns);

        wake = now - phase + c->on_ns + c->off_ns;
        if (phase >= c->on_ns)
            return wake;
    }
    while (may_write(l)) {
        uint64_t before = l->next;

        write_one(l, now);
        if (l->next == before)
            break;
    }
    return wake;
}

/* ---- figures -------------------------------------------------------------------------------- */

static struct load_state state_of(const struct load *l)
{
    struct load_state s = {.bytes = l->written_bytes, .copied = l->copied_bytes};

    if (l->begun && !l->ended) {
        host_conn_info(l->sender, l->own, &s.tx);
        host_conn_info(l->receiver, l->peer, &s.rx);
    }
    return s;
}

void load_begin(struct load *l)
{
    l->before = state_of(l);
}

void load_sample(struct load *l, struct result *r, uint64_t now, uint64_t span_ns)
{
    struct load_state s = state_of(l);

    if (l->rate == NULL) {
        l->rate = result_series(r, "bit/s", "throughput.%s", l->cfg.name);
        l->grant = result_series(r, "bit/s", "granted.%s", l->cfg.name);
        l->burst = result_series(r, "bytes", "burst.%s", l->cfg.name);
        l->lost = result_series(r, "units", "lost.%s", l->cfg.name);
    }
    result_point(l->rate, now,
                 (double)(s.rx.rx_bytes - l->last.rx.rx_bytes) * 8e9 / (double)span_ns);
    result_point(l->grant, now, s.tx.tx_burst_bytes != 0 ? (double)s.tx.tx_rate_Bps * 8 : NAN);
    result_point(l->burst, now, (double)s.tx.tx_burst_bytes);
    result_point(l->lost, now, (double)(s.rx.rx_lost - l->last.rx.rx_lost));
    l->last = s;
}

void load_tell(const struct load *l, struct result *r, uint64_t span_ns)
{
    struct load_state now = state_of(l);
    const struct load_state *old = &l->before;
    const char *name = l->cfg.name;
    double s = (double)span_ns / 1e9, placed = (double)(now.rx.rx_bytes - old->rx.rx_bytes);
    double units = (double)(now.rx.rx_units - old->rx.rx_units);
    double runs = (double)(now.rx.rx_loss_runs - old->rx.rx_loss_runs);
    double wrote = (double)(now.bytes - old->bytes);

    result_value(r, placed * 8 / s, "bit/s", "throughput.%s", name);
    result_value(r, wrote * 8 / s, "bit/s", "written.%s", name);
    result_value(r, (double)(now.rx.rx_lost - old->rx.rx_lost), "units", "lost.%s", name);
    result_value(r, runs, "runs", "recoveries.%s", name);
    result_value(r, units > 0 ? runs * 1000 / units : NAN, "per 1000", "recovery_rate.%s", name);
    result_value(r, (double)(now.tx.tx_repeats - old->tx.tx_repeats), "units", "repeats.%s", name);
    result_value(r, (double)now.rx.rtt_ns / 1e9, "s", "rtt.%s", name);
    result_value(r, (double)now.rx.unit_bytes, "bytes", "unit.%s", name);
    result_value(r, (double)now.tx.tx_rate_Bps * 8, "bit/s", "granted.%s", name);
    result_value(r, (double)now.tx.tx_burst_bytes, "bytes", "burst.%s", name);
    result_value(r, wrote > 0 ? (double)(now.copied - old->copied) / wrote : NAN, "", "copied.%s",
                 name);
    result_value(r, l->read_bytes > 0 ? (double)now.rx.rx_bytes / (double)l->read_bytes : NAN, "",
                 "placed.%s", name);
    result_value(r, l->status, "errno", "status.%s", name);
}
