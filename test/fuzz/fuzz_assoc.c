/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target for lib/assoc. Two hosts shake hands as the input says (fuzz_assoc.h), with packets
 * that are delivered, changed, invented, or sealed with any payload. After each step the promises
 * of assoc/assoc.h must hold: an answer is no longer than its INIT, a slot and a number are used
 * once, and no packet ends an association that is in use.
 *
 * rte_zmalloc() and rte_free() are those of libc here, for AddressSanitizer.
 */
#include "fuzz_assoc.h"

#include <stdlib.h>
#include <string.h>

#include <rte_malloc.h>

#include "assoc/assoc.h"
#include "assoc/mac.h"
#include "base/check.h"
#include "wire/assoc.h"

#define PEERS_MAX 1u
#define SLOTS_MAX 64u
#define SECOND_NS 1000000000ull
#define PROLOGUE  "Sluice 2"

struct fuzz_assoc_counts fuzz_assoc_counts;

/* As the workers of a host see an association. */
struct known {
    bool used, leaving, outgoing, confirmed;
    uint32_t number;
    uint64_t since_ns, order;
};

struct host {
    struct assoc *a;
    struct noise_self self;
    struct addr address;
    struct known known[SLOTS_MAX];
    uint64_t installed;
};

struct fuzz {
    struct host hosts[2];
    uint64_t now_ns;
    struct drbg random;
    uint8_t letter[256], init[WIRE_INIT_BYTES]; /* the letter; the last INIT */
    uint32_t letter_len;
    const uint8_t *in, *end;
};

void *rte_zmalloc(const char *type, size_t size, unsigned int align)
{
    return calloc(1, size);
}

void rte_free(void *p)
{
    free(p);
}

static uint8_t byte_take(struct fuzz *f)
{
    return f->in < f->end ? *f->in++ : 0;
}

static void host_start(struct host *h, uint8_t id)
{
    struct assoc_config cfg = {.ciphers = 1u << AEAD_AES_128_GCM | 1u << AEAD_AES_256_GCM,
                               .cipher = AEAD_AES_128_GCM,
                               .peers_max = PEERS_MAX};

    memset(h->self.private_key, id, DH_BYTES);
    dh_public(h->self.private_key, h->self.public_key);
    h->address = addr_from_v4(0x0a000000u | id);
    cfg.self = h->self;
    cfg.seed[0] = id;
    h->a = assoc_create(&cfg);
    CHECK(h->a != NULL && assoc_slots(PEERS_MAX) <= SLOTS_MAX);
}

static void host_know(struct host *h, const struct host *other)
{
    struct assoc_peer peer = {.address = {other->address}, .prefix_len = {32}};
    uint32_t number;

    memcpy(peer.public_key, other->self.public_key, DH_BYTES);
    CHECK(assoc_set_peers(h->a, &peer, 1, &number) == 0 && number == 0);
}

static void letter_put(struct fuzz *f, const uint8_t *bytes, uint32_t len)
{
    memcpy(f->letter, bytes, len);
    f->letter_len = len;
    if (len == WIRE_INIT_BYTES)
        memcpy(f->init, bytes, len);
}

/* The workers have given the slot back. */
static void slot_free(struct host *h, uint32_t slot)
{
    h->known[slot] = (struct known){0};
    assoc_freed(h->a, slot);
}

/* Takes what is over from the workers. `packet`: because of one; installed: it was a RESPONSE. */
static void over_run(struct fuzz *f, struct host *h, bool packet, bool installed, bool keep)
{
    uint32_t slot;

    while (assoc_over(h->a, f->now_ns, &slot)) {
        struct known *k = &h->known[slot];

        CHECK(slot < SLOTS_MAX && k->used && !k->leaving);
        if (packet && f->now_ns - k->since_ns < ASSOC_KEEP_NS)
            CHECK(k->outgoing ? installed : !k->confirmed);
        fuzz_assoc_counts.over++;
        if (keep)
            k->leaving = true;
        else
            slot_free(h, slot);
    }
}

static void install_check(struct fuzz *f, struct host *h, const struct assoc_keys *keys)
{
    CHECK(keys->slot < assoc_slots(PEERS_MAX) && !h->known[keys->slot].used);
    CHECK(keys->number != 0 && keys->number % assoc_slots(PEERS_MAX) == keys->slot);
    CHECK(keys->remote != 0 && keys->peer == 0);
    CHECK(keys->cipher == AEAD_AES_128_GCM || keys->cipher == AEAD_AES_256_GCM);
    for (uint32_t i = 0; i < SLOTS_MAX; i++)
        CHECK(!h->known[i].used || h->known[i].number != keys->number);
    h->known[keys->slot] = (struct known){
        .used = true,
        .outgoing = keys->outgoing,
        .number = keys->number,
        .since_ns = f->now_ns,
        .order = ++h->installed,
    };
    if (keys->outgoing)
        fuzz_assoc_counts.outgoing++;
    else
        fuzz_assoc_counts.incoming++;
}

static void want_run(struct fuzz *f, struct host *h, bool doubt)
{
    struct assoc_out out;

    assoc_want(h->a, 0, doubt, f->now_ns, f->now_ns, &out);
    CHECK(!out.install && (out.len == 0 || out.len == WIRE_INIT_BYTES));
    if (out.len > 0)
        letter_put(f, out.bytes, out.len);
}

static void deliver_run(struct fuzz *f, struct host *h, const struct host *from, bool pressed)
{
    uint8_t *exact = malloc(f->letter_len + 1); /* ends where its memory ends */
    struct assoc_out out;

    CHECK(exact != NULL);
    memcpy(exact + 1, f->letter, f->letter_len);
    over_run(f, h, false, false, false);
    assoc_take(h->a, exact + 1, f->letter_len, &from->address, 4000, pressed, f->now_ns, f->now_ns,
               &out);
    free(exact);
    if (out.install)
        install_check(f, h, &out.keys);
    over_run(f, h, true, out.install && out.keys.outgoing, false);
    if (out.len == 0) {
        fuzz_assoc_counts.refused += !out.install;
        return;
    }
    CHECK(out.len <= f->letter_len || f->letter_len == WIRE_COOKIE_BYTES);
    fuzz_assoc_counts.cookies += out.len == WIRE_COOKIE_BYTES;
    letter_put(f, out.bytes, out.len);
}

static void change_run(struct fuzz *f, const struct host *to, bool right_mac, bool steal)
{
    struct mac_cookie cookie = {0};
    uint8_t at = byte_take(f), mask = byte_take(f);

    if (steal && f->letter_len == WIRE_COOKIE_BYTES &&
        mac_cookie_take(&cookie, to->self.public_key, f->init, f->letter, f->now_ns))
        letter_put(f, f->init, WIRE_INIT_BYTES);
    else if (f->letter_len > 0)
        f->letter[at % f->letter_len] ^= mask;
    if ((right_mac || cookie.given) && f->letter_len == WIRE_INIT_BYTES)
        mac_put(f->letter, to->self.public_key, &cookie, ASSOC_COOKIE_NS, f->now_ns);
}

static void raw_run(struct fuzz *f)
{
    uint8_t bytes[UINT8_MAX];
    uint32_t len = byte_take(f);

    for (uint32_t i = 0; i < len; i++)
        bytes[i] = byte_take(f);
    letter_put(f, bytes, len);
}

/* A message that is sealed as it must be, with any payload. */
static void forge_run(struct fuzz *f, const struct host *h, const struct host *other, bool response)
{
    const struct mac_cookie none = {0};
    uint8_t payload[WIRE_OFFER_BYTES], ephemeral[DH_BYTES], ignored[WIRE_OFFER_BYTES];
    uint8_t out[WIRE_INIT_BYTES];
    struct noise_keys keys;
    struct noise n;

    for (uint32_t i = 0; i < sizeof payload; i++)
        payload[i] = byte_take(f);
    drbg_bytes(&f->random, ephemeral, sizeof ephemeral);
    if (!response) {
        wire_put_init(out, 1 + byte_take(f));
        CHECK(noise_init_write(&n, &other->self, h->self.public_key, ephemeral, PROLOGUE, payload,
                               sizeof payload, out + WIRE_NOISE_OFF) == 0);
        mac_put(out, h->self.public_key, &none, ASSOC_COOKIE_NS, f->now_ns);
        letter_put(f, out, WIRE_INIT_BYTES);
    } else if (f->letter_len == WIRE_INIT_BYTES &&
               noise_init_read(&n, &h->self, PROLOGUE, f->letter + WIRE_NOISE_OFF, sizeof ignored,
                               ignored) == 0) {
        wire_put_response(out, 1);
        memcpy(out + 8, f->letter + 8, 8); /* the number of the handshake */
        CHECK(noise_response_write(&n, (uint8_t[NOISE_KEY_BYTES]){0}, ephemeral, payload,
                                   sizeof payload, out + WIRE_NOISE_OFF, &keys) == 0);
        letter_put(f, out, WIRE_RESPONSE_BYTES);
    }
}

static void confirm_run(struct fuzz *f, struct host *h, bool other_number)
{
    struct assoc_state before, after;
    struct known *newest = NULL;

    for (uint32_t i = 0; i < SLOTS_MAX; i++) {
        struct known *k = &h->known[i];

        if (k->used && !k->leaving && !k->outgoing && (newest == NULL || k->order > newest->order))
            newest = k;
    }
    if (newest == NULL)
        return;
    over_run(f, h, false, false, false);
    assoc_state(h->a, 0, &before);
    assoc_confirm(h->a, (uint32_t)(newest - h->known), newest->number + other_number, f->now_ns);
    assoc_state(h->a, 0, &after);
    CHECK(!other_number || after.incoming == before.incoming);
    if (!other_number && newest->used) {
        fuzz_assoc_counts.confirmed += !newest->confirmed;
        newest->confirmed = true;
    }
    over_run(f, h, false, false, false);
}

static void over_step(struct fuzz *f, struct host *h, bool keep)
{
    over_run(f, h, false, false, keep);
    for (uint32_t i = 0; i < SLOTS_MAX && !keep; i++)
        if (h->known[i].leaving)
            slot_free(h, i);
}

static void step_run(struct fuzz *f, uint8_t step)
{
    struct host *h = &f->hosts[(step & STEP_AT_B) != 0], *other = &f->hosts[h == f->hosts];
    bool flag = step & STEP_FLAG;

    fuzz_assoc_counts.steps[step & 7]++;
    switch ((enum assoc_step)(step & 7)) {
    case STEP_TIME:
        f->now_ns += byte_take(f) * (SECOND_NS / 10);
        return;
    case STEP_WANT:
        want_run(f, h, flag);
        return;
    case STEP_DELIVER:
        deliver_run(f, h, other, flag);
        return;
    case STEP_CHANGE:
        change_run(f, h, flag, step & STEP_MORE);
        return;
    case STEP_RAW:
        raw_run(f);
        return;
    case STEP_FORGE:
        forge_run(f, h, other, flag);
        return;
    case STEP_CONFIRM:
        confirm_run(f, h, flag);
        return;
    case STEP_OVER:
        over_step(f, h, flag);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz f = {.now_ns = SECOND_NS, .in = data, .end = data + size};
    const uint8_t seed[DRBG_SEED_BYTES] = {9};

    drbg_init(&f.random, seed);
    for (uint8_t i = 0; i < 2; i++)
        host_start(&f.hosts[i], (uint8_t)(i + 1));
    for (uint32_t i = 0; i < 2; i++)
        host_know(&f.hosts[i], &f.hosts[1 - i]);
    for (int steps = 0; f.in < f.end && steps < 60; steps++)
        step_run(&f, byte_take(&f));
    for (uint32_t i = 0; i < 2; i++)
        assoc_destroy(f.hosts[i].a);
    return 0;
}
