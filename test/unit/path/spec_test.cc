// SPDX-License-Identifier: BSD-3-Clause
// An error in a spec names its position, the word, and the nearest right word. No text crashes the
// parser or leaks.
#include <cstring>
#include <string>
#include <vector>

#include "base/seed.h"
#include "spec_maker.h"
#include "support.h"

namespace
{

TEST(Spec, ErrorsNamePositionWordAndNearest)
{
    const struct {
        const char *spec, *position, *word, *says;
    } bad[] = {
        {"dellay 20ms", "position 1:", "\"dellay\"", "\"delay\""},
        {"delay 20ms los 1%", "position 12:", "\"los\"", "\"loss\""},
        {"delay 20", "position 7:", "\"20\"", "needs a unit"},
        {"delay", "position 6:", "the end", "delay is missing"},
        {"delay 20ms 2ms distribution norml", "position 29:", "\"norml\"", "\"normal\""},
        {"delay 20ms distributon normal", "position 12:", "\"distributon\"", "\"distribution\""},
        {"delay 1001h", "position 7:", "\"1001h\"", "1000 hours"},
        {"rate 100", "position 6:", "\"100\"", "needs a unit"},
        {"rate 100mbit limt 5", "position 14:", "\"limt\"", "\"limit\""},
        {"rate 9tbit", "position 6:", "\"9tbit\"", "8 Tbit/s"},
        {"rate 1mbit limit 5000000000", "position 18:", "\"5000000000\"", "4294967295"},
        {"loss 101%", "position 6:", "\"101%\"", "more than 100%"},
        {"loss 1", "position 6:", "\"1\"", "needs a %"},
        {"loss -1%", "position 6:", "\"-1%\"", "negative"},
        {"loss stat 1%", "position 6:", "\"stat\"", "\"state\""},
        {"loss every 0", "position 12:", "\"0\"", "not in 1 to"},
        {"police pcr 1mbit tagg", "position 18:", "\"tagg\"", "\"tag\""},
        {"match sorc 1.2.3.4 ( )", "position 7:", "\"sorc\"", "\"src\""},
        {"match src 1.2.3 ( )", "position 11:", "\"1.2.3\"", "no address"},
        {"match src 1.2.3.4/33 ( )", "position 11:", "\"1.2.3.4/33\"", "length"},
        {"match dport 70000 ( )", "position 13:", "\"70000\"", "65535"},
        {"match proto tpc ( )", "position 13:", "\"tpc\"", "\"tcp\""},
        {"match ( )", "position 7:", "\"(\"", "no condition"},
        {"match dport 5 delay 1ms", "position 15:", "\"delay\"", "parentheses is missing"},
        {"match dport 5 ( delay 1ms", "position 26:", "the end", ") is missing"},
        {"delay 1ms )", "position 11:", "\")\"", "not opened"},
        {"each flo ( )", "position 6:", "\"flo\"", "\"flow\""},
        {"each flow max 0 ( )", "position 15:", "\"0\"", "not in 1 to 1024"},
        {"hop 1mbit rctnl", "position 11:", "\"rctnl\"", "\"rcntl\""},
        {"receiver 1mbit stal 5ms", "position 16:", "\"stal\"", "\"stall\""},
        {"rate 1mbit at 5s rte 2mbit", "position 18:", "\"rte\"", "\"rate\""},
        {"rate 1mbit at 5s", "position 17:", "the end", "missing"},
        {"rate 1mbit at 5s rate/2 2mbit", "position 18:", "\"rate/2\"", "above"},
        {"rate 1mbit rate 2mbit at 5s rate 2mbit", "position 29:", "\"rate\"", "more than once"},
        {"rate 1mbit at 5s rate/x 2mbit", "position 18:", "\"rate/x\"", "number"},
        {"match dport 5 ( ) at 5s match", "position 25:", "\"match\"", "inside"},
        {"rate 1mbit at 5s rate 2mbit loss 5%", "position 29:", "\"loss\"", "not an element"},
        {"seed x", "position 6:", "\"x\"", "seed"},
        {"each flow ( seed 5 )", "position 13:", "\"seed\"", "no element"},
        {"slot 5ms packts 3", "position 10:", "\"packts\"", "\"packets\""},
        {"corrupt", "position 8:", "the end", "missing"},
        {"  \t\n duplicat 5%", "position 6:", "\"duplicat\"", "\"duplicate\""},
        {"rate 1mbit red min 1k mx 5k", "position 23:", "\"mx\"", "\"max\""},
        {"rate 1mbit codel tarjet 5ms", "position 18:", "\"tarjet\"", "\"target\""},
    };
    for (auto b : bad) {
        std::string e = spec_error(b.spec);

        EXPECT_NE(e.find(b.position), std::string::npos) << b.spec << " -> " << e;
        EXPECT_NE(e.find(b.word), std::string::npos) << b.spec << " -> " << e;
        EXPECT_NE(e.find(b.says), std::string::npos) << b.spec << " -> " << e;
    }
}

TEST(Spec, Limits)
{
    std::string wide, deep = "delay 1ms", flows;

    for (int i = 0; i < 64; i++)
        wide += "loss 1% ";
    EXPECT_EQ(spec_error(wide), "");
    EXPECT_NE(spec_error(wide + "loss 1%").find("64 elements"), std::string::npos);
    for (int i = 0; i < 4; i++)
        deep = "each flow max 2 ( " + deep + " )";
    EXPECT_EQ(spec_error(deep), "");
    EXPECT_NE(spec_error("each flow ( " + deep + " )").find("too many parentheses"),
              std::string::npos);
    EXPECT_NE(spec_error("each flow max 1024 ( each flow max 1024 ( loss 1% ) )").find("16384"),
              std::string::npos);
    EXPECT_NE(spec_error(std::string(5000, ' ')).find("4096"), std::string::npos);
    EXPECT_NE(spec_error("delay " + std::string(300, '1')).find("too long a word"),
              std::string::npos);
    EXPECT_EQ(spec_error("loss pattern " + std::string(255, '0')), "");
}

TEST(Spec, LetterCaseAndSpacesDoNotMatter)
{
    EXPECT_EQ(spec_error(""), "");
    EXPECT_EQ(spec_error(" \t\n"), "");
    EXPECT_EQ(spec_error("DELAY 5MS\n\tLoss 5%\vRATE 5Mbit"), "");
    EXPECT_EQ(spec_error("match dport 5(delay 1ms)else(loss 1%)"), "");
}

TEST(Spec, NumbersMayBeginWithTheirPoint)
{
    EXPECT_EQ(spec_error("loss .5%"), "");
    EXPECT_EQ(spec_error("delay 10ms .5ms .5%"), "");
}

TEST(Spec, TextIsAsItWasWritten)
{
    Line l("seed 5  RATE 5mbit  limit 3   loss 1% at 5s loss 2%");

    EXPECT_STREQ(l.element(0).kind, "rate");
    EXPECT_STREQ(l.element(0).text, "RATE 5mbit  limit 3");
    EXPECT_STREQ(l.element(1).text, "loss 1%");
    struct path_element_info info;
    EXPECT_FALSE(path_element(l.p, 2, &info));
}

TEST(Spec, ShortMessageBuffersAreEnough)
{
    struct path_config cfg = {GHZ, 1, 64, test_pool, 0, 0};

    for (size_t len : {1, 2, 10, 30}) {
        std::string err(len + 1, 'x');
        EXPECT_EQ(path_create("delay x", &cfg, 0, &err[0], len), nullptr);
        EXPECT_EQ(err[len], 'x');
        EXPECT_LT(err.find('\0'), len);
    }
}

TEST(Spec, WithoutMemoryItSaysSo)
{
    struct path_config cfg = {GHZ, 1, PATH_PACKETS_MAX, test_pool, 0, 0};
    size_t before = heap_objects();

    for (const char *spec :
         {"", "delay 1ms 1ms", "delay 1ms", "slot 1ms", "each flow ( rate 1mbit )",
          "match dport 5 ( loss 1% )", "trace ./none"}) {
        char err[256] = "";
        struct path *p = path_create(spec, &cfg, 0, err, sizeof err);

        EXPECT_NE(std::string(err).find(spec[0] == 't' ? "./none" : "no memory"), std::string::npos)
            << spec << ": " << err;
        EXPECT_EQ(p, nullptr) << spec;
        path_destroy(p);
        EXPECT_EQ(heap_objects(), before) << spec;
    }
    path_destroy(nullptr);
}

/* Changes, doubles, removes, cuts and moves words, and changes letters. */
TEST(Spec, MutationsNeverCrashOrLeak)
{
    TempFile trace("1\n2\n"), table("0 8192 -8192\n");
    SpecMaker maker(test_seed(), trace.name, table.name);
    static const char letters[] = "()/-+.,%0159azAZ \t\x80\xff";
    static const char *const words[] = {
        "at",    "limit", "(",  ")",    "0",     "-1",   "100%", "5ms",
        "1mbit", "each",  "or", "else", "match", "band", "seed", "99999999999999999999"};
    size_t before = heap_objects(), good = 0;

    for (int round = 0; round < 4000; round++) {
        std::string s = maker.path(4);

        for (uint64_t n = maker.below(4); n > 0 && !s.empty(); n--) {
            size_t at = maker.below(s.size()), len = maker.below(12);

            switch (maker.below(5)) {
            case 0:
                s[at] = letters[maker.below(sizeof letters - 1)];
                break;
            case 1:
                s.erase(at, len);
                break;
            case 2:
                s.insert(maker.below(s.size()), s.substr(at, len));
                break;
            case 3:
                s.resize(at);
                break;
            default:
                s.insert(at, std::string(" ") + words[maker.below(16)] + " ");
            }
        }
        if (s.size() > PATH_SPEC_MAX_BYTES)
            continue;
        char err[512] = "";
        struct path_config cfg = {GHZ, 1, 16, test_pool, 0, 0};
        struct path *p = path_create(s.c_str(), &cfg, 0, err, sizeof err);

        EXPECT_EQ(p == nullptr, err[0] != '\0') << s;
        if (p != nullptr) {
            good++;
            for (uint64_t at = 0; at < 10; at++) {
                struct rte_mbuf *m = packet_make(60 + 100 * (uint32_t)at);
                path_push(p, &m, 1, at * 1000);
            }
            struct rte_mbuf *out[32];
            uint16_t n = path_pop(p, out, 32, GHZ);
            rte_pktmbuf_free_bulk(out, n);
        } else if (strstr(err, "more than 16384") == nullptr) {
            EXPECT_EQ(strncmp(err, "position ", 9), 0) << s << " -> " << err;
        }
        path_destroy(p);
        ASSERT_EQ(heap_objects(), before) << s;
    }
    EXPECT_GT(good, 100u);
}

} // namespace
