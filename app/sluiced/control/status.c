/* SPDX-License-Identifier: BSD-3-Clause */
/* See status.h. */
#include "sluiced/control/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <rte_common.h>

#include "sluiced/config/reload.h"

struct text {
    char *at, *end;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *t, const char *format, ...)
{
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(t->at, (size_t)(t->end - t->at), format, args);
    va_end(args);
    if (n > 0)
        t->at += RTE_MIN(n, t->end - t->at - 1);
}

/* "1 of 2 ports up (net_memif1 is down), 3 connections; the last reload failed" */
static void status_put(struct text *t, const struct daemon *d, const struct links *k)
{
    uint32_t up = 0, down = 0, conns = 0;

    for (uint32_t p = 0; p < d->n_ports; p++) {
        struct host_capacity c;

        host_control_capacity(d->controls[p], &c);
        conns += c.open_conns;
        up += k->up[p];
    }
    put(t, "%u of %u port%s up", up, d->n_ports, d->n_ports > 1 ? "s" : "");
    for (uint32_t p = 0; p < d->n_ports; p++)
        if (!k->up[p])
            put(t, "%s%s", down++ == 0 ? " (" : ", ", d->ports[p].cfg->name);
    if (down > 0)
        put(t, " %s down)", down > 1 ? "are" : "is");
    put(t, ", %u connection%s", conns, conns != 1 ? "s" : "");
    if (reload_failed(d))
        put(t, "; the last reload failed (sluice show reload)");
}

void status_tell(struct status *s, const struct daemon *d, const struct links *k, uint64_t now)
{
    char text[NOTIFY_STATUS_MAX] = "";
    struct text t = {text, text + sizeof text};

    if (now < s->due)
        return;
    s->due = now + d->hz;
    status_put(&t, d, k);
    if (strcmp(text, s->text) == 0)
        return;
    memcpy(s->text, text, sizeof text);
    notify_status(text);
}
