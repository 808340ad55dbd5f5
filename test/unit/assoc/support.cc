// SPDX-License-Identifier: BSD-3-Clause
#include "support.hh"

#include <algorithm>
#include <set>

enum wire_type type_of(const Packet &p)
{
    return static_cast<enum wire_type>(p.bytes[0] & 0xf);
}

uint64_t number_of(const Packet &p)
{
    uint64_t n = 0;

    for (int i = 8; i < 16; i++)
        n = n << 8 | p.bytes[i];
    return n;
}

struct addr address_of(const char *text)
{
    struct addr a = {};

    EXPECT_EQ(addr_parse(text, &a), 0) << text;
    return a;
}

Host::Host(Clock *clock_, unsigned id_, uint64_t start, uint16_t ciphers, enum aead_cipher cipher)
    : clock(clock_), id(id_), out(), a(nullptr, assoc_destroy)
{
    struct assoc_config cfg = {};

    std::memset(self.private_key, static_cast<int>(id), sizeof self.private_key);
    dh_public(self.private_key, self.public_key);
    address = address_of(("10.0.0." + std::to_string(id)).c_str());
    port = static_cast<uint16_t>(4000 + id);
    cfg.self = self;
    std::memcpy(cfg.seed, &id, sizeof id);
    std::memcpy(cfg.seed + 8, &start, sizeof start);
    cfg.ciphers = ciphers;
    cfg.cipher = cipher;
    cfg.peers_max = 4;
    a.reset(assoc_create(&cfg));
    EXPECT_NE(a, nullptr);
}

struct assoc_peer Host::as_peer(uint8_t shared_key) const
{
    struct assoc_peer p = {};

    std::memcpy(p.public_key, self.public_key, DH_BYTES);
    std::memset(p.shared_key, shared_key, sizeof p.shared_key);
    p.address[0] = address;
    p.prefix_len[0] = 32;
    return p;
}

int Host::set_peers(const std::vector<struct assoc_peer> &configured)
{
    std::vector<uint32_t> numbers(configured.size());
    int rc = assoc_set_peers(a.get(), configured.data(), static_cast<uint32_t>(configured.size()),
                             numbers.data());

    if (rc == 0)
        peers = numbers;
    return rc;
}

std::optional<Packet> Host::want(uint32_t peer, bool doubt)
{
    assoc_want(a.get(), peer, doubt, clock->now, wall(), &out);
    EXPECT_FALSE(out.install);
    return finish();
}

std::optional<Packet> Host::take(const Packet &p, bool pressed)
{
    Exact bytes(p.bytes); // ends where its memory ends

    assoc_take(a.get(), bytes.data(), static_cast<uint32_t>(p.bytes.size()), &p.from, p.port,
               pressed, clock->now, wall(), &out);
    if (out.len > 0 && type_of(p) == WIRE_INIT) {
        EXPECT_LE(out.len, p.bytes.size()) << "an answer is longer than its question";
    }
    return finish();
}

std::optional<Packet> Host::finish()
{
    if (out.install) {
        EXPECT_LT(out.keys.slot, assoc_slots(4));
        EXPECT_EQ(table.count(out.keys.slot) + leaving.count(out.keys.slot), 0u)
            << "a slot that the workers still have";
        EXPECT_NE(out.keys.number, 0u);
        EXPECT_EQ(out.keys.number % assoc_slots(4), out.keys.slot);
        EXPECT_NE(std::memcmp(out.keys.keys.seal, out.keys.keys.open, NOISE_KEY_BYTES), 0);
        EXPECT_FALSE(secret_unset(out.keys.keys.seal, NOISE_KEY_BYTES));
        for (const auto &[slot, e] : table) {
            EXPECT_NE(e.k.number, out.keys.number) << "one number for two associations";
        }
        table[out.keys.slot] = {out.keys, ++installed, clock->now};
    }
    if (out.len == 0)
        return std::nullopt;
    return Packet{Bytes(out.bytes, out.bytes + out.len), address, port};
}

std::optional<uint32_t> Host::over()
{
    uint32_t slot;

    if (!assoc_over(a.get(), clock->now, &slot))
        return std::nullopt;
    EXPECT_EQ(table.erase(slot), 1u) << "over, but never installed";
    leaving.insert(slot);
    return slot;
}

void Host::freed(uint32_t slot)
{
    leaving.erase(slot);
    assoc_freed(a.get(), slot);
}

unsigned Host::drain()
{
    unsigned n = 0;

    for (std::optional<uint32_t> slot; (slot = over()); n++)
        freed(*slot);
    return n;
}

std::vector<const Entry *> Host::all(uint32_t peer, bool outgoing) const
{
    std::vector<const Entry *> found;

    for (const auto &[slot, e] : table)
        if (e.k.peer == peer && e.k.outgoing == outgoing)
            found.push_back(&e);
    std::sort(found.begin(), found.end(),
              [](const Entry *x, const Entry *y) { return x->since > y->since; });
    return found;
}

const Entry *Host::newest(uint32_t peer, bool outgoing) const
{
    std::vector<const Entry *> found = all(peer, outgoing);

    return found.empty() ? nullptr : found[0];
}

bool Host::hear(const struct assoc_keys &sealed)
{
    for (auto &[slot, e] : table) {
        if (e.k.number != sealed.remote || e.k.outgoing ||
            std::memcmp(e.k.keys.open, sealed.keys.seal, NOISE_KEY_BYTES) != 0)
            continue;
        assoc_confirm(a.get(), slot, e.k.number, clock->now);
        return true;
    }
    return false;
}

struct assoc_state Host::state(uint32_t peer) const
{
    struct assoc_state s;

    assoc_state(a.get(), peer, &s);
    return s;
}

HostState Host::save() const
{
    EXPECT_TRUE(leaving.empty());
    return {*a, std::vector<struct peer>(a->peers, a->peers + a->entries), table, installed};
}

void Host::restore(const HostState &s)
{
    *a = s.whole;
    std::copy(s.peers.begin(), s.peers.end(), a->peers);
    table = s.table;
    installed = s.installed;
}

bool ends_match(const struct assoc_keys &x, const struct assoc_keys &y)
{
    return x.number == y.remote && x.remote == y.number && x.outgoing != y.outgoing;
}

void expect_same(const struct assoc_keys &x, const struct assoc_keys &y)
{
    EXPECT_EQ(x.cipher, y.cipher);
    EXPECT_EQ(std::memcmp(x.keys.seal, y.keys.open, NOISE_KEY_BYTES), 0);
    EXPECT_EQ(std::memcmp(x.keys.open, y.keys.seal, NOISE_KEY_BYTES), 0);
}

void expect_ends(const Host &asker, const Host &answerer, uint32_t asker_peer,
                 uint32_t answerer_peer)
{
    const Entry *x = asker.newest(asker_peer, true), *y = answerer.newest(answerer_peer, false);

    ASSERT_NE(x, nullptr);
    ASSERT_NE(y, nullptr);
    EXPECT_TRUE(ends_match(x->k, y->k));
    expect_same(x->k, y->k);
}

Two::Two(uint8_t shared_key_) : shared_key(shared_key_)
{
    a = std::make_unique<Host>(&clock, 1);
    b = std::make_unique<Host>(&clock, 2);
    EXPECT_EQ(a->set_peers({b->as_peer(shared_key)}), 0);
    EXPECT_EQ(b->set_peers({a->as_peer(shared_key)}), 0);
}

void Two::restart(std::unique_ptr<Host> &h)
{
    const uint64_t offset = h->wall_offset;
    const unsigned id = h->id;

    h = std::make_unique<Host>(&clock, id, ++starts);
    h->wall_offset = offset;
    EXPECT_EQ(h->set_peers({(id == 1 ? *b : *a).as_peer(shared_key)}), 0);
}

void Two::wait(uint64_t ns)
{
    clock.now += ns;
}

bool Two::handshake(Host &asker, Host &answerer, bool doubt)
{
    std::optional<Packet> init = asker.want(0, doubt), response;

    if (!init)
        return false;
    response = answerer.take(*init);
    if (response && type_of(*response) == WIRE_COOKIE) {
        init = asker.take(*response);
        response = init ? answerer.take(*init) : std::nullopt;
    }
    if (!response)
        return false;
    EXPECT_FALSE(asker.take(*response));
    return asker.out.install;
}

bool Two::use(Host &asker, Host &answerer)
{
    const Entry *e = asker.newest(0, true);

    return e != nullptr && answerer.hear(e->k);
}
