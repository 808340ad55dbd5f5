/* SPDX-License-Identifier: BSD-3-Clause */
/* Client sessions, as operators see them. */
#include "sluiced/session/session_state.h"

#include <stdio.h>
#include <string.h>

#include <jansson.h>

static const char *state_name(enum session_state s)
{
    return s == SESSION_NEW ? "new" : s == SESSION_OPEN ? "open" : "ending";
}

uint32_t sessions_limit(const struct sessions *s)
{
    return s->cfg.max_sessions;
}

bool sessions_info(const struct sessions *s, uint32_t slot, struct session_info *out)
{
    if (slot >= s->cfg.max_sessions || s->all[slot].state == SESSION_FREE)
        return false;
    const struct session *x = &s->all[slot];

    memset(out, 0, sizeof *out);
    out->slot = slot;
    out->uid = x->uid;
    out->pid = (uint64_t)x->pid;
    out->state = state_name(x->state);
    out->ring_bytes = x->memory.base != NULL ? x->memory.len_bytes : 0;
    for (uint32_t i = 0; x->regions != NULL && i < PROTOCOL_REGIONS_MAX; i++) {
        if (x->regions[i].base == NULL)
            continue;
        out->regions++;
        out->region_bytes += x->regions[i].len_bytes;
    }
    out->user_bytes = x->user != NULL ? x->user->used_bytes : 0;
    out->services = x->n_services;
    return true;
}

static json_t *session_json(const struct sessions *s, const struct session_info *x)
{
    char services[PROTOCOL_SERVICES_MAX * 6 + 1] = "";
    const struct session *from = &s->all[x->slot];
    uint64_t memory = x->ring_bytes + x->region_bytes;
    size_t len = 0;

    for (uint32_t i = 0; i < x->services; i++)
        len += (size_t)snprintf(services + len, sizeof services - len, "%s%u", i > 0 ? "," : "",
                                from->services[i]);
    return json_pack("{s:i, s:I, s:I, s:s, s:I, s:i, s:s, s:I, s:I}", "session", (int)x->slot,
                     "pid", (json_int_t)x->pid, "uid", (json_int_t)x->uid, "state", x->state,
                     "memory_bytes", (json_int_t)memory, "regions", (int)x->regions, "services",
                     services, "user_bytes", (json_int_t)x->user_bytes, "quota_bytes",
                     (json_int_t)s->cfg.quota_bytes);
}

bool sessions_own(const struct sessions *s, uint64_t owner, uid_t uid)
{
    uint32_t slot = owner & 0xffff;

    return slot < s->cfg.max_sessions && s->all[slot].state != SESSION_FREE &&
           s->all[slot].uid == uid;
}

json_t *sessions_json(const struct sessions *s, const struct access_user *viewer)
{
    json_t *list = json_array();
    struct session_info x;

    for (uint32_t i = 0; i < s->cfg.max_sessions; i++)
        if (sessions_info(s, i, &x) && (viewer->all || x.uid == viewer->uid))
            json_array_append_new(list, session_json(s, &x));
    return list;
}
