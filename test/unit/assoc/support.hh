// SPDX-License-Identifier: BSD-3-Clause
// Hosts that shake hands in virtual time: lib/assoc with a table of associations, as a worker has
// it. A host checks everything that holds for each call.
#ifndef SLUICE_TEST_UNIT_ASSOC_SUPPORT_HH
#define SLUICE_TEST_UNIT_ASSOC_SUPPORT_HH

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "bytes.hh"

extern "C" {
#include "assoc/assoc.h"
#include "assoc/assoc_internal.h"
#include "crypto/aead.h"
#include "crypto/secret.h"
}

const uint64_t kMs = 1000000, kSecond = 1000 * kMs;
const uint16_t kCiphers =
    1u << AEAD_AES_128_GCM | 1u << AEAD_AES_256_GCM | 1u << AEAD_CHACHA20_POLY1305;
const uint64_t kYear2026 = 1767225600 * kSecond; // since 1970

// What is common to all hosts of a test.
struct Clock {
    uint64_t now = kSecond;
};

// A packet about associations, with the address and UDP port that it comes from.
struct Packet {
    Bytes bytes;
    struct addr from;
    uint16_t port;
};

enum wire_type type_of(const Packet &p);
// The number of the handshake that a packet belongs to.
uint64_t number_of(const Packet &p);
struct addr address_of(const char *text);

// One handshake's result, as the host's workers know it.
struct Entry {
    struct assoc_keys k;
    uint64_t since; // a number that rises with each installation
    uint64_t at;    // when it was installed
};

// All that a host knows: lib/assoc, and what its workers have.
struct HostState {
    struct assoc whole;
    std::vector<struct peer> peers;
    std::map<uint32_t, Entry> table;
    uint64_t installed;
};

class Host
{
  public:
    // Host 3 has the address 10.0.0.3, the UDP port 4003, and a key of its own. Each start of a
    // host has a seed of its own.
    Host(Clock *clock, unsigned id, uint64_t start = 0, uint16_t ciphers = kCiphers,
         enum aead_cipher cipher = AEAD_AES_128_GCM);

    // This host, as others configure it.
    struct assoc_peer as_peer(uint8_t shared_key = 0) const;
    int set_peers(const std::vector<struct assoc_peer> &peers);

    std::optional<Packet> want(uint32_t peer, bool doubt = false);
    std::optional<Packet> take(const Packet &p, bool pressed = false);
    // Takes what is over from the table.
    unsigned drain();
    // Takes the next one that is over, if any, without giving it back.
    std::optional<uint32_t> over();
    void freed(uint32_t slot);

    // The newest association of a direction with a peer; null: none.
    const Entry *newest(uint32_t peer, bool outgoing) const;
    // All of them, the newest first.
    std::vector<const Entry *> all(uint32_t peer, bool outgoing) const;
    // A packet sealed under this association of the peer's has come: opened and confirmed if it is
    // one of ours.
    bool hear(const struct assoc_keys &sealed);
    struct assoc_state state(uint32_t peer) const;
    // All that the host knows, while no slot is leaving; and back to it.
    HostState save() const;
    void restore(const HostState &s);
    const struct assoc_counters &count() const
    {
        return *assoc_counters(a.get());
    }

    uint64_t wall() const
    {
        return wall_offset + clock->now;
    }

    Clock *const clock;
    const unsigned id;
    uint64_t wall_offset = kYear2026;
    struct noise_self self;
    struct addr address;
    uint16_t port;
    std::vector<uint32_t> peers;     // numbers, in the order of set_peers()
    std::map<uint32_t, Entry> table; // by slot
    std::set<uint32_t> leaving;      // slots that are over and not given back
    struct assoc_out out;            // of the last call
    std::unique_ptr<struct assoc, void (*)(struct assoc *)> a;

  private:
    std::optional<Packet> finish();

    uint64_t installed = 0;
};

// Two associations are the two ends of one: their numbers match, and so must all else.
bool ends_match(const struct assoc_keys &x, const struct assoc_keys &y);
// The two ends have the same cipher, and the same keys crosswise.
void expect_same(const struct assoc_keys &x, const struct assoc_keys &y);
void expect_ends(const Host &asker, const Host &answerer, uint32_t asker_peer = 0,
                 uint32_t answerer_peer = 0);

// Two hosts that are each other's only peer.
struct Two {
    Clock clock;
    std::unique_ptr<Host> a, b;
    uint8_t shared_key;

    explicit Two(uint8_t shared_key = 0);
    // Host a, or b, starts anew and has forgotten everything.
    void restart(std::unique_ptr<Host> &h);
    void wait(uint64_t ns);
    // A whole handshake: `asker` wants, the other one answers. False: it came to nothing.
    bool handshake(Host &asker, Host &answerer, bool doubt = false);
    // The newest association of `asker` is used: the other one hears a packet under it.
    bool use(Host &asker, Host &answerer);

  private:
    uint64_t starts = 0;
};

#endif
