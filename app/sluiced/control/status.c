/* SPDX-License-Identifier: BSD-3-Clause */
/* See status.h. */
#include "sluiced/control/status.h"

#include <string.h>

#include "base/line.h"
#include "sluiced/config/reload.h"

/* "1 of 2 ports up (net_memif1 is down), 3 connections; the last reload failed" */
static void status_put(struct line *l, const struct daemon *d, const struct links *k)
{
    uint32_t up = 0, down = 0, conns = 0;

    for (uint32_t p = 0; p < d->n_ports; p++) {
        struct host_capacity c;

        host_control_capacity(d->controls[p], &c);
        conns += c.open_conns;
        up += k->up[p];
    }
    line_number(l, up, 1);
    line_put(l, " of ");
    line_number(l, d->n_ports, 1);
    line_put(l, d->n_ports > 1 ? " ports up" : " port up");
    for (uint32_t p = 0; p < d->n_ports; p++)
        if (!k->up[p]) {
            line_put(l, down++ == 0 ? " (" : ", ");
            line_put(l, d->ports[p].cfg->name);
        }
    if (down > 0)
        line_put(l, down > 1 ? " are down)" : " is down)");
    line_put(l, ", ");
    line_number(l, conns, 1);
    line_put(l, conns != 1 ? " connections" : " connection");
    if (reload_failed(d))
        line_put(l, "; the last reload failed (sluice show reload)");
    *l->at = '\0';
}

void status_tell(struct status *s, const struct daemon *d, const struct links *k, uint64_t now)
{
    char text[NOTIFY_STATUS_MAX] = "";
    struct line l = {text, text + sizeof text - 1};

    if (now < s->due)
        return;
    s->due = now + d->hz;
    status_put(&l, d, k);
    if (strcmp(text, s->text) == 0)
        return;
    memcpy(s->text, text, sizeof text);
    notify_status(text);
}
