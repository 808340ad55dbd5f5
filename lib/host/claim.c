/* SPDX-License-Identifier: BSD-3-Clause */
/* See claim.h. */
#include "host/claim.h"

#include <string.h>

#include "host/host_internal.h"

#define PROBES        3u
#define ANNOUNCES     2u
#define PROBE_GAP_NS  100000000ull
#define AGAIN_NS      2000000000ull  /* between announcements (RFC 5227: ANNOUNCE_INTERVAL) */
#define DEFEND_GAP_NS 10000000000ull /* RFC 5227: DEFEND_INTERVAL */

/* Index of a among our addresses, whether it is in use or not; -1: it is none of them. */
static int own(const struct host *h, const struct addr *a)
{
    for (int i = 0; i < 2; i++)
        if (!addr_is_unset(a) && addr_equal(a, &h->cfg.address[i]))
            return i;
    return -1;
}

static bool yields(const struct claim *c)
{
    return counter_get(&c->yields) != 0;
}

bool claim_yields(const struct host *h, const struct addr *a)
{
    int i = own(h, a);

    return i >= 0 && yields(&h->claims[i]);
}

void claim_init(struct host *h)
{
    h->claims[0].next = h->claims[1].next = TIME_NEVER;
}

void host_claim(struct host *h)
{
    __atomic_fetch_add(&h->claims_asked, 1, __ATOMIC_RELEASE);
}

static void say(struct host *h, int i, bool probe)
{
    static const struct addr nobody;
    const struct addr *a = &h->cfg.address[i];
    uint8_t bytes[NEIGH_FRAME_MAX];
    uint16_t len = probe ? neigh_put_request(bytes, &h->cfg.mac, &nobody, a, h->cfg.vlan)
                         : neigh_put_announce(bytes, &h->cfg.mac, a, h->cfg.vlan);

    if (h->cfg.worker != 0)
        return;
    host_count(h, COUNT_tx_claim);
    reply_neighbor(h, bytes, len, false);
}

/* A random time between ns and 2 ns, so that stations that began together do not stay in step. */
static uint64_t spread(struct host *h, uint64_t ns)
{
    return clock_cycles(&h->clock, ns + secret_u64(&h->random) % ns);
}

static void held(struct host *h, struct claim *c)
{
    c->held = true;
    c->said = PROBES;
    c->next = h->now;
    counter_set(&c->yields, 0);
}

/* A step of a claim that yields: probes the address again, until no other station has used it for
 * DEFEND_GAP_NS. */
static void claim_wait(struct host *h, int i)
{
    struct claim *c = &h->claims[i];

    if (h->now - c->heard_at >= clock_cycles(&h->clock, DEFEND_GAP_NS)) {
        held(h, c);
        return;
    }
    say(h, i, true);
    c->next = time_min(h->now + spread(h, AGAIN_NS),
                       c->heard_at + clock_cycles(&h->clock, DEFEND_GAP_NS));
}

static void claim_step(struct host *h, int i)
{
    struct claim *c = &h->claims[i];

    if (yields(c)) {
        claim_wait(h, i);
        return;
    }
    bool probe = c->said < PROBES;

    say(h, i, probe);
    c->held = c->held || !probe;
    c->said++;
    c->next = h->now + clock_cycles(&h->clock, probe ? PROBE_GAP_NS : AGAIN_NS);
    if (c->said == PROBES + ANNOUNCES)
        c->next = TIME_NEVER;
}

void claim_run(struct host *h)
{
    uint64_t asked = __atomic_load_n(&h->claims_asked, __ATOMIC_ACQUIRE);

    for (int i = 0; i < 2; i++) {
        struct claim *c = &h->claims[i];

        if (asked != h->claims_begun && !addr_is_unset(&h->cfg.address[i]) && !yields(c)) {
            c->begun = true;
            c->said = 0;
            c->next = h->now;
        }
        while (!time_before(h->now, c->next))
            claim_step(h, i);
    }
    h->claims_begun = asked;
}

uint64_t claim_next(const struct host *h)
{
    if (__atomic_load_n(&h->claims_asked, __ATOMIC_RELAXED) != h->claims_begun)
        return h->now;
    return time_min(h->claims[0].next, h->claims[1].next);
}

static uint64_t mac_number(const struct rte_ether_addr *mac)
{
    uint64_t number = 0;

    for (int k = 0; k < RTE_ETHER_ADDR_LEN; k++)
        number = number << 8 | mac->addr_bytes[k];
    return number;
}

/* Another station, with MAC address `other`, uses our address i. */
static void conflict(struct host *h, int i, uint64_t other)
{
    struct claim *c = &h->claims[i];

    host_count(h, COUNT_rx_conflict);
    c->heard_at = h->now;
    counter_set(&c->other, other);
    counter_add(&c->conflicts, 1);
    if (c->begun && !c->held) {
        if (!yields(c))
            c->next = h->now + spread(h, AGAIN_NS);
        counter_set(&c->yields, 1);
    } else if (c->defended_at == 0 ||
               h->now - c->defended_at >= clock_cycles(&h->clock, DEFEND_GAP_NS)) {
        c->defended_at = h->now;
        say(h, i, false);
    }
}

bool claim_hear(struct host *h, const struct neigh *n, const struct frame *f)
{
    const struct addr *user = n->kind == NEIGH_REPLY ? &n->target : &n->sender;
    uint64_t other = mac_number(n->has_mac ? &n->mac : &f->src_mac), us = mac_number(&h->cfg.mac);
    int i = own(h, user);

    if (i < 0 && n->kind == NEIGH_REQUEST && addr_is_unset(user)) { /* another station's probe */
        i = own(h, &n->target);
        if (i < 0 || !h->claims[i].begun || h->claims[i].held)
            return false;
        if (other > us)
            return false; /* our answer makes the other station yield */
    }
    if (i < 0 || other == us)
        return false;
    conflict(h, i, other);
    return true;
}

bool host_address(const struct host *h, uint32_t i, struct host_address *out)
{
    if (i >= 2 || addr_is_unset(&h->cfg.address[i]))
        return false;
    const struct claim *c = &h->claims[i];
    uint64_t other = counter_get(&c->other);

    *out = (struct host_address){.address = h->cfg.address[i],
                                 .used = counter_get(&c->yields) == 0,
                                 .conflicts = counter_get(&c->conflicts)};
    for (int k = 0; k < RTE_ETHER_ADDR_LEN; k++)
        out->other.addr_bytes[k] = (uint8_t)(other >> (40 - 8 * k));
    return true;
}
