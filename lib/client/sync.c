/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Synchronous sends by partial copy: the tail of a request, its last rate x RTT bytes, is copied.
 * The caller goes on when the peer has the rest, while the tail is still being sent. So the sender
 * never idles for a round trip.
 *
 * Invariant: a connection has at most CLIENT_TAILS tails, each of at most CLIENT_TAIL_MAX bytes; a
 * tail is busy from submission to the final completion.
 */
#include <errno.h>
#include <string.h>

#include "client/state.h"

/* rate x RTT, within bounds; CLIENT_TAIL_MIN while one of them is unknown. */
static uint64_t tail_wanted(const struct sluice_conn *c)
{
    struct sluice_stats t;
    unsigned __int128 bytes;

    sluice_conn_stats(c, &t);
    bytes = (unsigned __int128)t.tx_rate_Bps * t.rtt_ns / 1000000000u;
    if (bytes < CLIENT_TAIL_MIN)
        return CLIENT_TAIL_MIN;
    return bytes > CLIENT_TAIL_MAX ? CLIENT_TAIL_MAX : (uint64_t)bytes;
}

/* Grows an idle tail to hold want bytes; keeps its size if there is no memory for more. */
static void tail_grow(struct sluice_conn *c, struct client_tail *t, uint64_t want)
{
    uint64_t size = CLIENT_TAIL_MIN;
    uint8_t *data;

    if (t->size_bytes >= want)
        return;
    while (size < want)
        size *= 2;
    data = sluice_alloc(c->session, size);
    if (data == NULL && t->data == NULL && size > CLIENT_TAIL_MIN) {
        size = CLIENT_TAIL_MIN;
        data = sluice_alloc(c->session, size);
    }
    if (data == NULL)
        return;
    sluice_free(c->session, t->data);
    t->data = data;
    t->size_bytes = size;
}

static struct client_tail *tail_find(struct sluice_conn *c)
{
    struct client_tail *idle = NULL;
    int i;

    /* The largest idle tail: it has memory already, if any idle tail has. */
    for (i = 0; i < CLIENT_TAILS; i++) {
        if (!c->tails[i].busy && (idle == NULL || c->tails[i].size_bytes > idle->size_bytes))
            idle = &c->tails[i];
    }
    return idle;
}

/* Waits for an idle tail; lowers *want to the bytes it can hold. NULL: the daemon is gone. */
static struct client_tail *tail_take(struct sluice_conn *c, uint64_t *want)
{
    struct client_tail *t = tail_find(c);

    while (t == NULL && !c->session->gone) {
        client_wait_some(c->session);
        t = tail_find(c);
    }
    if (t == NULL)
        return NULL;
    tail_grow(c, t, *want);
    if (*want > t->size_bytes)
        *want = t->size_bytes;
    return t;
}

/* Submits r, and waits while too many requests are outstanding. */
static int sync_submit(struct sluice_conn *c, struct client_request *r)
{
    int err = client_conn_submit(c, r);

    while (err == -EAGAIN) {
        client_wait_some(c->session);
        err = client_conn_submit(c, r);
    }
    return err;
}

/* Waits until the caller's data may be reused. `wait` lives on a stack: once wait->free is set,
 * nothing uses a pointer to `wait` any more. */
static int sync_wait(struct sluice_conn *c, const struct client_wait *wait)
{
    while (!wait->free)
        client_wait_some(c->session);
    if (wait->status < 0)
        client_fail(c->session, wait->status, "send failed: %s", sluice_status_text(wait->status));
    return wait->status;
}

static int sync_error_take(struct sluice_conn *c)
{
    int err = c->sync_error;

    c->sync_error = 0;
    if (err < 0)
        client_fail(c->session, err, "an earlier send failed: %s", sluice_status_text(err));
    return err;
}

static int sync_send(struct sluice_conn *c, const void *data, uint64_t len)
{
    struct sluice *s = c->session;
    struct client_wait wait = {0};
    struct client_request r = {.kind = PROTOCOL_SEND};
    struct client_tail *tail;
    uint64_t copy;
    int err;

    client_pump(s);
    err = sync_error_take(c);
    if (err < 0)
        return err;
    if (s->gone)
        return -ENOTCONN;
    if (len > 0 && client_region_find(s, data, len) == NULL)
        return client_fail(s, -EFAULT, "%p, %llu bytes: not memory of sluice_alloc()", data,
                           (unsigned long long)len);
    copy = tail_wanted(c);
    if (copy > len)
        copy = len;
    tail = tail_take(c, &copy);
    if (tail == NULL)
        return -ENOTCONN;
    if (copy > 0)
        memcpy(tail->data, (const uint8_t *)data + (len - copy), copy);
    r.tail = tail;
    if (copy == len) {
        r.data[0] = tail->data;
        r.len[0] = copy;
    } else {
        r.data[0] = data;
        r.len[0] = len - copy;
        r.data[1] = tail->data;
        r.len[1] = copy;
        r.wait = &wait;
    }
    tail->busy = true;
    err = sync_submit(c, &r);
    if (err < 0) {
        tail->busy = false;
        return err;
    }
    return r.wait != NULL ? sync_wait(c, &wait) : 0;
}

int sluice_send_sync(struct sluice_conn *c, const void *data, uint64_t len)
{
    int err = sync_send(c, data, len);

    client_watch_settle(c->session);
    return err;
}

int sluice_flush(struct sluice_conn *c)
{
    struct sluice *s = c->session;

    client_pump(s);
    while (c->sync_sends > 0)
        client_wait_some(s);
    client_watch_settle(s);
    return sync_error_take(c);
}
