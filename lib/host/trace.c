/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/trace.h"

#include <string.h>

#include "base/line.h"
#include "host/host.h"

static const struct trace_kind {
    const char *name, *why, *a, *b;
} kinds[] = {
#define X(id, name, why, a, b) {name, why, a, b},
    TRACE_KINDS(X)
#undef X
};

uint64_t trace_count(const struct trace *t)
{
    return __atomic_load_n(&t->count, __ATOMIC_ACQUIRE);
}

uint64_t trace_first(const struct trace *t)
{
    uint64_t count = trace_count(t);

    return count < TRACE_EVENTS ? 0 : count - TRACE_EVENTS + 1;
}

bool trace_read(const struct trace *t, uint64_t n, struct trace_event *out)
{
    const uint64_t *slot = t->ring[n % TRACE_EVENTS];
    uint64_t count = trace_count(t), head;

    if (n >= count)
        return false;
    out->time = counter_get(&slot[0]);
    head = counter_get(&slot[1]);
    out->a = counter_get(&slot[2]);
    out->b = counter_get(&slot[3]);
    out->conn = (uint32_t)(head >> 32);
    out->what = (uint16_t)(head >> 16);
    out->why = (uint16_t)head;
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return counter_get(&t->count) - n < TRACE_EVENTS && out->what < TRACE_WHATS;
}

const char *trace_name(enum trace_what what)
{
    return (unsigned int)what < TRACE_WHATS ? kinds[what].name : "unknown";
}

/* ---- text, without the library's help: a signal handler may be asking ---------------------- */

static void text_byte(struct line *t, unsigned int byte)
{
    static const char hex[] = "0123456789abcdef";
    const char two[] = {hex[byte >> 4 & 15], hex[byte & 15], '\0'};

    line_put(t, two);
}

/* An address as IPv4, or as 16 bytes in hex. */
static void text_peer(struct line *t, uint64_t a, uint64_t b)
{
    struct addr peer;

    memcpy(peer.b, &a, 8);
    memcpy(peer.b + 8, &b, 8);
    for (int i = addr_is_v4(&peer) ? 12 : 0; i < 16; i++) {
        if (addr_is_v4(&peer))
            line_number(t, peer.b[i], 1);
        else
            text_byte(t, peer.b[i]);
        if (i < 15 && (addr_is_v4(&peer) || i % 2 == 1))
            line_put(t, addr_is_v4(&peer) ? "." : ":");
    }
}

static void text_field(struct line *t, const char *name, uint64_t n, const char *word)
{
    if (name[0] == '\0')
        return;
    line_put(t, " ");
    line_put(t, name);
    line_put(t, "=");
    if (word != NULL)
        line_put(t, word);
    else
        line_number(t, n, 1);
}

static const char *why_word(const struct trace_event *e)
{
    switch (e->what) {
    case TRACE_GRANT:
    case TRACE_GRANTED:
        return host_reason_name(e->why);
    case TRACE_ENDED:
        return wire_end_name((enum wire_end)e->why);
    default:
        return NULL;
    }
}

size_t trace_text(const struct trace_event *e, char *out, size_t size)
{
    const struct trace_kind *k = &kinds[e->what < TRACE_WHATS ? e->what : 0];
    struct line t = {out, out + size - 1};

    if (e->conn != TRACE_NO_CONN) {
        line_put(&t, "conn ");
        line_number(&t, e->conn, 1);
        line_put(&t, " ");
    }
    line_put(&t, trace_name((enum trace_what)e->what));
    text_field(&t, k->why, e->why, why_word(e));
    if (e->what == TRACE_OPENED) {
        line_put(&t, " peer=");
        text_peer(&t, e->a, e->b);
    } else {
        text_field(&t, k->a, e->a, NULL);
        text_field(&t, k->b, e->b, NULL);
    }
    *t.at = '\0';
    return (size_t)(t.at - out);
}
