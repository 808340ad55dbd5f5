// SPDX-License-Identifier: BSD-3-Clause
//
// All orders of handshake packets, up to five of them: INIT, RESPONSE and COOKIE, and FIRST, DATA
// and CNTL that are sealed; right ones, old ones, those of others, damaged ones. Host A shakes
// hands with host B, and an attacker delivers the packets to B in any order.
//
// Orders after which everything is the same are continued once: Orders::key() says what counts. So
// the four million orders of an alphabet of 21 come down to some hundred states. After each packet:
//
//  - exactly one counter says what became of it;
//  - what is not right has changed nothing;
//  - a handshake has at most one association that is used, and its two ends match;
//  - a FIRST has been taken once.
//
// From each state a right handshake succeeds, in either direction.
#include <algorithm>
#include <array>
#include <functional>
#include <unordered_set>

#include <rte_mbuf.h>

#include "support.hh"

extern "C" {
#include "assoc/mac.h"
#include "assoc/seal.h"
#include "assoc/table.h"
}

namespace
{

const unsigned kDepth = 5;
const uint32_t kPeers = 4; // peers_max of Host
const int kTries = 3;      // INIT until a right handshake has succeeded, at most

enum Letter {
    INIT,
    INIT_UNDER_LOAD,
    INIT_NEXT, // the host asks anew, after 5 s
    INIT_OLD,  // of a handshake that is over
    INIT_OLD_WITH_COOKIE,
    INIT_FOREIGN,
    INIT_DAMAGED,
    RESPONSE, // to an INIT of B's
    RESPONSE_OLD,
    RESPONSE_DAMAGED,
    COOKIE, // for that INIT
    COOKIE_DAMAGED,
    FIRST,
    FIRST_AGAIN,
    FIRST_OLD,  // new, but sealed under the association before
    FIRST_BACK, // under an association that B has asked for
    FIRST_DAMAGED,
    DATA,
    DATA_DAMAGED,
    CNTL,
    CNTL_DAMAGED,
    LETTERS,
};
const char *const kNames[LETTERS] = {
    "INIT",         "INIT under load", "next INIT", "old INIT",     "old INIT with a cookie",
    "foreign INIT", "damaged INIT",    "RESPONSE",  "old RESPONSE", "damaged RESPONSE",
    "COOKIE",       "damaged COOKIE",  "FIRST",     "FIRST again",  "FIRST under the one before",
    "FIRST back",   "damaged FIRST",   "DATA",      "damaged DATA", "CNTL",
    "damaged CNTL",
};

enum Verdict { OPENED, NO_ASSOCIATION, WRONG_SEAL, WRONG_DIRECTION, NOT_NEW };

// A worker's tables in a state.
struct WorkerState {
    std::vector<struct table_entry> entries;
    std::vector<uint32_t> current;
    uint64_t sent_data, sent_first;
    std::vector<struct table_firsts> firsts;
};

// A host and its worker.
class Side
{
  public:
    explicit Side(std::unique_ptr<Host> h) : host(std::move(h)), firsts(assoc_slots(kPeers))
    {
        EXPECT_EQ(table_init(&t, kPeers, static_cast<uint8_t>(host->id)), 0);
    }
    ~Side()
    {
        for (uint32_t i = 0; i < t.slots; i++)
            t.entries[i] = {}; // its ciphers are those of all states
        table_fini(&t);
        for (auto &[key, cipher] : ciphers)
            aead_destroy(cipher);
    }
    Side(const Side &) = delete;

    std::optional<Packet> take(const Packet &p, bool pressed = false)
    {
        std::optional<Packet> answer = host->take(p, pressed);

        if (host->out.install) {
            const struct assoc_keys &k = host->out.keys;

            firsts[k.slot] = {};
            table_install(&t, &k, cipher(k, k.keys.seal), cipher(k, k.keys.open), &firsts[k.slot],
                          host->clock->now);
        }
        drain();
        return answer;
    }
    // The worker takes a sealed packet.
    Verdict receive(const Packet &p)
    {
        Bytes b = p.bytes;
        const uint32_t number = static_cast<uint32_t>(b[4]) << 24 | b[5] << 16 | b[6] << 8 | b[7];
        const uint32_t len = static_cast<uint32_t>(b.size()) - WIRE_TRAILER_BYTES;
        const struct seal_path path = {&p.from, &host->address, p.port, host->port};
        struct table_entry *e = table_find(&t, number);

        if (e == nullptr)
            return NO_ASSOCIATION;
        if (type_of(p) == WIRE_DATA) {
            struct rte_mbuf m = {};

            m.buf_addr = b.data();
            m.data_len = static_cast<uint16_t>(b.size());
            m.pkt_len = static_cast<uint32_t>(b.size());
            if (seal_data_open(&t, e, b.data(), &m, 0, len - WIRE_DATA_BYTES) == nullptr)
                return WRONG_SEAL;
        } else if (!seal_state_right(e, &path, b.data(), len)) {
            return WRONG_SEAL;
        }
        if (type_of(p) == WIRE_FIRST && e->outgoing)
            return WRONG_DIRECTION;
        if (type_of(p) == WIRE_FIRST && !table_first_new(e, wire_parse_trailer(b.data() + len)))
            return NOT_NEW;
        if (!e->outgoing && !e->confirmed) {
            e->confirmed = true;
            assoc_confirm(host->a.get(), number % t.slots, number, host->clock->now);
            drain();
        }
        return OPENED;
    }
    // A packet to another host, sealed under this association.
    Packet seal(const struct assoc_keys &k, enum wire_type type, const Host &to)
    {
        const struct seal_path path = {&host->address, &to.address, host->port, to.port};
        struct table_entry *e = table_find(&t, k.number);
        Bytes b(512);
        uint32_t len = 0;

        EXPECT_NE(e, nullptr);
        if (type == WIRE_FIRST) {
            struct wire_first v = {};

            v.h = {WIRE_FIRST, WIRE_EARLY, 0, k.remote, 0x1234};
            v.unit_max = 1400;
            v.service = 7;
            len = seal_state(&t, e, &path, b.data(), wire_put_first(b.data(), &v));
        } else if (type == WIRE_CNTL) {
            struct wire_cntl v = {};

            v.h = {WIRE_CNTL, 0, 0, k.remote, 0x1234};
            v.own_key = 5;
            v.seq = 6;
            v.unit_max = 1400;
            len = seal_state(&t, e, &path, b.data(), wire_put_cntl(b.data(), &v));
        } else {
            const uint8_t clear[16] = {1, 2, 3};
            struct wire_data d = {};

            d.h = {WIRE_DATA, 0, 0, k.remote, 0x1234};
            d.request_len = sizeof clear;
            d.unit_bytes = 1400;
            wire_put_data(b.data(), &d);
            seal_data(&t, e, b.data());
            seal_data_bytes(e, b.data() + WIRE_DATA_BYTES, clear, sizeof clear);
            seal_data_end(&t, e, b.data() + WIRE_DATA_BYTES + sizeof clear);
            len = WIRE_DATA_BYTES + sizeof clear + WIRE_TRAILER_BYTES;
        }
        b.resize(len);
        return {b, host->address, host->port};
    }
    // What is over is taken from the worker.
    void drain()
    {
        while (std::optional<uint32_t> slot = host->over()) {
            struct aead *seal, *open;

            table_remove(&t, *slot, &seal, &open);
            host->freed(*slot);
        }
    }
    // Which associations the worker has, and what has come under each.
    void describe(const std::function<void(uint64_t)> &add) const
    {
        for (uint32_t i = 0; i < t.slots; i++) {
            const struct table_firsts none = {};

            if (t.entries[i].number == 0)
                continue;
            add(t.entries[i].born_ns);
            add(t.entries[i].outgoing);
            add(t.entries[i].confirmed);
            add(std::memcmp(&firsts[i], &none, sizeof none) != 0);
        }
    }
    WorkerState save() const
    {
        return {{t.entries, t.entries + t.slots},
                {t.current, t.current + t.peers},
                t.sent_data,
                t.sent_first,
                firsts};
    }
    void restore(const WorkerState &s)
    {
        std::copy(s.entries.begin(), s.entries.end(), t.entries);
        std::copy(s.current.begin(), s.current.end(), t.current);
        t.sent_data = s.sent_data;
        t.sent_first = s.sent_first;
        std::copy(s.firsts.begin(), s.firsts.end(), firsts.begin());
    }

    std::unique_ptr<Host> host;

  private:
    struct aead *cipher(const struct assoc_keys &k, const uint8_t *key)
    {
        struct aead *&c = ciphers[Bytes(key, key + NOISE_KEY_BYTES)];

        if (c == nullptr)
            c = aead_create(aead_best(), k.cipher, key);
        return c;
    }

    struct table t;
    std::vector<struct table_firsts> firsts;
    std::map<Bytes, struct aead *> ciphers;
};

// What the attacker and the network have, and what has happened.
struct Pocket {
    Packet init, old_init, foreign, response, old_response, cookie;
    std::optional<Packet> old_init_cookie, last_first;
    std::map<Bytes, unsigned> used;    // associations of B that were used, by the INIT's message
    std::map<uint32_t, Bytes> init_of; // the same message, by B's number
    std::set<Bytes> firsts;            // trailers of those that B has taken
};

struct State {
    HostState host[2];
    WorkerState worker[2];
    Pocket pocket;
    uint64_t now;
    std::vector<Letter> order;
};

Bytes message_of(const Packet &init)
{
    return Bytes(init.bytes.begin() + WIRE_NOISE_OFF, init.bytes.begin() + WIRE_MAC1_OFF);
}

// The trailer of a sealed packet, which no other one has.
Bytes number_in(const Packet &p)
{
    return Bytes(p.bytes.end() - WIRE_TRAILER_BYTES, p.bytes.end());
}

// How many packets of handshakes were counted, each by what became of it.
uint64_t outcomes(const Host &h)
{
    const struct assoc_counters &c = h.count();

    return c.init_taken + c.init_again + c.response_taken + c.cookie_taken + c.drop_mac +
           c.drop_no_cookie + c.drop_unreadable + c.drop_stranger + c.drop_from + c.drop_replay +
           c.drop_cipher + c.drop_full + c.drop_unasked + c.drop_response;
}

class Orders
{
  public:
    // How things are before the first packet.
    enum Start { LIVE, B_RESTARTED, A_IN_THE_PAST };

    explicit Orders(Start start) : past(start == A_IN_THE_PAST), c(&clock, 3)
    {
        side[0] = std::make_unique<Side>(std::make_unique<Host>(&clock, 1));
        side[1] = std::make_unique<Side>(std::make_unique<Host>(&clock, 2));
        know();
        EXPECT_EQ(c.set_peers({b().as_peer()}), 0);
        pocket.foreign = *c.want(0);
        // a handshake each way, which is over
        pocket.old_init = *a().want(0);
        pocket.old_response = *side[1]->take(pocket.old_init);
        side[0]->take(pocket.old_response);
        clock.now += kSecond;
        use_right(0);
        Packet back = *b().want(0);
        pocket.old_response = *side[0]->take(back);
        side[1]->take(pocket.old_response);
        use_right(1);
        clock.now += 6 * kSecond;
        if (start == B_RESTARTED)
            restart(1);
        if (past) {
            a().wall_offset -= 3600 * kSecond;
            restart(0);
        }
        clock.now += kSecond;
        pocket.init = *a().want(0, true);
        back = *b().want(0, true);
        pocket.response = *side[0]->take(back);
        pocket.cookie = *side[0]->take(back, true);
        remember(pocket.old_init);
    }

    // Plays all orders; returns how many states there were.
    size_t play()
    {
        std::vector<State> now = {save()}, next;

        for (unsigned depth = 0; depth < kDepth; depth++) {
            for (const State &s : now)
                for (int letter = 0; letter < LETTERS; letter++) {
                    restore(s);
                    order.push_back(static_cast<Letter>(letter));
                    if (!deliver(static_cast<Letter>(letter)) || !seen.insert(key()).second)
                        continue;
                    next.push_back(save());
                    if (recovered.insert(shape()).second)
                        recover();
                    if (testing::Test::HasFailure()) {
                        say();
                        return seen.size();
                    }
                }
            now.swap(next);
            next.clear();
        }
        return seen.size();
    }
    uint64_t played = 0, used = 0;

  private:
    Host &a()
    {
        return *side[0]->host;
    }
    Host &b()
    {
        return *side[1]->host;
    }
    void know()
    {
        EXPECT_EQ(a().set_peers({b().as_peer()}), 0);
        EXPECT_EQ(b().set_peers({a().as_peer()}), 0);
    }
    void restart(unsigned i)
    {
        const uint64_t offset = side[i]->host->wall_offset;

        side[i] = std::make_unique<Side>(std::make_unique<Host>(&clock, i + 1, 1 + i));
        side[i]->host->wall_offset = offset;
        EXPECT_EQ(side[i]->host->set_peers({side[1 - i]->host->as_peer()}), 0);
    }

    // ---- states ------------------------------------------------------------------------------

    State save() const
    {
        return {{side[0]->host->save(), side[1]->host->save()},
                {side[0]->save(), side[1]->save()},
                pocket,
                clock.now,
                order};
    }
    void restore(const State &s)
    {
        for (unsigned i = 0; i < 2; i++) {
            side[i]->host->restore(s.host[i]);
            side[i]->restore(s.worker[i]);
        }
        pocket = s.pocket;
        clock.now = s.now;
        order = s.order;
    }
    // What decides whether a handshake succeeds. Not in it are random bytes, and which slots are
    // used.
    std::string shape() const
    {
        std::string text;
        auto add = [&](uint64_t n) { text += std::to_string(n) + " "; };

        for (const auto &s : side) {
            const struct peer &p = s->host->a->peers[0];
            const bool asked = p.attempt.number != 0;
            uint32_t used = 0;

            for (uint32_t role = 0; role < ROLES; role++)
                add(role_age_ns(&p, static_cast<enum role>(role), clock.now));
            for (const struct slot &slot : p.slots)
                used += slot.use != SLOT_FREE;
            for (uint64_t n :
                 {uint64_t(used), uint64_t(asked), asked ? p.attempt.begun_ns : 0,
                  asked ? p.attempt.repeats : uint64_t(0), p.state.asked_at, p.time_ns,
                  p.slot_of[IN_PENDING] == NONE ? 0 : p.pending.time_ns,
                  p.slot_of[IN_REWOUND] == NONE ? 0 : p.rewound.time_ns, uint64_t(p.cookie.given),
                  p.cookie.at_ns, s->host->a->secret.begun_ns, s->host->a->time_ns, clock.now})
                add(n);
        }
        return text;
    }
    // All that decides what becomes of a packet. Not in it is how many FIRST have come under an
    // association, if any have.
    std::string key() const
    {
        const struct peer &p = side[1]->host->a->peers[0];
        std::string text = shape();
        auto add = [&](uint64_t n) { text += std::to_string(n) + " "; };

        for (const auto &s : side)
            s->describe(add);
        for (const Packet *init : {&pocket.init, &pocket.old_init})
            for (const struct answered *last : {&p.pending, &p.rewound})
                add(std::memcmp(last->mac1, init->bytes.data() + WIRE_MAC1_OFF, WIRE_MAC_BYTES) ==
                    0);
        add(secret_unset(pocket.init.bytes.data() + WIRE_MAC2_OFF, WIRE_MAC_BYTES));
        add(pocket.old_init_cookie.has_value());
        add(pocket.last_first.has_value());
        add(pocket.last_first && pocket.firsts.count(number_in(*pocket.last_first)) > 0);
        return text;
    }
    void say() const
    {
        std::string text;

        for (Letter l : order)
            text += std::string(text.empty() ? "" : ", ") + kNames[l];
        std::printf("order: %s\n", text.c_str());
    }

    // ---- packets -----------------------------------------------------------------------------

    // Which INIT the newest association of B answers. B has no other one for that INIT, but for one
    // with an earlier time, which replaces nothing; and but for INIT of a time that has not come
    // again since the clock went back, which count once more.
    void remember(const Packet &init)
    {
        const Entry *e = b().newest(0, false);
        const struct peer &p = b().a->peers[0];

        if (e == nullptr)
            return;
        for (const auto &[slot, other] : b().table)
            if (other.k.number != e->k.number && !past &&
                p.slot_of[IN_REWOUND] != e->k.slot % PEER_SLOTS) {
                EXPECT_TRUE(pocket.init_of[other.k.number] != message_of(init))
                    << "two associations for one INIT";
            }
        pocket.init_of[e->k.number] = message_of(init);
    }
    static Packet damaged(Packet p, size_t byte)
    {
        p.bytes[byte] ^= 0x10;
        return p;
    }
    // A packet of a handshake comes to B. Returns the answer.
    std::optional<Packet> shake(const Packet &p, bool pressed)
    {
        const uint64_t before = outcomes(b());
        std::optional<Packet> answer = side[1]->take(p, pressed);

        EXPECT_EQ(outcomes(b()), before + 1);
        if (b().out.install && !b().out.keys.outgoing)
            remember(p);
        return answer;
    }
    // The same for an INIT of A's; A gets the answer.
    void init(const Packet &p, bool pressed, bool next)
    {
        std::optional<Packet> answer;

        if (next) {
            clock.now += ASSOC_ATTEMPT_NS;
            side[0]->drain();
            side[1]->drain();
            std::optional<Packet> fresh = a().want(0, true);
            if (!fresh)
                return;
            pocket.init = *fresh;
            answer = shake(pocket.init, pressed);
        } else {
            answer = shake(p, pressed);
        }
        if (!answer)
            return;
        std::optional<Packet> again = side[0]->take(*answer);
        if (again)
            pocket.init = *again; // with a cookie
    }
    void old_init()
    {
        std::optional<Packet> answer = shake(pocket.old_init, false);
        struct mac_cookie cookie = {};

        if (answer && type_of(*answer) == WIRE_COOKIE &&
            mac_cookie_take(&cookie, b().self.public_key, pocket.old_init.bytes.data(),
                            answer->bytes.data(), clock.now)) {
            pocket.old_init_cookie = pocket.old_init;
            mac_put(pocket.old_init_cookie->bytes.data(), b().self.public_key, &cookie,
                    ASSOC_COOKIE_NS, clock.now);
        }
    }
    // A packet that is not right: neither an answer nor a change.
    void wrong(const Packet &p)
    {
        const std::string before = key();

        EXPECT_FALSE(shake(p, false));
        EXPECT_FALSE(b().out.install);
        EXPECT_EQ(key(), before);
    }
    // A sealed packet under this association of A's comes to B.
    void sealed(const Entry *e, enum wire_type type, bool damage)
    {
        Packet p = side[0]->seal(e->k, type, b());
        const bool has = std::any_of(b().table.begin(), b().table.end(),
                                     [&](const auto &x) { return ends_match(x.second.k, e->k); });

        if (damage)
            p = damaged(p, type == WIRE_DATA ? WIRE_DATA_BYTES : 20);
        const std::string before = key();
        const Verdict v = side[1]->receive(p);

        EXPECT_TRUE(v == OPENED || key() == before);
        EXPECT_EQ(v, !has                                   ? NO_ASSOCIATION
                     : damage                               ? WRONG_SEAL
                     : !e->k.outgoing && type == WIRE_FIRST ? WRONG_DIRECTION
                                                            : OPENED);
        if (type == WIRE_FIRST && !damage && e->k.outgoing)
            pocket.last_first = p;
        if (v != OPENED)
            return;
        if (type == WIRE_FIRST)
            pocket.firsts.insert(number_in(p));
        used++;
        if (e->k.outgoing)
            pocket.used[pocket.init_of[e->k.remote]] |= 1u << e->k.remote % 32;
    }
    void first_again()
    {
        const Packet &p = *pocket.last_first;
        const bool taken_before = pocket.firsts.count(number_in(p)) > 0;
        const Verdict v = side[1]->receive(p);

        EXPECT_FALSE(v == OPENED && taken_before) << "a FIRST was taken twice";
        if (v == OPENED)
            pocket.firsts.insert(number_in(p));
    }
    // False: there is no such packet now.
    bool deliver(Letter letter)
    {
        const std::vector<const Entry *> out = a().all(0, true), in = a().all(0, false);
        const enum wire_type type = letter <= FIRST_DAMAGED  ? WIRE_FIRST
                                    : letter <= DATA_DAMAGED ? WIRE_DATA
                                                             : WIRE_CNTL;
        SCOPED_TRACE(kNames[letter]);

        if ((letter == INIT_OLD_WITH_COOKIE && !pocket.old_init_cookie) ||
            (letter == FIRST_AGAIN && !pocket.last_first) ||
            (letter == FIRST_OLD && out.size() < 2) || (letter == FIRST_BACK && in.empty()) ||
            (letter >= FIRST && out.empty()))
            return false;
        played++;
        switch (letter) {
        case INIT:
        case INIT_UNDER_LOAD:
        case INIT_NEXT:
            init(pocket.init, letter == INIT_UNDER_LOAD, letter == INIT_NEXT);
            break;
        case INIT_OLD:
            old_init();
            break;
        case INIT_OLD_WITH_COOKIE:
            shake(*pocket.old_init_cookie, false);
            break;
        case INIT_FOREIGN:
            wrong(pocket.foreign);
            break;
        case INIT_DAMAGED:
            wrong(damaged(pocket.init, 40));
            break;
        case RESPONSE:
            shake(pocket.response, false);
            break;
        case RESPONSE_OLD: {
            Packet p = pocket.old_response;

            std::copy_n(pocket.response.bytes.begin() + 8, 8, p.bytes.begin() + 8);
            wrong(p);
            break;
        }
        case RESPONSE_DAMAGED:
            wrong(damaged(pocket.response, 30));
            break;
        case COOKIE:
            shake(pocket.cookie, false);
            break;
        case COOKIE_DAMAGED:
            wrong(damaged(pocket.cookie, 34));
            break;
        case FIRST_AGAIN:
            first_again();
            break;
        case FIRST_BACK:
            sealed(in[0], type, false);
            break;
        default:
            sealed(letter == FIRST_OLD ? out[1] : out[0], type,
                   letter == FIRST_DAMAGED || letter == DATA_DAMAGED || letter == CNTL_DAMAGED);
        }
        check();
        return true;
    }

    // ---- what holds --------------------------------------------------------------------------

    void check()
    {
        for (const auto &[slot, e] : a().table)
            for (const auto &[other, f] : b().table)
                if (ends_match(e.k, f.k))
                    expect_same(e.k, f.k);
        for (const auto &[message, numbers] : pocket.used)
            EXPECT_EQ(numbers & (numbers - 1), 0u) << "two associations of one handshake were used";
    }
    // The newest association of side i is used.
    bool use_right(unsigned i)
    {
        const Entry *e = side[i]->host->newest(0, true);

        return e != nullptr &&
               side[1 - i]->receive(side[i]->seal(e->k, WIRE_FIRST, *side[1 - i]->host)) == OPENED;
    }
    // From here a right handshake succeeds, either way.
    void recover()
    {
        for (unsigned i = 0; i < 2; i++) {
            bool through = false;

            for (int n = 0; n < kTries && !through; n++) {
                clock.now += ASSOC_ATTEMPT_NS;
                side[0]->drain();
                side[1]->drain();
                std::optional<Packet> p = side[i]->host->want(0, true);

                for (unsigned turn = 1; p && turn <= 4; turn++)
                    p = side[(i + turn) % 2]->take(*p, true);
                through = use_right(i);
            }
            EXPECT_TRUE(through) << (i == 0 ? "A asks B" : "B asks A");
        }
        check();
    }

    const bool past;
    Clock clock;
    std::array<std::unique_ptr<Side>, 2> side;
    Host c; // a stranger
    Pocket pocket;
    std::vector<Letter> order;
    std::unordered_set<std::string> seen, recovered; // keys; shapes
};

class OrdersFrom : public testing::TestWithParam<Orders::Start>
{
};

TEST_P(OrdersFrom, AllToDepthFive)
{
    Orders o(GetParam());
    const size_t states = o.play();

    std::printf("%zu states, %llu packets\n", states, static_cast<unsigned long long>(o.played));
    EXPECT_GT(states, 200u);
    EXPECT_GT(o.used, 200u) << "hardly an association was used";
}

INSTANTIATE_TEST_SUITE_P(All, OrdersFrom,
                         testing::Values(Orders::LIVE, Orders::B_RESTARTED, Orders::A_IN_THE_PAST));

} // namespace
