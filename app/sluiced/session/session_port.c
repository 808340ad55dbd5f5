/* SPDX-License-Identifier: BSD-3-Clause */
/* LISTEN and UNLISTEN: which session has which service. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sluiced/session/session_state.h"

/* A user gets at most three quarters of the services that a host can have; root can take all. */
static bool session_ports_allowed(const struct sessions *s, const struct session *x)
{
    uint32_t used = 0, i;

    if (x->uid == 0)
        return true;
    for (i = 0; i < s->cfg.max_sessions; i++)
        used += s->all[i].user == x->user ? s->all[i].n_services : 0;
    return used < HOST_SERVICES_MAX - HOST_SERVICES_MAX / 4;
}

static void session_disown(struct sessions *s, struct session *x, uint32_t service)
{
    uint32_t i;

    s->owners[service] = 0;
    for (i = 0; i < x->n_services; i++) {
        if (x->services[i] == service) {
            x->services[i] = x->services[--x->n_services];
            return;
        }
    }
}

/* Says which process has the service; one of another user is for root only. */
static void session_port_taken(const struct sessions *s, const struct session *x, uint32_t service,
                               char text[SESSION_TEXT_MAX])
{
    const struct session *y = &s->all[s->owners[service] - 1];

    if (x->user_rights.all || x->uid == y->uid)
        snprintf(text, SESSION_TEXT_MAX,
                 "port %u belongs to process %d of user %u: stop it, or choose another port",
                 service, (int)y->pid, y->uid);
    else
        snprintf(text, SESSION_TEXT_MAX, "port %u belongs to another user: choose another port",
                 service);
}

void session_ask_listen(struct sessions *s, struct session *x, const struct protocol_request *q,
                        int fd)
{
    uint32_t service = q->u.service;
    char text[SESSION_TEXT_MAX];

    if (service == 0 || service > UINT16_MAX) {
        session_reply(x, q->type, -EINVAL, "a port is a number from 1 to 65535");
        return;
    }
    if (!session_may_listen(s, x, service, text)) {
        session_reply(x, q->type, -EACCES, text);
        return;
    }
    if (s->owners[service] != 0) {
        session_port_taken(s, x, service, text);
        session_reply(x, q->type, -EADDRINUSE, text);
        return;
    }
    if (x->n_services == PROTOCOL_SERVICES_MAX) {
        session_reply(x, q->type, -ENOSPC, "the session has 16 ports: release some");
        return;
    }
    if (!session_ports_allowed(s, x)) {
        session_reply(x, q->type, -EUSERS,
                      "this user has three quarters of all ports: release some");
        return;
    }
    s->owners[service] = x->slot + 1;
    x->services[x->n_services++] = (uint16_t)service;
    x->pending = (struct session_pending){.type = q->type, .id = service};
    session_pending_tell_all(s, x, CHANNEL_LISTEN, NULL);
}

/* All workers listen, or none does: if one refuses, the others are asked to undo it. */
void session_go_listen(struct sessions *s, struct session *x)
{
    char text[SESSION_TEXT_MAX] = "";

    if (x->pending.waiting > 0)
        return;
    if (x->pending.status < 0 && x->pending.step == SESSION_STEP_TELL) {
        x->pending.step = SESSION_STEP_UNDO;
        session_pending_tell(s, x, CHANNEL_UNLISTEN, x->pending.agreed, NULL);
        if (x->pending.waiting > 0)
            return;
    }
    if (x->pending.status < 0) {
        session_disown(s, x, x->pending.id);
        snprintf(text, sizeof text, "a worker refused port %u: %s", x->pending.id,
                 strerror(-x->pending.status));
    }
    session_pending_reply(x, x->pending.status, text);
}

void session_ask_unlisten(struct sessions *s, struct session *x, const struct protocol_request *q,
                          int fd)
{
    uint32_t service = q->u.service;

    if (service > UINT16_MAX || s->owners[service] != x->slot + 1) {
        session_reply(x, q->type, -ENOENT, "the session does not have that port");
        return;
    }
    x->pending = (struct session_pending){.type = q->type, .id = service};
    session_pending_tell_all(s, x, CHANNEL_UNLISTEN, NULL);
}

void session_go_unlisten(struct sessions *s, struct session *x)
{
    if (x->pending.waiting > 0)
        return;
    session_disown(s, x, x->pending.id);
    session_pending_reply(x, 0, "");
}
