/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The request CAPTURE. Frames of a port are of all its users. So they are for root and the daemon's
 * own user, as the settings are, and not for the group that may use the daemon.
 */
#include <errno.h>
#include <stdio.h>

#include "client/capture_ring.h"
#include "sluiced/session/session_state.h"

/* Why the capture cannot be; NULL: nothing stands against it. */
static const char *capture_fault(const struct sessions *s, const struct session *x,
                                 const struct protocol_capture *p, int *status)
{
    *status = -EPERM;
    if (!x->user_rights.all)
        return "only root and the user that runs sluiced may capture: packets of all users are "
               "among them";
    *status = -EOPNOTSUPP;
    if (s->cfg.capture == NULL)
        return "this daemon cannot capture";
    *status = -EINVAL;
    if (p->region_id >= PROTOCOL_REGIONS_MAX || x->regions[p->region_id].base == NULL)
        return "there is no such memory";
    if (p->snap_bytes == 0 || p->snap_bytes > CAPTURE_SNAP_MAX)
        return "a capture has 1 to 65536 bytes of each frame";
    *status = -EBUSY;
    if (session_captures_into(x, p->region_id))
        return "another capture writes that memory: give each its own";
    if (x->n_captures == SESSION_CAPTURES)
        return "the session has too many captures: open another";
    *status = 0;
    return NULL;
}

void session_ask_capture(struct sessions *s, struct session *x, const struct protocol_request *q,
                         int fd)
{
    const struct protocol_capture *p = &q->u.capture;
    struct protocol_reply a = {.type = PROTOCOL_CAPTURE};
    const char *fault = capture_fault(s, x, p, &a.status);
    struct session_capture c = {.port = p->port,
                                .interface = p->interface,
                                .snap_bytes = p->snap_bytes,
                                .uid = x->uid,
                                .pid = x->pid};
    struct capture *made = NULL;

    if (fault != NULL) {
        session_reply(x, q->type, a.status, fault);
        return;
    }
    c.memory = x->regions[p->region_id].base;
    c.len_bytes = x->regions[p->region_id].len_bytes;
    a.status = s->cfg.capture(s->cfg.ctx, &c, &made, a.text, sizeof a.text);
    if (a.status == 0) {
        x->captures[x->n_captures] = made;
        x->capture_regions[x->n_captures++] = p->region_id;
        a.u.captured.rings = c.rings;
        a.u.captured.ring_bytes = c.ring_bytes;
    }
    session_say(x, &a, NULL, 0, -1);
}

bool session_captures_into(const struct session *x, uint32_t region)
{
    for (uint32_t i = 0; i < x->n_captures; i++)
        if (x->capture_regions[i] == region)
            return true;
    return false;
}

void session_captures_end(struct sessions *s, struct session *x)
{
    for (uint32_t i = 0; i < x->n_captures; i++)
        s->cfg.capture_end(s->cfg.ctx, x->captures[i]);
}

void session_captures_free(struct sessions *s, struct session *x)
{
    for (uint32_t i = 0; i < x->n_captures; i++)
        s->cfg.capture_free(s->cfg.ctx, x->captures[i]);
    x->n_captures = 0;
}
