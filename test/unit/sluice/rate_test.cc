/* SPDX-License-Identifier: BSD-3-Clause */
/* What transfers allow themselves: calendars, as drawn texts and naive models have them, how an
 * allowance is divided, and what a receiver has the daemon keep its senders to. */
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <string>
#include <vector>

#include "../base/seed.h"

extern "C" {
#include "base/rng.h"
#include "client/state.h"
#include "sluice/rate/allowance.h"
#include "sluice/rate/calendar.h"
#include "sluice/say.h"
#include "sluice/transfer/receiver.h"
}

namespace
{

constexpr uint32_t kMinutes = 24 * 60;

struct Error {
    size_t at;
    std::string why;
};

/* What is wrong with a text; at SIZE_MAX: nothing. */
Error wrong(const std::string &text)
{
    struct calendar c;
    size_t at = 0;
    const char *why = calendar_read(&c, text.c_str(), &at);

    return why == nullptr ? Error{SIZE_MAX, ""} : Error{at, why};
}

uint64_t rate_at(const std::string &text, uint32_t second, uint64_t port_Bps, uint32_t *left_s)
{
    struct calendar c;
    size_t at;

    EXPECT_EQ(calendar_read(&c, text.c_str(), &at), nullptr) << text;
    return calendar_rate(calendar_at(&c, second, left_s), port_Bps);
}

/* Spaces, or (must: at least one of) them. */
std::string gap(struct rng *r, bool must)
{
    return std::string(rng_below(r, 3) + (must ? 1 : 0), rng_below(r, 4) == 0 ? '\t' : ' ');
}

std::string any_case(struct rng *r, std::string word)
{
    for (char &c : word)
        c = rng_below(r, 3) == 0 ? (char)std::toupper((unsigned char)c) : c;
    return word;
}

/* A step's rate as text, and in bytes per second at a port of 1 GB/s. */
std::string amount(struct rng *r, uint64_t *rate_Bps)
{
    uint64_t n = 1 + rng_below(r, 100);

    switch (rng_below(r, 4)) {
    case 0:
        *rate_Bps = n * 10000000;
        return std::to_string(n) + "%";
    case 1:
        *rate_Bps = n * 125000;
        return std::to_string(n) + gap(r, false) + "Mbit";
    case 2:
        *rate_Bps = n * 1000000;
        return std::to_string(n) + "MB/s";
    default:
        *rate_Bps = 0;
        return any_case(r, "unlimited");
    }
}

/* A calendar, and its model: for each minute of the day, the rate that holds. */
struct Drawn {
    std::string text;
    std::vector<uint32_t> ends = {}; /* minutes at which steps end; 0 is midnight */
    std::vector<uint64_t> rates = std::vector<uint64_t>(kMinutes, 0);
};

/* Draws when the n steps end. open: the last one ends at midnight. */
std::vector<uint32_t> ends_drawn(struct rng *r, uint32_t n, bool open)
{
    std::vector<uint32_t> ends;

    while (ends.size() < n) {
        uint32_t m = (uint32_t)rng_below(r, kMinutes);

        if (std::find(ends.begin(), ends.end(), m) == ends.end())
            ends.push_back(m);
    }
    std::sort(ends.begin(), ends.end());
    if (!open) {
        std::rotate(ends.begin(), ends.begin() + (long)rng_below(r, n), ends.end());
        return ends;
    }
    if (ends[0] == 0)
        ends.erase(ends.begin());
    else
        ends.pop_back();
    ends.push_back(0);
    return ends;
}

std::string until(struct rng *r, uint32_t end)
{
    char clock[16];

    end = end == 0 && rng_below(r, 2) ? kMinutes : end;
    snprintf(clock, sizeof clock, rng_below(r, 2) ? "%02u:%02u" : "%u:%02u", end / 60, end % 60);
    return gap(r, true) + any_case(r, "until") + gap(r, true) + clock;
}

std::string between(struct rng *r)
{
    switch (rng_below(r, 3)) {
    case 0:
        return gap(r, false) + "," + gap(r, false);
    case 1:
        return gap(r, true) + any_case(r, "then") + gap(r, true);
    default:
        return gap(r, false) + "," + gap(r, false) + "then" + gap(r, true);
    }
}

Drawn drawn(struct rng *r)
{
    uint32_t n = 1 + (uint32_t)rng_below(r, CALENDAR_STEPS_MAX);
    bool open = n == 1 || rng_below(r, 2) == 0; /* the last step has no time */
    Drawn d = {gap(r, false)};

    d.ends = ends_drawn(r, n, open);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t rate_Bps;
        uint32_t m = d.ends[(i + n - 1) % n];

        d.text += amount(r, &rate_Bps);
        do {
            d.rates[m] = rate_Bps;
            m = (m + 1) % kMinutes;
        } while (m != d.ends[i]);
        if (i + 1 < n || !open)
            d.text += until(r, d.ends[i]);
        d.text += i + 1 < n ? between(r) : gap(r, false);
    }
    return d;
}

} // namespace

TEST(Calendar, HoldsWhatItsTextSays)
{
    uint64_t seed = test_seed();
    struct rng r;

    rng_init(&r, seed);
    for (int world = 0; world < 3000; world++) {
        const Drawn d = drawn(&r);

        SCOPED_TRACE("\"" + d.text + "\" of SLUICE_SEED=" + std::to_string(seed));
        for (int k = 0; k < 40; k++) {
            uint32_t second = (uint32_t)rng_below(&r, CALENDAR_DAY_S), left_s;
            uint64_t rate = rate_at(d.text, second, 1000000000, &left_s);
            uint32_t end = (second + left_s) % CALENDAR_DAY_S;

            /* shares are rounded down to the byte */
            ASSERT_NEAR((double)rate, (double)d.rates[second / 60], 1.0) << second;
            /* a step ends where another one begins, and not before */
            ASSERT_TRUE(d.ends.size() == 1 || end % 60 == 0);
            for (uint32_t e : d.ends)
                ASSERT_TRUE(d.ends.size() == 1 ||
                            (e * 60 + CALENDAR_DAY_S - second - 1) % CALENDAR_DAY_S + 1 >= left_s);
        }
    }
}

TEST(Calendar, NamesThePlaceOfAnError)
{
    const struct {
        const char *text;
        size_t at;
        const char *why;
    } cases[] = {
        {"", 0, "a rate is missing"},
        {"80% until 8, then 10%", 10, "a time is missing"},
        {"80% until 08:60, then 10%", 10, "a time is missing"},
        {"80% until 24:01, then 10%", 10, "a time is missing"},
        {"80% until 008:00, then 10%", 10, "a time is missing"},
        {"80% until 08:00", 15, "what holds after that"},
        {"80%, then 10%", 3, "the step before has no end"},
        {"80% until 08:00 10%", 16, "here ends a step"},
        {"80% until 08:00, then", 21, "a rate is missing"},
        {"80% until 08:00, then 10", 22, "a rate needs a unit"},
        {"80% until 08:00, then 101%", 22, "it is more than 100%"},
        {"0% until 08:00, then 10%", 0, "nothing would move"},
        {"0 until 08:00, then 10%", 0, "nothing would move"},
        {"10M until 08:00, then 10%", 0, "its unit is none of"},
        {"80% until 08:00, then 10% until 08:00", 10, "a step ends when"},
        {"80% until 08:00, then 10% until 07:00, then 5% until 12:00", 53, "a step ends after"},
        {"80% until 24:00, then 10%", 10, "a step ends when"},
    };

    for (const auto &c : cases) {
        Error e = wrong(c.text);

        EXPECT_EQ(e.at, c.at) << c.text << ": " << e.why;
        EXPECT_EQ(e.why.rfind(c.why, 0), 0u) << c.text << ": " << e.why;
    }
    std::string many;
    for (int i = 0; i < 26; i++)
        many += "1% until " + std::to_string(i % 24) + ":30, then ";
    EXPECT_EQ(wrong(many + "1%").why, "there are more than 24 steps");
}

/* Whatever the text, reading ends, and an error is inside of it. */
TEST(Calendar, AnyTextIsReadOrRefused)
{
    const char *const pieces[] = {"80%",  "1Gbit", " ",         ",",  "until",
                                  "then", "08:00", "24:00",     "x",  "%",
                                  ":",    "0",     "unlimited", "\t", "999999999999"};
    uint64_t seed = test_seed();
    struct rng r;
    int good = 0;

    rng_init(&r, seed);
    for (int world = 0; world < 100000; world++) {
        std::string text;

        for (uint64_t n = rng_below(&r, 12); n > 0; n--)
            text += pieces[rng_below(&r, sizeof pieces / sizeof *pieces)];
        Error e = wrong(text);

        good += e.at == SIZE_MAX;
        ASSERT_TRUE(e.at == SIZE_MAX || e.at <= text.size()) << text;
        if (e.at == SIZE_MAX) {
            uint32_t left_s;

            rate_at(text, (uint32_t)rng_below(&r, CALENDAR_DAY_S), 1, &left_s);
            ASSERT_TRUE(left_s >= 1 && left_s <= CALENDAR_DAY_S) << text;
        }
    }
    EXPECT_GT(good, 100);
}

/* The clock of the wall decides: an hour that summer time skips, and one that it repeats. */
TEST(Allowance, FollowsTheWallClock)
{
    struct allowance_options o = {};
    struct allowance a = {};
    struct tm local = {};
    size_t at;

    o.option = "--rate";
    ASSERT_EQ(calendar_read(&o.calendar, "1MB/s until 02:30, then 2MB/s until 22:00", &at),
              nullptr);
    const struct {
        int hour, minute, second;
        uint64_t rate_Bps, wait_s;
    } cases[] = {
        {1, 59, 59, 1000000, 60}, {3, 0, 0, 2000000, 60},   /* 02:00 to 03:00 is skipped */
        {2, 29, 30, 1000000, 30}, {2, 30, 0, 2000000, 60},  /* ends, */
        {2, 0, 0, 1000000, 60},   {2, 59, 59, 2000000, 60}, /* is repeated */
        {21, 59, 59, 2000000, 1}, {22, 0, 0, 1000000, 60},  {23, 59, 60, 1000000, 60},
    };

    for (const auto &c : cases) {
        local.tm_hour = c.hour;
        local.tm_min = c.minute;
        local.tm_sec = c.second;
        allowance_look(&a, &o, &local, 7);
        ASSERT_NE(a.step, nullptr);
        EXPECT_EQ(a.step->rate_Bps, c.rate_Bps) << c.hour << ":" << c.minute;
        EXPECT_EQ(a.next_ns, 7 + c.wait_s * 1000000000) << c.hour << ":" << c.minute;
    }
}

/* Parts sum to the whole. All that want more than they get have the same part, the largest. */
TEST(Allowance, IsDividedMaxMin)
{
    uint64_t seed = test_seed();
    struct rng r;

    rng_init(&r, seed);
    for (int world = 0; world < 20000; world++) {
        uint32_t n = 1 + (uint32_t)rng_below(&r, 20);
        uint64_t rate = 1000 + rng_below(&r, 1000000000), sum = 0, largest = 0;
        std::vector<struct allowance_part> before(n), after;

        for (auto &p : before) {
            p.part_Bps = rng_below(&r, 5) == 0 ? 0 : 1 + rng_below(&r, rate);
            p.used_Bps = rng_below(&r, p.part_Bps + 1);
        }
        after = before;
        allowance_divide(rate, after.data(), n);
        SCOPED_TRACE("world " + std::to_string(world) + " of SLUICE_SEED=" + std::to_string(seed));
        for (const auto &p : after) {
            sum += p.part_Bps;
            largest = std::max(largest, p.part_Bps);
            ASSERT_GT(p.part_Bps, 0u) << "0 would be no limit";
        }
        ASSERT_LE(sum, rate + n);
        ASSERT_GE(sum + 2 * n, rate);
        for (uint32_t i = 0; i < n; i++) {
            const struct allowance_part &p = before[i];
            bool hungry = p.part_Bps == 0 || p.used_Bps >= p.part_Bps / 8 * 7;

            ASSERT_GE(after[i].part_Bps,
                      hungry ? largest : std::min(p.used_Bps + p.used_Bps / 4, largest));
        }
    }
}

/* A receiver with its connections, and a session of which the test is the daemon. */
class ReceiverLimit : public testing::Test
{
  protected:
    static constexpr uint32_t N = 4, ENTRIES = 64;
    enum { WAITING = 1, OPEN = 3 }; /* states of connections, in PROTOCOL_UNIT_STATE */

    void SetUp() override
    {
        struct client_channel *c = &session.channels[0];

        session.limits.channels = 1;
        session.sq_entries = session.cq_entries = ENTRIES;
        session.ops_free = CLIENT_NONE;
        session.layout = protocol_layout_for(1, ENTRIES, ENTRIES, N);
        session.memory =
            (uint8_t *)aligned_alloc(PROTOCOL_PAGE, (size_t)session.layout.total_bytes);
        memset(session.memory, 0, (size_t)session.layout.total_bytes);
        c->shared = (struct protocol_channel *)session.memory;
        c->sq = (struct protocol_submission *)(session.memory + session.layout.sq_offset);
        c->cq = (struct protocol_completion *)(session.memory + session.layout.cq_offset);
        receiver.options = &options;
        for (uint32_t i = 0; i < N; i++) {
            conns[i] = {};
            conns[i].session = &session;
            conns[i].handle = i;
            senders[i].conn = &conns[i];
            receiver.senders[receiver.n_senders++] = &senders[i];
        }
        say_divert([](void *, bool, const char *) {}, nullptr);
    }
    void TearDown() override
    {
        say_divert(nullptr, nullptr);
        free(session.memory);
        free(session.ops);
        free(session.ready);
    }
    /* The daemon tells of connection i. */
    void tells(uint32_t i, uint64_t state, uint64_t port_Bps, uint64_t rx_bytes = 0)
    {
        auto *at = (struct protocol_status *)(session.memory + session.layout.status_offset) + i;

        at->words[PROTOCOL_UNIT_STATE] = state << 48;
        at->words[PROTOCOL_PORT_BPS] = port_Bps;
        at->words[PROTOCOL_RX_BYTES] = rx_bytes;
    }
    /* What the daemon keeps connection i to, by the newest submission. */
    uint64_t kept_Bps(uint32_t i) const
    {
        uint64_t rate_Bps = 0;

        for (uint32_t k = 0; k < session.channels[0].sq_tail; k++)
            if (session.channels[0].sq[k].handle == i)
                rate_Bps = session.channels[0].sq[k].u.limit.rx_Bps;
        return rate_Bps;
    }
    void holds(const struct calendar &calendar, uint32_t step)
    {
        options.allowance.option = "--rate";
        options.allowance.calendar = calendar;
        receiver.allowance.step = &options.allowance.calendar.steps[step];
        receiver.allowance.next_ns = UINT64_MAX; /* the clock has no say */
    }

    struct sluice session = {};
    struct sluice_conn conns[N];
    struct incoming senders[N] = {};
    struct receiver_options options = {};
    struct receiver receiver = {};
};

/* Its source address may be forged: it gets nothing of what a sender has. */
TEST_F(ReceiverLimit, APeerThatIsNotProvedHasNoPart)
{
    holds({.n = 1, .steps = {{.rate_Bps = 9000000, .share = 0, .until_s = 0}}}, 0);
    for (uint32_t i = 0; i < 3; i++) {
        senders[i].state = INCOMING_OPEN;
        tells(i, OPEN, 0, 64);
    }
    senders[3].state = INCOMING_WAITING;
    tells(3, WAITING, 0);
    senders[0].proved = true;
    ASSERT_EQ(receiver_limit(&receiver), SAY_OK);
    EXPECT_EQ(kept_Bps(0), 9000000u);
    for (uint32_t i = 1; i < N; i++)
        EXPECT_EQ(kept_Bps(i), 4500000u) << "what a second sender would get";
    senders[2].proved = true;
    tells(0, OPEN, 0, 1u << 30); /* it uses all that it may */
    ASSERT_EQ(receiver_limit(&receiver), SAY_OK);
    for (uint32_t i : {0, 2})
        EXPECT_EQ(kept_Bps(i), 4500000u);
    for (uint32_t i : {1, 3})
        EXPECT_EQ(kept_Bps(i), 3000000u);
}

/* A share that cannot be known is an error at once, and not when its step begins in the night. */
TEST_F(ReceiverLimit, AShareOfAnUnknownPortIsAnErrorInEachStep)
{
    const struct calendar calendar = {
        .n = 2,
        .steps = {{.rate_Bps = 9000000, .share = 0, .until_s = 28800},
                  {.rate_Bps = 0, .share = UINT64_MAX / 2, .until_s = 0}}};

    senders[0].state = INCOMING_WAITING;
    for (uint32_t step : {0, 1}) {
        holds(calendar, step);
        tells(0, WAITING, 0);
        EXPECT_EQ(receiver_limit(&receiver), SAY_USAGE) << step;
    }
    holds(calendar, 0);
    tells(0, WAITING, 2000000);
    EXPECT_EQ(receiver_limit(&receiver), SAY_OK);
    EXPECT_EQ(kept_Bps(0), 9000000u);
    /* The port has lost its link since. */
    tells(0, WAITING, 0);
    holds(calendar, 1);
    EXPECT_EQ(receiver_limit(&receiver), SAY_OK);
    EXPECT_NEAR((double)kept_Bps(0), 1e6, 1) << "half of what it carried, and not the step before";
}
