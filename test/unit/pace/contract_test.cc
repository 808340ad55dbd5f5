// SPDX-License-Identifier: BSD-3-Clause
// Packets that the pacer sends under a contract. The path emulator's GCRA checks each of them.
#include <gtest/gtest.h>

#include "../base/seed.h"
#include "credit_model.h"
#include "pacer_world.h"
#include "police.h"

namespace
{
constexpr uint64_t kHz = 2500000000;

contract_config random_contract(struct rng *r)
{
    contract_config c = {};

    c.pcr_Bps = rng_magnitude(r, 10000, 1ull << 34);
    c.unit_bytes = rng_magnitude(r, 64, 9000);
    c.cdvt_ns = rng_below(r, 2) ? rng_magnitude(r, 1, 1000000) : 0;
    if (rng_below(r, 4)) {
        c.scr_Bps = 1 + rng_below(r, c.pcr_Bps);
        c.mbs_bytes = c.unit_bytes * (1 + rng_below(r, 50));
    }
    return c;
}

contract make(const contract_config &cfg, uint64_t now = 0)
{
    contract c;
    char err[200] = "";

    EXPECT_EQ(contract_init(&c, &cfg, kHz, now, err, sizeof err), 0) << err;
    return c;
}
} // namespace

TEST(Contract, MistakesAreNamed)
{
    const struct {
        contract_config cfg;
        const char *part;
    } cases[] = {
        {{0, 0, 0, 1500, 0}, "pcr"},
        {{1000, 2000, 3000, 1500, 0}, "above the peak"},
        {{1000, 0, 3000, 1500, 0}, "needs a sustained"},
        {{1000, 500, 1000, 1500, 0}, "longest packet"},
        {{1000, 500, 0, 0, 0}, "longest packet"},
    };
    for (const auto &k : cases) {
        contract c;
        char err[200] = "";

        EXPECT_EQ(contract_init(&c, &k.cfg, kHz, 0, err, sizeof err), -EINVAL);
        EXPECT_NE(std::string(err).find(k.part), std::string::npos) << err;
    }
}

/* How many packets may go at once: as many as contract_open() lets through one after the other, and
 * counted in one go they leave the same state behind. */
TEST(Contract, ACountIsThatOfSinglePackets)
{
    struct rng r;

    rng_init(&r, test_seed());
    for (int turn = 0; turn < 3000; turn++) {
        contract_config cfg = {};
        uint64_t len = rng_magnitude(&r, 1, 9000), now = rng_below(&r, 1ull << 40);
        uint32_t max = (uint32_t)rng_below(&r, 65);

        cfg.pcr_Bps = rng_magnitude(&r, 1, CREDIT_RATE_MAX_BPS);
        cfg.unit_bytes = len;
        cfg.cdvt_ns = rng_below(&r, 3) ? rng_magnitude(&r, 1, 10000000000ull) : 0;
        contract c = make(cfg, now);
        for (int step = 0; step < 40; step++) {
            contract singly = c;
            uint32_t n = 0;

            while (n < max && contract_open(&singly, now)) {
                contract_take(&singly, now, len);
                n++;
            }
            ASSERT_EQ(contract_count(&c, now, len, max), n)
                << cfg.pcr_Bps << " B/s, " << cfg.cdvt_ns << " ns, " << len << " B";
            if (n > 0)
                contract_take(&c, now, n * len);
            ASSERT_EQ(c.peak_tsc, singly.peak_tsc);
            ASSERT_EQ(c.peak_fraction, singly.peak_fraction);
            now += rng_below(&r, 2) ? rng_magnitude(&r, 1, 1ull << 32)
                                    : contract_next(&c, now) - now + rng_below(&r, 2);
        }
    }
}

/* The last packet that fits to the cycle. */
TEST(Contract, ACountUpToTheLastCycle)
{
    const contract_config cfg = {kHz, 0, 0, 80, 32}; // a cycle for each byte, and 80 of tolerance
    contract c = make(cfg, 1000);

    EXPECT_EQ(contract_count(&c, 919, 80, 32), 0u);
    EXPECT_EQ(contract_count(&c, 920, 80, 32), 1u);
    EXPECT_EQ(contract_count(&c, 999, 80, 32), 1u);
    EXPECT_EQ(contract_count(&c, 1000, 80, 32), 2u);
    EXPECT_EQ(contract_count(&c, 1000000, 80, 32), 2u); // a pause is not made up for
    EXPECT_EQ(contract_count(&c, 1000000, 80, 1), 1u);
    EXPECT_EQ(contract_count(&c, 1000000, 80, 0), 0u);
}

/* MBS bytes at the peak rate, then the sustained rate. So the contract is fully used. */
TEST(Contract, ABurstAtThePeakThenSustained)
{
    const contract_config cfg = {kHz / 10, kHz / 100, 20000, 1000, 0}; // 10 and 100 cycles a byte
    contract c = make(cfg);
    std::vector<uint64_t> at;
    uint64_t now = 0;

    for (int i = 0; i < 40; i++) {
        now = contract_next(&c, now);
        ASSERT_TRUE(contract_open(&c, now));
        contract_take(&c, now, 1000);
        at.push_back(now);
    }
    for (int i = 1; i < 20; i++)
        EXPECT_NEAR((double)(at[i] - at[i - 1]), 10000, 16) << i; // tolerances have 16-cycle steps
    for (int i = 21; i < 40; i++)
        EXPECT_EQ(at[i] - at[i - 1], 100000u) << i;
}

/* A contract that replaces another gives no new tolerance. */
TEST(Contract, AnotherInItsPlaceGoesOn)
{
    const contract_config cfg = {kHz / 10, kHz / 100, 20000, 1000, 0};
    contract_config other = cfg;
    contract c = make(cfg), next;
    uint64_t now = 0;

    for (int i = 0; i < 25; i++) { /* all of the burst is used up */
        now = contract_next(&c, now);
        contract_take(&c, now, 1000);
    }
    next = make(cfg, now);
    EXPECT_EQ(contract_next(&next, now), now) << "alone, it would allow a new burst";
    contract_continue(&next, &c, now);
    EXPECT_EQ(contract_next(&next, now), contract_next(&c, now));

    other.scr_Bps = other.mbs_bytes = 0; /* only the peak rate, and back */
    next = make(other, now);
    contract_continue(&next, &c, now);
    EXPECT_EQ(contract_next(&next, now), now + 10000);
    c = make(cfg, now);
    contract_continue(&c, &next, now);
    EXPECT_EQ(contract_next(&c, now), now + 10000);
}

/* A debt in bytes passes from one rate to the next. A debt in time does not. */
TEST(Contract, AnotherRateScalesWhatIsOwed)
{
    const contract_config slow = {kHz / 1000000, 0, 0, 1000, 0}, fast = {kHz / 10, 0, 0, 1000, 0};
    const uint64_t now = 12345;
    contract c = make(slow, now), next = make(fast, now);

    contract_take(&c, now, 1000);
    EXPECT_EQ(contract_next(&c, now), now + 1000000000);
    contract_continue(&next, &c, now);
    EXPECT_EQ(contract_next(&next, now), now + 10000);
    c = make(slow, now + 4000);
    contract_continue(&c, &next, now + 4000);
    EXPECT_EQ(contract_next(&c, now + 4000), now + 4000 + 600000000);
    next = make(fast, now + 700000000);
    contract_continue(&next, &c, now + 700000000);
    EXPECT_EQ(contract_next(&next, now + 700000000), now + 700000000) << "nothing is owed";
}

/*
 * Random contracts, with random rates and bursts below, above and beside them. Packets have all
 * lengths up to the unit, and wait always or only sometimes. Polls are in time or late. Each packet
 * conforms to the contract and to rate and burst. While packets always wait, no less is sent than
 * the smallest of PCR, SCR and rate allows.
 */
TEST(ContractProperty, EveryPacketConforms)
{
    struct rng r;
    uint64_t looked = 0;

    rng_init(&r, test_seed());
    for (int run = 0; run < 400; run++) {
        contract_config cfg = random_contract(&r);
        contract c = make(cfg);
        PacerWorld w({1, 8, kHz, true}, 0);
        Police police(cfg, kHz);
        uint64_t rate = rng_magnitude(&r, 1000, 1ull << 34);
        uint64_t burst = rng_below(&r, 4) ? cfg.unit_bytes * (1 + rng_below(&r, 40)) : 0;
        bool always = rng_below(&r, 2), exact = always && rng_below(&r, 2);
        uint64_t now = 0, bytes = 0, last = 0, held = 0;

        pacer_flow_contract(w.p, 0, &c, 0);
        pacer_flow_set(w.p, 0, rate, burst, 0);
        for (int i = 0; i < 600; i++) {
            uint64_t most = held == 0 ? 3 : 1;

            if (held < 3 && (always || rng_below(&r, 2)))
                for (uint64_t k = 0; k < most; k++, held++)
                    w.push(0,
                           (uint32_t)(exact ? cfg.unit_bytes : 1 + rng_below(&r, cfg.unit_bytes)),
                           now);
            uint64_t next = pacer_next(w.p);

            now = next == TIME_NEVER ? now + rng_magnitude(&r, 1, 1000000) : std::max(now, next);
            if (!exact && rng_below(&r, 4) == 0)
                now += rng_magnitude(&r, 1, 1ull << 30);
            for (Packet *p : w.poll(now, 1)) {
                ASSERT_TRUE(police.conforms(now, p->len_bytes))
                    << "run " << run << " packet " << looked << " at " << now << " pcr "
                    << cfg.pcr_Bps << " scr " << cfg.scr_Bps << " mbs " << cfg.mbs_bytes;
                bytes += p->len_bytes;
                looked++;
                held--;
                last = now;
            }
        }
        if (exact) { /* after the bursts that both allow, the slowest of the three rates */
            uint64_t slowest = cfg.scr_Bps != 0 ? cfg.scr_Bps : cfg.pcr_Bps;

            if (burst != 0 && rate < slowest)
                slowest = rate;
            EXPECT_GE((double)bytes + (double)cfg.unit_bytes + (double)burst,
                      0.999 * (double)slowest * (double)last / kHz)
                << "run " << run << " rate " << rate << " burst " << burst;
        }
    }
    EXPECT_GT(looked, 50000u);
}
