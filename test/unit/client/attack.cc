/* SPDX-License-Identifier: BSD-3-Clause */
/* See attack.h. */
#include "unit/client/attack.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <iterator>
#include <thread>
#include <vector>

extern "C" {
#include "base/rng.h"
}
#include "unit/client/raw_client.h"

using Clock = std::chrono::steady_clock;

/* One session, from connecting until the daemon throws it out. */
class Attacker
{
  public:
    Attacker(struct rng *random, struct AttackCount *c) : rng(random), count(c)
    {
    }

    ~Attacker()
    {
        stop_scribbling();
        for (int fd : fds)
            close(fd);
    }

    /* Connects and makes a session with some memory and services. */
    bool open(const std::string &path)
    {
        struct protocol_request q = {};

        if (!raw.open(path, 16u << below(5)))
            return false;
        for (uint64_t i = below(4); i > 0; i--) {
            uint64_t len = 4096 * (1 + below(64));
            int fd = raw_memfd(len, MFD_CLOEXEC | MFD_ALLOW_SEALING);

            struct protocol_reply a = raw.region(fd, len);
            fds.push_back(fd);
            if (a.status == 0 && a.type == PROTOCOL_REGION) {
                regions.push_back(a.u.region_id);
                lens.push_back(len);
            }
        }
        q.type = PROTOCOL_LISTEN;
        q.u.service = service = 20000 + static_cast<uint32_t>(below(4));
        raw.ask(q);
        if (below(2) == 0)
            scribble();
        return true;
    }

    /* False when the session is over. */
    bool act()
    {
        uint64_t what = below(1000);

        if (what < 900)
            return submit();
        if (what < 960)
            take();
        else if (what < 975)
            return message();
        else if (what < 985)
            __atomic_store_n(&raw.ring(channel())->wake, word32(), __ATOMIC_SEQ_CST);
        else if (what < 990)
            poke();
        else if (what == 990)
            __atomic_store_n(&raw.ring(channel())->sq_tail, word32(), __ATOMIC_RELEASE);
        else if (what == 991)
            __atomic_store_n(&raw.ring(channel())->cq_head, word32(), __ATOMIC_RELEASE);
        else if (what == 992)
            return below(8) != 0; /* leaves without being thrown out */
        else
            return look();
        return true;
    }

  private:
    uint64_t below(uint64_t n)
    {
        return rng_below(rng, n);
    }

    uint32_t channel()
    {
        return static_cast<uint32_t>(below(raw.limits.channels));
    }

    uint32_t word32()
    {
        return static_cast<uint32_t>(word());
    }

    /* Numbers that a wrong check may mishandle. */
    uint64_t word()
    {
        static const uint64_t edges[] = {0,
                                         1,
                                         2,
                                         63,
                                         64,
                                         4095,
                                         4096,
                                         4097,
                                         0x7fffffff,
                                         0x80000000,
                                         0xffffffff,
                                         0x100000000,
                                         0x100000001,
                                         0x7fffffffffffffff,
                                         0x8000000000000000,
                                         0xfffffffffffff000,
                                         0xffffffffffffffff};

        return below(3) == 0 ? rng_u64(rng) : edges[below(std::size(edges))];
    }

    void piece(struct protocol_piece *p)
    {
        uint64_t len = 8192;

        *p = {};
        if (!regions.empty()) {
            size_t i = below(regions.size());

            p->region = regions[i];
            len = lens[i];
        }
        switch (below(6)) {
        case 0:
            p->offset = word();
            p->len = word();
            break;
        case 1: /* ends just before, at or just behind the end */
            p->offset = below(len);
            p->len = len - p->offset + below(3) - 1;
            break;
        case 2:
            p->region = word32();
            p->len = 1;
            break;
        default:
            p->offset = below(len);
            p->len = below(len - p->offset + 1);
        }
    }

    /* False: the daemon takes no more submissions. */
    bool submit()
    {
        struct protocol_submission e = {};
        uint64_t *words = reinterpret_cast<uint64_t *>(&e);

        e.op = static_cast<uint8_t>(below(PROTOCOL_OPS + (below(50) == 0)));
        e.handle = static_cast<uint32_t>(below(12));
        e.user = static_cast<uint32_t>(rng_u64(rng));
        if (e.op == PROTOCOL_SEND && below(2) == 0)
            e.flags = PROTOCOL_PROVISIONAL;
        if (e.op == PROTOCOL_CONNECT || e.op == PROTOCOL_ACCEPT) {
            e.u.connect.service = static_cast<uint16_t>(service + below(2));
            if (e.op == PROTOCOL_CONNECT) {
                memset(e.u.connect.peer + 10, 0xff, 2);
                e.u.connect.peer[12] = 10;
                e.u.connect.peer[15] = static_cast<uint8_t>(below(8));
            }
        } else if (e.op == PROTOCOL_SEND || e.op == PROTOCOL_RECV) {
            piece(&e.u.pieces[0]);
            if (e.op == PROTOCOL_SEND && below(2) == 0)
                piece(&e.u.pieces[1]);
        }
        if (below(100) == 0)
            words[below(8)] = word();
        if (below(300) == 0)
            for (int i = 0; i < 8; i++)
                words[i] = rng_u64(rng);
        raw.submit(channel(), e);
        count->submissions++;
        /* Usually waits for room in the ring. Otherwise most sessions would end because of their
         * index. */
        if (below(8) == 0)
            std::this_thread::yield();
        return below(4096) == 0 || keep_pace();
    }

    bool keep_pace()
    {
        for (uint32_t i = 0; i < raw.limits.channels; i++) {
            struct protocol_channel *r = raw.ring(i);

            for (int k = 0;
                 r->sq_tail - __atomic_load_n(&r->sq_head, __ATOMIC_ACQUIRE) >= raw.entries; k++) {
                if (k == 200)
                    return false;
                take();
                usleep(50);
            }
        }
        return true;
    }

    void take()
    {
        struct protocol_completion d;

        for (uint32_t i = 0; i < raw.limits.channels; i++)
            for (int k = 0; k < 64 && raw.take(i, &d); k++)
                count->completions++;
    }

    /* Changes a word of the session memory. It rarely changes an index, as that ends the
     * session. */
    void poke()
    {
        uint64_t at = below(raw.layout.total_bytes / 8);
        uint64_t in_channel = at * 8 % raw.layout.channel_bytes;

        if (at * 8 < raw.layout.status_offset && in_channel < sizeof(struct protocol_channel) &&
            below(20) != 0)
            return;
        __atomic_store_n(reinterpret_cast<uint64_t *>(raw.memory) + at, word(), __ATOMIC_RELAXED);
    }

    bool message()
    {
        char junk[300];
        struct protocol_request q = {};
        int fd = fds.empty() || below(2) == 0 ? -1 : fds[below(fds.size())];

        count->messages++;
        if (below(40) == 0) {
            for (char &b : junk)
                b = static_cast<char>(below(256));
            raw.send(junk, 1 + below(sizeof junk), &fd, fd >= 0 ? 1 : 0);
            return look();
        }
        q.magic = PROTOCOL_MAGIC;
        q.version = PROTOCOL_VERSION;
        q.type = static_cast<uint16_t>(PROTOCOL_HELLO + below(PROTOCOL_COMMAND + 1));
        if (q.type > PROTOCOL_COMMAND)
            q.type = PROTOCOL_CAPTURE;
        for (uint64_t i = 0; i < sizeof q.u / 8; i++) {
            uint64_t w = word();

            memcpy(q.u.bytes + i * 8, &w, 8);
        }
        if (q.type == PROTOCOL_UNREGION && !regions.empty())
            q.u.region_id = regions[below(regions.size())];
        if (q.type == PROTOCOL_CAPTURE && !regions.empty() && below(4) != 0)
            q.u.capture = {regions[below(regions.size())], static_cast<uint32_t>(below(3)), 0,
                           static_cast<uint32_t>(below(2000))};
        if (q.type == PROTOCOL_LISTEN || q.type == PROTOCOL_UNLISTEN)
            q.u.service = 20000 + static_cast<uint32_t>(below(4));
        if (q.type == PROTOCOL_COMMAND && below(4) != 0) {
            char both[sizeof q + PROTOCOL_COMMAND_MAX + 8];

            q.u.command_bytes = static_cast<uint32_t>(below(PROTOCOL_COMMAND_MAX + 2));
            for (char &b : both)
                b = static_cast<char>(below(256));
            memcpy(both, &q, sizeof q);
            raw.send(both, sizeof q + q.u.command_bytes, &fd, fd >= 0 ? 1 : 0);
            return look();
        }
        raw.send(&q, sizeof q, &fd, fd >= 0 ? 1 : 0);
        /* Sometimes several messages go before an answer is read. */
        return below(4) == 0 || look();
    }

    /* Reads all that the daemon has said. */
    bool look()
    {
        struct protocol_reply a;
        char byte;
        ssize_t n;

        while (raw.receive(&a, 0))
            if (a.type == PROTOCOL_BYE)
                return false;
        n = recv(raw.sock, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
        return n > 0 || (n < 0 && errno == EAGAIN);
    }

    void scribble()
    {
        scribbling = true;
        uint64_t scribble_seed = rng_u64(rng);
        scribbler = std::thread([this, scribble_seed] {
            struct rng r;

            rng_init(&r, scribble_seed);
            while (scribbling.load(std::memory_order_relaxed)) {
                auto *words = reinterpret_cast<uint64_t *>(
                    raw.sq(static_cast<uint32_t>(rng_below(&r, raw.limits.channels))));
                uint64_t at = rng_below(&r, raw.entries * 8);

                __atomic_fetch_xor(&words[at], 1ull << rng_below(&r, 64), __ATOMIC_RELAXED);
                if (rng_below(&r, 64) == 0)
                    usleep(100);
            }
        });
    }

    void stop_scribbling()
    {
        scribbling = false;
        if (scribbler.joinable())
            scribbler.join();
    }

    struct rng *rng;
    struct AttackCount *count;
    RawClient raw;
    std::vector<int> fds;
    std::vector<uint32_t> regions;
    std::vector<uint64_t> lens;
    uint32_t service = 0;
    std::atomic<bool> scribbling{false};
    std::thread scribbler;
};

bool attack(const std::string &path, double seconds, uint64_t seed, struct AttackCount *count)
{
    auto end = Clock::now() + std::chrono::duration<double>(seconds);
    auto reached = Clock::now();
    struct rng rng;

    rng_init(&rng, seed);
    while (Clock::now() < end) {
        Attacker a(&rng, count);
        bool over = false;

        if (!a.open(path)) {
            /* The daemon has no free session, or still clears up an old one. Neither lasts long. */
            if (Clock::now() - reached > std::chrono::seconds(10))
                return false;
            usleep(1000);
            continue;
        }
        reached = Clock::now();
        count->sessions++;
        while (Clock::now() < end && !over)
            over = !a.act();
        count->thrown_out += over;
    }
    return true;
}
