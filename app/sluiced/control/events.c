/* SPDX-License-Identifier: BSD-3-Clause */
/* See events.h. */
#include "sluiced/control/events.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/say.h"
#include "host/trace.h"
#include "sluiced/observe/names.h"

#define TURN_EVENTS 64 /* of each ring and call: clients wait while control writes */

/* q NULL: an event of control. */
static void event_say(const char *port, const struct port_queue *q, const struct trace_event *e)
{
    char text[TRACE_TEXT_MAX], name[PORT_QUEUE_NAME_MAX], conn[PORT_QUEUE_NAME_MAX + 16];
    char peer[ADDR_TEXT_MAX];
    struct say_fields fields = {.port = port};
    struct host_conn_info info;

    trace_text(e, text, sizeof text);
    if (q == NULL) {
        say_line(SAY_DEBUG, &fields, "control: %s", text);
        return;
    }
    if (e->conn != TRACE_NO_CONN) {
        snprintf(conn, sizeof conn, "%s/%" PRIu32, port_queue_name(q, name), e->conn);
        fields.conn = conn;
        if (host_conn_info(q->host, e->conn, &info))
            fields.peer = addr_format(&info.peer, peer);
    }
    say_line(SAY_DEBUG, &fields, "worker %u: %s", q->queue, text);
}

static void ring_say(const char *port, const struct port_queue *q, const struct trace *t,
                     uint64_t *next)
{
    uint64_t first = trace_first(t), count = trace_count(t);
    struct trace_event e;

    if (*next < first) {
        say_port(SAY_DEBUG, port, "%" PRIu64 " events came too fast to be said", first - *next);
        *next = first;
    }
    for (uint32_t i = 0; i < TURN_EVENTS && *next < count; i++, (*next)++)
        if (trace_read(t, *next, &e))
            event_say(port, q, &e);
}

void events_say(struct events *e, const struct daemon *d)
{
    bool on = say_shows(SAY_DEBUG), begins = on && !e->on;

    e->on = on;
    for (uint32_t i = 0; on && i < d->n_queues; i++) {
        const struct trace *t = host_trace(d->hosts[i]);

        if (begins)
            e->host_next[i] = trace_count(t);
        ring_say(d->queues[i].port->cfg->name, &d->queues[i], t, &e->host_next[i]);
    }
    for (uint32_t p = 0; on && p < d->n_ports; p++) {
        const struct trace *t = host_control_trace(d->controls[p]);

        if (begins)
            e->control_next[p] = trace_count(t);
        ring_say(d->ports[p].cfg->name, NULL, t, &e->control_next[p]);
    }
}
