/* SPDX-License-Identifier: BSD-3-Clause */
/* What people see of client sessions. */
#include "sluiced/session_state.h"

#include <string.h>

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
