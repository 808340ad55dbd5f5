/* SPDX-License-Identifier: BSD-3-Clause */
/* See show_peers.h. */
#include "sluiced/observe/show_peers.h"

#include "base/counter.h"
#include "common/clock.h"
#include "crypto/key.h"
#include "sluiced/config/config_keys.h"
#include "sluiced/observe/put.h"

/* What a person has to know about the association with a peer. */
static const char *state_text(const struct assoc_state *s)
{
    if (s->outgoing + s->incoming > 0)
        return "secured";
    if (s->failures > 0)
        return "its answers cannot be read: do both have the same shared key?";
    return s->asked_at > s->answered_at ? "asked, no answer" : "not in use";
}

static json_t *peer_json(const struct daemon *d, uint32_t port, uint32_t i)
{
    const struct config_secrets *secrets = d->config.secrets;
    const struct config_peer *peer = &d->config.peers[secrets->section[i]];
    uint64_t now_ns = daemon_cycles_ns(d, clock_now());
    char key[KEY_TEXT_BYTES], text[ADDR_TEXT_MAX];
    struct assoc_state s = {0};
    json_t *o = json_object();
    bool due = d->security_due[port]; /* the port's control has other peers yet */

    if (!due)
        host_control_secured(d->controls[port], i, &s);
    key_format(peer->public_key, key);
    put_text(o, "port", d->config.ports[port].name);
    put_text(o, "peer", peer->name);
    for (uint32_t f = 0; f < 2; f++)
        if (!addr_is_unset(&peer->address[f].addr))
            put_text(o, f == 0 ? "address" : "address6", addr_format(&peer->address[f].addr, text));
    put_text(o, "state", due ? "being changed" : state_text(&s));
    put_count(o, "outgoing", s.outgoing);
    put_count(o, "incoming", s.incoming);
    if (s.answered_at != 0)
        put_count(o, "handshake_ago_ns", now_ns - s.answered_at);
    put_count(o, "failures", s.failures);
    put_text(o, "public_key", key);
    return o;
}

json_t *show_peers(const struct daemon *d, const struct access_user *viewer)
{
    json_t *list = json_array();

    for (uint32_t p = 0; p < d->n_ports; p++) {
        if (d->config.ports[p].security == HOST_SECURITY_NONE)
            continue;
        for (uint32_t i = 0; i < d->config.secrets->n_peers; i++)
            if (access_allows(&d->config.peers[d->config.secrets->section[i]].users, viewer))
                json_array_append_new(list, peer_json(d, p, i));
    }
    return list;
}

json_t *show_handshakes(const struct daemon *d, uint32_t port)
{
    const struct assoc_counters *c = host_control_handshakes(d->controls[port]);
    json_t *o = c != NULL ? json_object() : NULL;

    if (o == NULL)
        return NULL;
#define X(name) put_count(o, #name, counter_get(&c->name));
    ASSOC_COUNTERS(X)
#undef X
    return o;
}
