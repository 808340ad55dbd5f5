/* SPDX-License-Identifier: BSD-3-Clause */
/* See trace_show.h. Writes JSON as text: making objects of thousands of rows would take too long.
 */
#include "sluiced/observe/trace_show.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/clock.h"
#include "sluiced/observe/crash.h"
#include "sluiced/observe/names.h"
#include "sluiced/observe/put.h"
#include "sluiced/observe/show.h"
#include "sluiced/observe/viewer.h"

struct rows {
    const struct daemon *d;
    FILE *f;
    const char *between;
    uint64_t now;
    bool conns; /* events of connections, too */
};

static void row_put(struct rows *r, const char *port, int worker, const struct trace_event *e)
{
    uint64_t ago = r->now > e->time ? r->now - e->time : 0;
    char text[TRACE_TEXT_MAX];

    trace_text(e, text, sizeof text); /* words and numbers: nothing that JSON would want escaped */
    fprintf(r->f, "%s{\"ago_ns\":%" PRIu64 ",\"port\":%s", r->between, daemon_cycles_ns(r->d, ago),
            port);
    if (worker >= 0)
        fprintf(r->f, ",\"worker\":%d", worker);
    if (e->conn != TRACE_NO_CONN)
        fprintf(r->f, ",\"conn\":%" PRIu32, e->conn);
    fprintf(r->f, ",\"event\":\"%s\",\"text\":\"%s\"}", trace_name((enum trace_what)e->what), text);
    r->between = ",";
}

/* worker -1: control's ring. */
static void ring_put(struct rows *r, const char *port, int worker, const struct trace *t)
{
    uint64_t count = trace_count(t);
    char *quoted = put_quoted(port);
    struct trace_event e;

    for (uint64_t n = trace_first(t); quoted != NULL && n < count; n++)
        if (trace_read(t, n, &e) && (r->conns || e.conn == TRACE_NO_CONN))
            row_put(r, quoted, worker, &e);
    free(quoted);
}

char *trace_show(const struct daemon *d, const struct access_user *viewer, uint64_t uptime_ns)
{
    struct put_file text;
    struct rows r = {d, NULL, "", clock_now(), viewer->all};

    if (!put_file_open(&text))
        return NULL;
    r.f = text.f;
    viewer_begin(r.f, viewer, uptime_ns, "trace");
    for (uint32_t i = 0; i < d->n_queues; i++)
        ring_put(&r, d->queues[i].port->cfg->name, d->queues[i].queue, host_trace(d->hosts[i]));
    for (uint32_t p = 0; p < d->n_ports; p++)
        ring_put(&r, d->ports[p].cfg->name, -1, host_control_trace(d->controls[p]));
    fputs("]}", r.f);
    return put_file_text(&text);
}

void trace_guard(const struct daemon *d)
{
    char text[CONFIG_SOCKET_MAX + 16], name[PORT_QUEUE_NAME_MAX];

    for (uint32_t i = 0; i < d->n_queues; i++)
        crash_add(port_queue_name(&d->queues[i], name), host_trace(d->hosts[i]));
    for (uint32_t p = 0; p < d->n_ports; p++) {
        snprintf(text, sizeof text, "%s/control", d->ports[p].cfg->name);
        crash_add(text, host_control_trace(d->controls[p]));
    }
    snprintf(text, sizeof text, "%s.crash", d->config.daemon.socket);
    crash_start(text, d->hz);
}
