/* SPDX-License-Identifier: BSD-3-Clause */
/* Handshakes: INIT out, RESPONSE and COOKIE in; INIT in, RESPONSE and COOKIE out. */
#include <string.h>

#include "assoc/assoc_internal.h"
#include "base/check.h"
#include "crypto/aead.h"
#include "crypto/secret.h"

/* Both sides must have the same: the version of the protocol. */
#define PROLOGUE "Sluice 2"

_Static_assert(NOISE_INIT_BYTES + WIRE_OFFER_BYTES == WIRE_MAC1_OFF - WIRE_NOISE_OFF,
               "INIT has room for the message");
_Static_assert(NOISE_RESPONSE_BYTES + WIRE_OFFER_BYTES == WIRE_RESPONSE_BYTES - WIRE_NOISE_OFF,
               "RESPONSE has room for the message");
_Static_assert(WIRE_RESPONSE_BYTES <= WIRE_INIT_BYTES && WIRE_COOKIE_BYTES <= WIRE_INIT_BYTES,
               "an answer would be longer than its INIT");

/* ---- we ask ----------------------------------------------------------------------------- */

/* Writes a new INIT. False: there is no slot for the association yet, or the peer's public key is
 * none. */
static bool attempt_begin(struct assoc *a, struct peer *p, uint64_t now, uint64_t wall_ns)
{
    struct attempt *t = &p->attempt;
    uint8_t ephemeral[DH_BYTES], payload[WIRE_OFFER_BYTES];
    uint32_t slot = t->number != 0 ? t->slot : slot_new(a, p, now);

    if (slot == NONE)
        return false;
    *t = (struct attempt){.slot = slot, .begun_ns = now};
    do
        drbg_bytes(&a->random, &t->number, sizeof t->number);
    while (t->number == 0);
    drbg_bytes(&a->random, ephemeral, sizeof ephemeral);
    a->time_ns = wall_ns > a->time_ns ? wall_ns : a->time_ns + 1; /* the clock may go back */
    struct wire_offer offer = {
        .time_ns = a->time_ns,
        .association = p->slots[slot].number,
        .ciphers = a->cfg.ciphers,
    };

    wire_put_offer(payload, &offer);
    wire_put_init(t->bytes, t->number);
    int rc = noise_init_write(&t->noise, &a->cfg.self, p->cfg.public_key, ephemeral, PROLOGUE,
                              payload, sizeof payload, t->bytes + WIRE_NOISE_OFF);

    secret_wipe(ephemeral, sizeof ephemeral);
    if (rc != 0) {
        slot_drop(p, slot);
        t->number = 0;
    }
    return rc == 0;
}

/* Sends our INIT, with the cookie that the peer wants in it. */
static void attempt_send(struct assoc *a, struct peer *p, uint64_t now, struct assoc_out *out)
{
    mac_put(p->attempt.bytes, p->cfg.public_key, &p->cookie, ASSOC_COOKIE_NS, now);
    p->state.asked_at = now;
    COUNT(a, init_sent);
    out->len = WIRE_INIT_BYTES;
    memcpy(out->bytes, p->attempt.bytes, WIRE_INIT_BYTES);
}

/* Is it too early to repeat our INIT? */
static bool sent_lately(const struct peer *p, uint64_t now)
{
    return now - p->state.asked_at < ASSOC_REPEAT_NS << p->attempt.repeats;
}

void assoc_want(struct assoc *a, uint32_t peer, bool doubt, uint64_t now, uint64_t wall_ns,
                struct assoc_out *out)
{
    CHECK(peer < a->entries);

    struct peer *p = &a->peers[peer];
    struct attempt *t = &p->attempt;
    uint64_t age = role_age_ns(p, OUT_CURRENT, now);

    out->len = 0;
    out->install = false;
    bool again = t->number != 0 && now - t->begun_ns < ASSOC_ATTEMPT_NS;

    if (!p->used || age < (doubt ? ASSOC_DOUBT_NS : ASSOC_RENEW_NS) ||
        (again ? sent_lately(p, now) : !attempt_begin(a, p, now, wall_ns)))
        return;
    if (again)
        t->repeats += t->repeats < ASSOC_DOUBLINGS;
    attempt_send(a, p, now, out);
}

/* The peer that we have asked with a handshake of this number, not too long ago. */
static struct peer *asked_find(struct assoc *a, uint64_t number, uint64_t now)
{
    for (uint32_t i = 0; i < a->entries; i++) {
        struct peer *p = &a->peers[i];

        if (p->used && p->attempt.number == number && attempt_lives(&p->attempt, now))
            return p;
    }
    return NULL;
}

static void install_fill(const struct assoc *a, const struct peer *p, uint32_t slot,
                         struct assoc_out *out)
{
    out->install = true;
    out->keys.slot = slot_index(a, p, slot);
    out->keys.number = p->slots[slot].number;
    out->keys.peer = (uint32_t)(p - a->peers);
}

static void response_take(struct assoc *a, const uint8_t *packet, uint64_t number, uint64_t now,
                          struct assoc_out *out)
{
    struct peer *p = asked_find(a, number, now);
    uint8_t payload[WIRE_OFFER_BYTES];
    struct wire_choice choice;

    if (p == NULL) {
        COUNT(a, drop_unasked);
        return;
    }
    if (noise_response_read(&p->attempt.noise, p->cfg.shared_key, packet + WIRE_NOISE_OFF,
                            sizeof payload, payload, &out->keys.keys) != 0) {
        p->state.failures++;
        COUNT(a, drop_response);
        return;
    }
    uint32_t slot = p->attempt.slot;

    secret_wipe(&p->attempt, sizeof p->attempt);
    if (wire_parse_choice(payload, &choice) != WIRE_OK || choice.cipher >= AEAD_CIPHERS ||
        (a->cfg.ciphers & 1u << choice.cipher) == 0) {
        secret_wipe(&out->keys.keys, sizeof out->keys.keys);
        slot_drop(p, slot);
        COUNT(a, drop_cipher);
        return;
    }
    slot_install(p, OUT_CURRENT, slot, now);
    p->state.answered_at = now;
    COUNT(a, response_taken);
    install_fill(a, p, slot, out);
    out->keys.remote = choice.association;
    out->keys.outgoing = true;
    out->keys.cipher = (enum aead_cipher)choice.cipher;
}

/* Is a cookie that came the one that our INIT carries? Then its COOKIE, or our first INIT, was
 * doubled on the path. */
static bool cookie_same(const struct mac_cookie *ours, const struct mac_cookie *came)
{
    return ours->given && came->at_ns - ours->at_ns < ASSOC_COOKIE_NS &&
           secret_equal(ours->value, came->value, sizeof ours->value);
}

/* The peer wants to see that we have our address: the same INIT goes again, with mac2. */
static void cookie_take(struct assoc *a, const uint8_t *packet, uint64_t number, uint64_t now,
                        struct assoc_out *out)
{
    struct peer *p = asked_find(a, number, now);
    struct mac_cookie cookie;

    if (p == NULL || !mac_cookie_take(&cookie, p->cfg.public_key, p->attempt.bytes, packet, now) ||
        cookie_same(&p->cookie, &cookie)) {
        COUNT(a, drop_unasked);
        return;
    }
    COUNT(a, cookie_taken);
    p->cookie = cookie;
    attempt_send(a, p, now, out);
}

/* ---- we are asked ----------------------------------------------------------------------- */

/* An INIT on its way through init_take(). */
struct arrival {
    const uint8_t *packet;
    uint64_t number; /* of the handshake */
    const struct addr *from;
    uint16_t port;
    uint64_t now;
    struct noise noise;
    struct wire_offer offer;
    bool proved; /* mac2 is right: the sender gets what is sent to its address */
};

static void cookie_send(struct assoc *a, const struct arrival *in, struct assoc_out *out)
{
    COUNT(a, cookie_sent);
    out->len = wire_put_cookie(out->bytes, in->number);
    mac_cookie_put(&a->secret, &a->random, a->cfg.self.public_key, in->packet, in->from, in->port,
                   ASSOC_COOKIE_NS, in->now, out->bytes);
}

/* The peer whose public key the INIT has shown, at an address that is configured for it. */
static struct peer *sender_find(struct assoc *a, const struct arrival *in)
{
    for (uint32_t i = 0; i < a->entries; i++) {
        struct peer *p = &a->peers[i];

        if (!p->used || memcmp(p->cfg.public_key, in->noise.peer_public, DH_BYTES) != 0)
            continue;
        if (peer_at(p, in->from))
            return p;
        COUNT(a, drop_from);
        return NULL;
    }
    COUNT(a, drop_stranger);
    return NULL;
}

/* The INIT that was answered with a pending association has come again. Nothing shows yet that the
 * peer has the answer, so it gets the same one. */
static bool again_take(struct assoc *a, const struct peer *p, enum role role,
                       const struct arrival *in, struct assoc_out *out)
{
    const struct answered *last = role == IN_PENDING ? &p->pending : &p->rewound;

    if (p->slot_of[role] == NONE || last->port != in->port || !addr_equal(&last->from, in->from) ||
        memcmp(last->mac1, in->packet + WIRE_MAC1_OFF, WIRE_MAC_BYTES) != 0)
        return false;
    COUNT(a, init_again);
    out->len = WIRE_RESPONSE_BYTES;
    memcpy(out->bytes, last->bytes, WIRE_RESPONSE_BYTES);
    return true;
}

/* The cipher that we prefer of those that both can use; AEAD_CIPHERS: there is none. */
static enum aead_cipher cipher_choose(const struct assoc *a, uint16_t offered)
{
    uint16_t both = offered & a->cfg.ciphers;
    uint32_t cipher = a->cfg.cipher;

    if (both & 1u << cipher)
        return (enum aead_cipher)cipher;
    for (cipher = 0; cipher < AEAD_CIPHERS && !(both & 1u << cipher);)
        cipher++;
    return (enum aead_cipher)cipher;
}

/* Answers with an association that has the role from now on: IN_PENDING or IN_REWOUND. */
static void init_answer(struct assoc *a, struct peer *p, enum role role, struct arrival *in,
                        struct assoc_out *out)
{
    struct answered *answered = role == IN_PENDING ? &p->pending : &p->rewound;
    uint8_t ephemeral[DH_BYTES], payload[WIRE_OFFER_BYTES];
    enum aead_cipher cipher = cipher_choose(a, in->offer.ciphers);
    uint32_t slot;

    if (cipher == AEAD_CIPHERS) {
        COUNT(a, drop_cipher);
        return;
    }
    slot = slot_new(a, p, in->now);
    if (slot == NONE)
        return;
    struct wire_choice choice = {p->slots[slot].number, (uint16_t)cipher};

    wire_put_choice(payload, &choice);
    drbg_bytes(&a->random, ephemeral, sizeof ephemeral);
    uint32_t len = wire_put_response(out->bytes, in->number);
    int rc = noise_response_write(&in->noise, p->cfg.shared_key, ephemeral, payload, sizeof payload,
                                  out->bytes + WIRE_NOISE_OFF, &out->keys.keys);

    secret_wipe(ephemeral, sizeof ephemeral);
    if (rc != 0) {
        slot_drop(p, slot);
        COUNT(a, drop_unreadable);
        return;
    }
    slot_install(p, role, slot, in->now);
    *answered = (struct answered){in->offer.time_ns, .from = *in->from, .port = in->port};
    memcpy(answered->mac1, in->packet + WIRE_MAC1_OFF, WIRE_MAC_BYTES);
    memcpy(answered->bytes, out->bytes, len);
    if (role == IN_PENDING)
        p->time_ns = in->offer.time_ns;
    COUNT(a, init_taken);
    out->len = len;
    install_fill(a, p, slot, out);
    out->keys.remote = in->offer.association;
    out->keys.outgoing = false;
    out->keys.cipher = cipher;
}

static void init_take(struct assoc *a, struct arrival *in, bool pressed, struct assoc_out *out)
{
    uint8_t payload[WIRE_OFFER_BYTES];

    if (!mac_first_right(in->packet, a->cfg.self.public_key)) {
        COUNT(a, drop_mac);
        return;
    }
    in->proved = mac_second_right(&a->secret, &a->random, in->packet, in->from, in->port,
                                  ASSOC_COOKIE_NS, in->now);
    if (pressed && !in->proved) {
        COUNT(a, drop_no_cookie);
        cookie_send(a, in, out);
        return;
    }
    if (noise_init_read(&in->noise, &a->cfg.self, PROLOGUE, in->packet + WIRE_NOISE_OFF,
                        sizeof payload, payload) != 0 ||
        wire_parse_offer(payload, &in->offer) != WIRE_OK) {
        COUNT(a, drop_unreadable);
        return;
    }
    struct peer *p = sender_find(a, in);

    if (p == NULL || again_take(a, p, IN_PENDING, in, out) || again_take(a, p, IN_REWOUND, in, out))
        return;
    if (in->offer.time_ns > p->time_ns) {
        init_answer(a, p, IN_PENDING, in, out);
        return;
    }
    if (in->offer.time_ns < p->time_ns && in->proved &&
        role_age_ns(p, IN_REWOUND, in->now) >= ASSOC_REWIND_NS) {
        init_answer(a, p, IN_REWOUND, in, out);
        return;
    }
    COUNT(a, drop_replay);
    if (in->offer.time_ns < p->time_ns && !in->proved)
        cookie_send(a, in, out);
}

void assoc_take(struct assoc *a, const uint8_t *p, uint32_t len, const struct addr *from,
                uint16_t port, bool pressed, uint64_t now, uint64_t wall_ns, struct assoc_out *out)
{
    struct wire_header h;

    out->len = 0;
    out->install = false;
    if (wire_parse_init(p, len, &h) == WIRE_OK) {
        struct arrival in = {.packet = p, .number = h.key, .from = from, .port = port, .now = now};

        init_take(a, &in, pressed, out);
        noise_wipe(&in.noise);
    } else if (wire_parse_response(p, len, &h) == WIRE_OK) {
        response_take(a, p, h.key, now, out);
    } else if (wire_parse_cookie(p, len, &h) == WIRE_OK) {
        cookie_take(a, p, h.key, now, out);
    } else {
        COUNT(a, drop_unreadable);
    }
}
