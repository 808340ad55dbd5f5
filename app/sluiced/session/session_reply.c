/* SPDX-License-Identifier: BSD-3-Clause */
/* What a session sends: answers to its client, and messages to workers for its pending request. */
#include <stdio.h>
#include <sys/socket.h>

#include "client/fds.h"
#include "sluiced/session/session_state.h"

void session_say(struct session *x, const struct protocol_reply *a, const void *part,
                 uint32_t part_len, int fd)
{
    struct protocol_reply out = *a;
    union fds_control control;
    struct iovec io[2] = {{.iov_base = &out, .iov_len = sizeof out},
                          {.iov_base = (void *)(uintptr_t)part, .iov_len = part_len}};
    struct msghdr m = {.msg_iov = io, .msg_iovlen = part_len > 0 ? 2 : 1};

    out.magic = PROTOCOL_MAGIC;
    out.version = PROTOCOL_VERSION;
    if (fd >= 0)
        fds_put(&m, &control, fd);
    if (sendmsg(x->fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        x->hung_up = true; /* the client is gone, or does not read its answers */
}

void session_reply(struct session *x, uint16_t type, int status, const char *text)
{
    struct protocol_reply a = {.type = type, .status = status};

    snprintf(a.text, sizeof a.text, "%s", text);
    session_say(x, &a, NULL, 0, -1);
}

/* Sends a message to the workers in `which` (a bit per channel). */
void session_pending_tell(struct sessions *s, struct session *x, uint16_t type, uint64_t which,
                          const struct session_mapping *region)
{
    struct channel_message m = {.type = type, .slot = (uint16_t)x->slot, .id = x->pending.id};
    uint32_t i;

    if (region != NULL) {
        m.data = region->base;
        m.len_bytes = region->len_bytes;
    }
    for (i = 0; i < s->cfg.n_hosts; i++) {
        if ((which >> i & 1) == 0)
            continue;
        if (type == CHANNEL_ATTACH)
            m.data = x->channels[i];
        channels_tell(s->channels[i], &m);
        x->pending.waiting++;
    }
}

void session_pending_tell_all(struct sessions *s, struct session *x, uint16_t type,
                              const struct session_mapping *region)
{
    x->pending.step = SESSION_STEP_TELL;
    x->pending.agreed = 0;
    session_pending_tell(s, x, type, UINT64_MAX, region);
}

void session_pending_reply(struct session *x, int status, const char *text)
{
    uint16_t type = x->pending.type;

    x->pending.type = 0;
    session_reply(x, type, status, text);
}

void session_end(struct sessions *s, struct session *x, enum wire_end end, int status,
                 const char *text)
{
    struct protocol_reply a = {.type = PROTOCOL_BYE, .status = status};

    if (x->state == SESSION_FREE || x->end_asked)
        return;
    x->end_asked = true;
    x->end = end;
    if (text != NULL) {
        snprintf(a.text, sizeof a.text, "%s", text);
        session_say(x, &a, NULL, 0, -1);
    }
}
