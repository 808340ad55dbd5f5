/* SPDX-License-Identifier: BSD-3-Clause */
/* The rules of access.h: control hands them to the workers, and ends what they do not allow. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "sluiced/session/session_state.h"

bool session_may_listen(const struct sessions *s, const struct session *x, uint32_t service,
                        char text[SESSION_TEXT_MAX])
{
    const struct config_service *section = access_service(s->access, service);

    if (section == NULL || access_allows(&section->users, &x->user_rights))
        return true;
    snprintf(text, SESSION_TEXT_MAX,
             "port %u is not for user %u: add the user to users in [service %s] of sluiced's "
             "configuration, or choose another port",
             service, x->uid, section->name);
    return false;
}

bool session_may_connect(const struct sessions *s, const struct session *x, const struct addr *peer,
                         char text[SESSION_TEXT_MAX])
{
    const struct config_peer *section = access_peer(s->access, peer);

    if (section == NULL || access_allows(&section->users, &x->user_rights))
        return true;
    snprintf(text, SESSION_TEXT_MAX,
             "peer %s is not for user %u: add the user to users in [peer %s] of sluiced's "
             "configuration",
             section->name, x->uid, section->name);
    return false;
}

/* Tells all workers of the newest rules. */
static void access_tell(struct sessions *s)
{
    struct channel_message m = {.type = CHANNEL_ACCESS, .data = s->access};

    s->access_before = s->access_given;
    s->access_given = s->access;
    s->access_waiting = s->cfg.n_hosts;
    for (uint32_t i = 0; i < s->cfg.n_hosts; i++)
        channels_tell(s->channels[i], &m);
}

void session_access_heard(struct sessions *s)
{
    if (--s->access_waiting > 0)
        return;
    free(s->access_before);
    s->access_before = NULL;
    if (s->access != s->access_given)
        access_tell(s);
}

/* Ends the sessions whose user may not have one of their services any more. */
static void services_check(struct sessions *s)
{
    char text[SESSION_TEXT_MAX];

    for (uint32_t i = 0; i < s->cfg.max_sessions; i++) {
        struct session *x = &s->all[i];

        for (uint32_t k = 0; x->state == SESSION_OPEN && !x->end_asked && k < x->n_services; k++)
            if (!session_may_listen(s, x, x->services[k], text))
                session_end(s, x, WIRE_END_ABORT, -EACCES, text);
    }
}

void sessions_set_access(struct sessions *s, struct access *a)
{
    if (s->access != s->access_given) /* no worker has heard of these */
        free(s->access);
    s->access = a;
    if (s->access_waiting == 0)
        access_tell(s);
    services_check(s);
}

void session_access_start(struct sessions *s)
{
    for (uint32_t i = 0; i < s->cfg.n_hosts; i++)
        s->channels[i]->access = s->access;
}

void session_access_free(struct sessions *s)
{
    if (s->access != s->access_given)
        free(s->access);
    free(s->access_given);
    free(s->access_before);
}
