/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Handshakes in control. Workers say what they want and hand over what came; lib/assoc decides; all
 * workers get the same associations. A Diffie-Hellman takes about 50 us, so only a few handshakes
 * are computed in an interval, and if more wait, those get cookies first.
 */
#include <errno.h>
#include <stdio.h>

#include <rte_malloc.h>

#include "base/check.h"
#include "crypto/aead.h"
#include "crypto/secret.h"
#include "host/control_internal.h"

#define OVER_NS       10000000ull /* associations that are over are looked for this often */
#define MESSAGES_MAX  32u         /* of a worker, in an interval */
#define UNPRESSED_MAX 4u          /* handshakes in an interval that need no cookie */

/* A count for each slot. NULL: no memory. */
static uint8_t *leaving_create(uint32_t slots)
{
    return rte_zmalloc("associations", slots, 0);
}

static struct table_firsts *firsts_create(uint32_t slots)
{
    return rte_zmalloc("associations", slots * sizeof(struct table_firsts), 64);
}

int host_control_secure(struct host_control *c, const struct assoc_config *cfg,
                        enum aead_library library, char *err, size_t err_len)
{
    uint32_t slots = assoc_slots(cfg->peers_max);

    CHECK(cfg->peers_max == c->hosts[0]->cfg.secured_max);
    c->library = library;
    memcpy(c->public_key, cfg->self.public_key, sizeof c->public_key);
    c->assoc = assoc_create(cfg);
    c->leaving = leaving_create(slots);
    c->firsts = firsts_create(slots);
    if (c->assoc != NULL && c->leaving != NULL && c->firsts != NULL)
        return 0;
    snprintf(err, err_len, "no memory for associations; give EAL more (-m)");
    return -ENOMEM;
}

void host_control_set_key_log(struct host_control *c, host_keys_fn *add, void *ctx)
{
    c->key_log = add;
    c->key_log_ctx = ctx;
}

void host_control_set_wall(struct host_control *c, uint64_t wall_ns)
{
    c->wall_ns = wall_ns;
}

const struct assoc_counters *host_control_handshakes(const struct host_control *c)
{
    return c->assoc != NULL ? assoc_counters(c->assoc) : NULL;
}

void host_control_secured(const struct host_control *c, uint32_t i, struct assoc_state *out)
{
    CHECK(i < c->n_secured);
    assoc_state(c->assoc, c->secured[i], out);
}

/* Has each worker room for that many messages? */
static bool rooms(const struct host_control *c, uint32_t messages)
{
    for (uint32_t k = 0; k < c->n; k++)
        if (mail_room(c->hosts[k]->mailbox.down) < messages)
            return false;
    return true;
}

static void send(struct host *h, const struct mail *m)
{
    CHECK(mail_put(h->mailbox.down, m));
}

/* The peers' networks, for one worker, without their numbers. NULL: no memory. */
static struct mail_networks *networks_create(const struct assoc_peer *peers, uint32_t n)
{
    struct mail_networks *out = rte_zmalloc("networks", sizeof *out + n * sizeof out->at[0], 0);

    for (uint32_t i = 0; out != NULL && i < n; i++) {
        memcpy(out->at[i].address, peers[i].address, sizeof out->at[i].address);
        memcpy(out->at[i].prefix_len, peers[i].prefix_len, sizeof out->at[i].prefix_len);
        out->at[i].rights = peers[i].rights;
    }
    if (out != NULL)
        out->n = n;
    return out;
}

static void networks_free(struct mail_networks *networks)
{
    rte_free(networks);
}

int host_control_set_secured(struct host_control *c, const struct assoc_peer *peers, uint32_t n)
{
    struct mail_networks *networks[HOST_WORKERS_MAX] = {NULL};
    int rc = rooms(c, 1) ? 0 : -EAGAIN;

    for (uint32_t k = 0; rc == 0 && k < c->n; k++) {
        networks[k] = networks_create(peers, n);
        rc = networks[k] == NULL ? -ENOMEM : 0;
    }
    if (rc == 0)
        rc = assoc_set_peers(c->assoc, peers, n, c->secured);
    if (rc != 0) {
        for (uint32_t k = 0; k < c->n; k++)
            networks_free(networks[k]);
        return rc;
    }
    c->n_secured = n;
    for (uint32_t k = 0; k < c->n; k++) {
        struct mail m = {.down = MAIL_NETWORKS, .networks = networks[k]};

        CHECK(m.networks != NULL);
        memcpy(m.networks->public_key, c->public_key, sizeof c->public_key);
        for (uint32_t i = 0; i < n; i++)
            m.networks->at[i].peer = c->secured[i];
        send(c->hosts[k], &m);
    }
    return 0;
}

/* Gives a new association to all workers, each with ciphers of its own. */
static void install(struct host_control *c, struct assoc_keys *keys)
{
    struct table_firsts *firsts = &c->firsts[keys->slot];

    memset(firsts, 0, sizeof *firsts); /* no worker has the slot */
    for (uint32_t k = 0; k < c->n; k++) {
        struct mail m = {.down = MAIL_INSTALL, .keys = *keys, .firsts = firsts};

        secret_wipe(&m.keys.keys, sizeof m.keys.keys);
        m.seal = aead_create(c->library, keys->cipher, keys->keys.seal);
        m.open = aead_create(c->library, keys->cipher, keys->keys.open);
        send(c->hosts[k], &m);
    }
    if (c->key_log != NULL)
        c->key_log(c->key_log_ctx, keys);
    secret_wipe(&keys->keys, sizeof keys->keys);
}

/* Gives a worker the packet to send, if there is one. */
static void packet_send(struct host *h, struct mail *m, const struct assoc_out *out)
{
    if (out->len == 0)
        return;
    m->len = out->len;
    memcpy(m->bytes, out->bytes, out->len);
    send(h, m);
}

static void handshake(struct host_control *c, struct host *h, const struct mail *m, bool pressed,
                      uint64_t now_ns)
{
    struct mail answer = {.down = MAIL_ANSWER, .route = m->route};
    struct assoc_out out;

    assoc_take(c->assoc, m->bytes, m->len, &m->route.dst, m->route.dport, pressed, now_ns,
               c->wall_ns, &out);
    if (out.install)
        install(c, &out.keys);
    packet_send(h, &answer, &out);
}

static void wanted(struct host_control *c, struct host *h, const struct mail *m, uint64_t now_ns)
{
    struct mail ask = {.down = MAIL_ASK, .peer = m->peer, .conn = m->conn};
    struct assoc_out out;

    assoc_want(c->assoc, m->peer, m->doubt, now_ns, c->wall_ns, &out);
    packet_send(h, &ask, &out);
}

static void removed(struct host_control *c, const struct mail *m)
{
    aead_destroy(m->seal);
    aead_destroy(m->open);
    if (--c->leaving[m->slot] == 0)
        assoc_freed(c->assoc, m->slot);
}

/* Takes one message of a worker. False: there is none. */
static bool mail_take(struct host_control *c, struct host *h, uint32_t *handshakes, uint64_t now_ns)
{
    struct mail m;

    if (!mail_get(h->mailbox.up, &m))
        return false;
    switch (m.up) {
    /* Both may need room for a packet and an association. Where there is none, they are dropped:
     * they come again. All else must be taken: a worker may wait for room in its ring. */
    case MAIL_WANT:
        if (rooms(c, 2))
            wanted(c, h, &m, now_ns);
        break;
    case MAIL_HANDSHAKE:
        if (rooms(c, 2))
            handshake(c, h, &m, ++*handshakes > UNPRESSED_MAX, now_ns);
        break;
    case MAIL_CONFIRM:
        assoc_confirm(c->assoc, m.slot, m.number, now_ns);
        break;
    case MAIL_REMOVED:
        removed(c, &m);
        break;
    case MAIL_NETWORKS_OLD:
        networks_free(m.networks);
        break;
    }
    return true;
}

/* Takes associations that are over from the workers. */
static void over_run(struct host_control *c, uint64_t now_ns)
{
    struct mail m = {.down = MAIL_REMOVE};

    while (rooms(c, MAIL_MESSAGES / 2) && assoc_over(c->assoc, now_ns, &m.slot)) {
        c->leaving[m.slot] = c->n;
        for (uint32_t k = 0; k < c->n; k++)
            send(c->hosts[k], &m);
    }
}

void association_run(struct host_control *c, uint64_t now)
{
    uint64_t now_ns = clock_ns(&c->hosts[0]->clock, now);
    uint32_t handshakes = 0;

    if (c->assoc == NULL)
        return;
    for (uint32_t k = 0; k < c->n; k++)
        for (uint32_t i = 0; i < MESSAGES_MAX; i++)
            if (!mail_take(c, c->hosts[k], &handshakes, now_ns))
                break;
    if (now_ns - c->over_ns >= OVER_NS) {
        c->over_ns = now_ns;
        over_run(c, now_ns);
    }
}
