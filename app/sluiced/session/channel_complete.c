/* SPDX-License-Identifier: BSD-3-Clause */
/* Delivers the host's completions into clients' rings, closes handles, writes status entries. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "sluiced/session/channel.h"

void channel_answer(struct channels *c, const struct channel_message *m, int status)
{
    struct channel_message a = *m;

    a.status = status;
    CHECK(rte_ring_sp_enqueue_elem(c->out, &a, sizeof a) == 0);
}

void channel_fault(struct channels *c, struct channel_session *cs, enum channel_fault why)
{
    struct channel_message m = {.type = CHANNEL_FAULT, .slot = cs->slot};

    if (cs->faulted)
        return;
    cs->faulted = true;
    channel_answer(c, &m, (int)why);
}

bool channel_room(struct channels *c, struct channel_session *cs, uint32_t n)
{
    uint32_t entries = cs->cq_mask + 1, head;

    if (cs->cq_tail - cs->cq_head + cs->owed + n <= entries)
        return true;
    head = __atomic_load_n(&cs->ring->cq_head, __ATOMIC_ACQUIRE);
    if (cs->cq_tail - head > cs->cq_tail - cs->cq_head) {
        channel_fault(c, cs, CHANNEL_FAULT_CQ_INDEX);
        return false;
    }
    cs->cq_head = head;
    return cs->cq_tail - head + cs->owed + n <= entries;
}

void channel_deliver(struct channel_session *cs, const struct protocol_completion *e)
{
    CHECK(cs->owed > 0);
    cs->owed--;
    if (cs->faulted || cs->ending)
        return;
    cs->cq[cs->cq_tail++ & cs->cq_mask] = *e;
    cs->dirty = true;
}

void channel_publish(struct channel_session *cs)
{
    uint64_t one = 1;

    cs->dirty = false;
    /* Only workers write this eventfd, so its counter cannot fill up and the write cannot block. */
    if (protocol_publish(cs->ring, cs->cq_tail) &&
        write(cs->wake_fd, &one, sizeof one) != (ssize_t)sizeof one)
        CHECK(errno == EAGAIN || errno == EINTR);
}

/* ---- from the host ---------------------------------------------------------------------- */

static void complete_release(struct channel_session *cs, uint32_t region)
{
    if (region == 0)
        return;
    CHECK(region <= PROTOCOL_REGIONS_MAX && cs->regions[region - 1].refs > 0);
    cs->regions[region - 1].refs--;
}

static void complete_one(struct channels *c, const struct host_completion *from)
{
    static const uint8_t ops[] = {
        [HOST_CONNECT] = PROTOCOL_CONNECT,   [HOST_ACCEPT] = PROTOCOL_ACCEPT,
        [HOST_SEND] = PROTOCOL_SEND,         [HOST_RECV] = PROTOCOL_RECV,
        [HOST_SHUTDOWN] = PROTOCOL_SHUTDOWN,
    };
    uint32_t slot = from->owner & 0xffff, handle = from->owner >> 16 & 0xffff;
    struct protocol_completion e = {
        .len = from->len, .user = (uint32_t)from->user, .handle = handle, .status = from->status};
    struct channel_session *cs;
    struct channel_handle *h;

    CHECK(slot < c->max_sessions && handle < PROTOCOL_HANDLES_MAX && from->op <= HOST_SHUTDOWN);
    cs = c->slots[slot];
    CHECK(cs != NULL);
    h = &cs->handles[handle];
    CHECK(h->owner == from->owner && h->outstanding > 0);
    h->outstanding--;
    e.op = ops[from->op];
    if (from->provisional)
        e.flags = PROTOCOL_PROVISIONAL;
    /* The first completion releases the first region, the last one the second. */
    if (from->provisional || (from->user & CHANNEL_COOKIE_PROVISIONAL) == 0)
        complete_release(cs, channel_cookie_region(from->user, 0));
    if (!from->provisional)
        complete_release(cs, channel_cookie_region(from->user, 1));
    if (from->op == HOST_SEND && from->status < 0 && from->status != -EMSGSIZE)
        h->failed = true;
    /* A client that learns of a state change from a completion must find it in the status, too. */
    if ((from->op != HOST_SEND && from->op != HOST_RECV) || from->status < 0)
        channel_status_write(c, cs, handle);
    channel_deliver(cs, &e);
}

uint32_t channel_completions(struct channels *c)
{
    uint32_t n = host_completions(c->host, c->batch, CHANNEL_COMPLETIONS), i;

    for (i = 0; i < n; i++)
        complete_one(c, &c->batch[i]);
    return n;
}

/* ---- closing ---------------------------------------------------------------------------- */

/* The host may have given the number h->conn to a new connection. Then the owner differs, and the
 * old connection is surely gone. */
bool channel_handle_gone(const struct channels *c, const struct channel_handle *h)
{
    struct host_conn_info info;

    return h->conn == HOST_CONN_NONE || host_conn_gone(c->host, h->conn) ||
           !host_conn_info(c->host, h->conn, &info) || info.owner != h->owner;
}

/* Frees a closing handle, once its operations are completed and its connection is gone. True if it
 * did. */
static bool close_finish(struct channels *c, struct channel_session *cs, uint32_t handle)
{
    struct channel_handle *h = &cs->handles[handle];
    struct protocol_completion e = {.user = h->close_user, .handle = handle, .op = PROTOCOL_CLOSE};
    uint16_t last;

    if (h->state != CHANNEL_HANDLE_CLOSING || h->outstanding > 0 || !channel_handle_gone(c, h))
        return false;
    cs->n_closing--;
    last = cs->active[--cs->n_active];
    cs->active[h->active_at] = last;
    cs->handles[last].active_at = h->active_at;
    h->conn = HOST_CONN_NONE;
    h->state = CHANNEL_HANDLE_FREE;
    if (h->close_wanted)
        channel_deliver(cs, &e);
    return true;
}

void channel_handle_close(struct channels *c, struct channel_session *cs, uint32_t handle,
                          enum wire_end end, uint64_t now)
{
    struct channel_handle *h = &cs->handles[handle];

    if (h->state == CHANNEL_HANDLE_CLOSING)
        return;
    h->state = CHANNEL_HANDLE_CLOSING;
    cs->n_closing++;
    if (h->conn != HOST_CONN_NONE)
        host_close(c->host, h->conn, end, now);
    /* Frees the handle at once if possible: the host may give h->conn to another connection. */
    close_finish(c, cs, handle);
}

void channel_deny(struct channels *c, struct channel_session *cs, uint64_t now)
{
    for (uint32_t i = 0; i < cs->n_active; i++) {
        const struct channel_handle *h = &cs->handles[cs->active[i]];
        struct host_conn_info info;

        if (h->state == CHANNEL_HANDLE_OPEN && host_conn_info(c->host, h->conn, &info) &&
            info.owner == h->owner && info.opener &&
            !access_may_connect(c->access, &cs->user, &info.peer))
            host_deny(c->host, h->conn, now);
    }
}

uint32_t channel_reap(struct channels *c, struct channel_session *cs, uint64_t now)
{
    uint32_t done = 0, looks = 0;

    for (; looks < CHANNEL_REAPS && looks < cs->n_active + done; looks++) {
        uint32_t handle;

        if (cs->n_active == 0)
            break;
        if (cs->reap_at >= cs->n_active)
            cs->reap_at = 0;
        handle = cs->active[cs->reap_at];
        if (cs->handles[handle].state == CHANNEL_HANDLE_CLOSING) {
            if (close_finish(c, cs, handle)) {
                done++;
                continue; /* another handle took this place in active[] */
            }
        } else if (cs->ending) {
            uint32_t before = cs->n_active;

            channel_handle_close(c, cs, handle, (enum wire_end)cs->end, now);
            done++;
            if (cs->n_active < before)
                continue;
        }
        cs->reap_at++;
    }
    return done;
}

static_assert(ASSOC_NAME_MAX <= PROTOCOL_PEER_NAME_MAX, "a name fits, with its final 0");

/* ---- status entries --------------------------------------------------------------------- */

/* A text of at most 15 characters, as two words. */
static void status_text(uint64_t words[2], const char *text)
{
    CHECK(strlen(text) < 2 * sizeof words[0]);
    memcpy(words, text, strlen(text));
}

void channel_status_write(struct channels *c, struct channel_session *cs, uint32_t handle)
{
    struct channel_handle *h = &cs->handles[handle];
    uint64_t w[PROTOCOL_WORDS] = {0};
    struct host_conn_info i;
    uint64_t state = HOST_CLOSED;
    const char *name; /* shorter than ASSOC_NAME_MAX */

    if (h->conn != HOST_CONN_NONE && host_conn_info(c->host, h->conn, &i) && i.owner == h->owner) {
        w[PROTOCOL_TX_RATE_BPS] = i.tx_rate_Bps;
        w[PROTOCOL_TX_BURST_BYTES] = i.tx_burst_bytes;
        w[PROTOCOL_RX_RATE_BPS] = i.rx_rate_Bps;
        w[PROTOCOL_RX_BURST_BYTES] = i.rx_burst_bytes;
        w[PROTOCOL_RTT_NS] = i.rtt_ns;
        w[PROTOCOL_TX_BYTES] = i.tx_bytes;
        w[PROTOCOL_TX_UNITS] = i.tx_units;
        w[PROTOCOL_TX_REPEATS] = i.tx_repeats;
        w[PROTOCOL_RX_BYTES] = i.rx_bytes;
        w[PROTOCOL_RX_UNITS] = i.rx_units;
        w[PROTOCOL_RX_LOST] = i.rx_lost;
        w[PROTOCOL_RX_MOMENTARY_BPS] = i.rx_momentary_Bps;
        memcpy(&w[PROTOCOL_PEER], i.peer.b, sizeof i.peer.b);
        name = host_conn_peer_name(c->host, h->conn);
        memcpy(&w[PROTOCOL_PEER_NAME], name, strlen(name));
        w[PROTOCOL_UNIT_STATE] = (uint64_t)i.peer_port << 32 | i.unit_bytes;
        w[PROTOCOL_TX_APP_LIMITED_NS] = i.tx_app_limited_ns;
        w[PROTOCOL_TX_PEER_LIMITED_NS] = i.tx_peer_limited_ns;
        w[PROTOCOL_TX_RATE_LIMITED_NS] = i.tx_rate_limited_ns;
        status_text(&w[PROTOCOL_TX_WHY], host_reason_name(i.tx_reason));
        status_text(&w[PROTOCOL_RX_WHY], host_reason_name(i.rx_reason));
        state = i.state;
    }
    w[PROTOCOL_UNIT_STATE] |= state << 48;
    w[PROTOCOL_PORT_BPS] = host_port_rate(c->host);
    protocol_status_write(&cs->statuses[handle], &h->status_seq, w);
}

void channel_status(struct channels *c, struct channel_session *cs, uint64_t now)
{
    uint32_t n;

    if (time_before(now, cs->status_due))
        return;
    for (n = 0; n < CHANNEL_STATUSES && cs->status_at < cs->n_active; n++) {
        uint32_t handle = cs->active[cs->status_at++];

        if (cs->handles[handle].conn != HOST_CONN_NONE)
            host_conn_refresh(c->host, cs->handles[handle].conn, now);
        channel_status_write(c, cs, handle);
    }
    if (cs->status_at < cs->n_active)
        return; /* the next calls write the rest */
    cs->status_at = 0;
    cs->status_due = now + clock_cycles(&c->clock, CHANNEL_STATUS_NS);
}
