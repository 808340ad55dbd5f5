/* SPDX-License-Identifier: BSD-3-Clause */
/* What the near end of sluice cp takes from a far end, which a script of the shell plays here. Each
 * breach of the order ends the copy with a message; nothing of it harms the terminal. */
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "unit/sluice/cp/script.h"

extern "C" {
#include "sluice/cp/far.h"
#include "sluice/cp/message_report.h"
#include "sluice/loop.h"
#include "sluice/say.h"
}

using said::address;
using said::ends;
using said::hello;
using said::ready;

static const std::string hears = "head -c 56 >/dev/null; "; /* START and GO */

/* Has the far end receive, or (pull) send; waits until it accepts, then for its end. Ends with the
 * exit code. */
[[noreturn]] static void copy(const std::string &script, bool pull = false)
{
    const char *words[] = {"sh", "-c", script.c_str(), nullptr};
    struct far_order order = {};
    struct far f = {};

    loop_signals();
    order.start.flags = pull ? MESSAGE_PULL : 0;
    int code = far_start(&f, (char *const *)words, "host", false);
    if (code == SAY_OK)
        code = far_order(&f, &order);
    if (code == SAY_OK)
        code = far_wait(&f);
    exit(far_finish(&f, code));
}

static void expect(const std::string &script, int code, const std::string &words, bool pull = false)
{
    EXPECT_EXIT(copy(script, pull), testing::ExitedWithCode(code), words) << script;
}

TEST(FarDeathTest, InOrder)
{
    expect(says(hello) + hears + says(address + ready + ends(SAY_OK)), SAY_OK, "^$");
    expect(says(hello) + hears + says(encoded(MESSAGE_ERROR, "no") + ends(SAY_LOCAL)), SAY_REMOTE,
           "^sluice: host: no\n$");
}

TEST(FarDeathTest, OutOfOrder)
{
    const std::string wrong = "sluice: host: invalid message \\(out of order\\)";

    expect(says(hello + hello), SAY_PEER, wrong);
    expect(says(hello + ready), SAY_PEER, wrong); /* before it was told anything */
    expect(says(hello + address), SAY_PEER, wrong);
    expect(says(hello) + hears + says(address + ready), SAY_PEER, wrong, true); /* but it sends */
    expect(says(hello) + hears + says(ready), SAY_PEER, wrong, true);
}

/* A length that its data may have. */
static size_t size_of(enum message_type type)
{
    return type == MESSAGE_SUMMARY    ? MESSAGE_SUMMARY_MIN
           : type == MESSAGE_PROGRESS ? MESSAGE_PROGRESS_MIN
                                      : MESSAGE_FILE_MIN;
}

/* What changes is told only by a receiver that was asked to. */
TEST(FarDeathTest, ItemsThatNobodyAskedFor)
{
    const std::string item = encoded(MESSAGE_ITEM, ">f+++++++++ f");

    expect(says(hello) + hears + says(item), SAY_PEER,
           "sluice: host: invalid message \\(out of order\\)");
}

/* Only a far end that was asked to, of a copy between two other hosts, reports. */
TEST(FarDeathTest, ReportsThatNobodyAskedFor)
{
    for (enum message_type type :
         {MESSAGE_PROGRESS, MESSAGE_FILE, MESSAGE_FAILED, MESSAGE_SUMMARY}) {
        const std::string report = encoded(type, std::string(300, 0).substr(0, size_of(type)));

        expect(says(hello) + hears + says(report), SAY_PEER,
               "sluice: host: invalid message \\(out of order\\)");
        expect(says(hello) + hears + says(report), SAY_PEER,
               "sluice: host: invalid message \\(out of order\\)", true);
    }
}

TEST(FarDeathTest, WhatOnlyTheNearEndSays)
{
    const std::string wrong = "invalid message \\(one that only the near end sends\\)";

    expect(says(hello + encoded(MESSAGE_GO, "")), SAY_PEER, wrong);
    expect(says(hello + encoded(MESSAGE_PATH, "x")), SAY_PEER, wrong);
    expect(says(hello + encoded(MESSAGE_ASKED, "x")), SAY_PEER, wrong);
    expect(says(hello + encoded(MESSAGE_LIMIT, "x")), SAY_PEER, wrong);
}

TEST(FarDeathTest, TooMuchAndTooLittle)
{
    const std::string told = says(hello) + hears, none = encoded(MESSAGE_READY, std::string(3, 0));
    std::string many;

    for (int i = 0; i <= ADDRESS_LIST_MAX; i++)
        many += address;
    expect(told + says(many), SAY_PEER, "invalid message \\(an address that cannot be\\)");
    expect(told + says(ready + ready), SAY_PEER, "invalid message \\(a service that cannot be\\)");
    expect(told + says(none), SAY_PEER, "invalid message \\(a service that cannot be\\)");
    expect(told + says(encoded(MESSAGE_READY, "\xc3\x50\2")), SAY_PEER,
           "invalid message \\(a service that cannot be\\)");
    expect("", SAY_PEER, "sh ended with status 0 before sluice there began");
    expect(told, SAY_TRANSFER, "sluice there ended without a result");
    expect(told + says(ends(SAY_OK)), SAY_TRANSFER, "ended before it was ready");
}

/* Neither the text of a message nor what is no message at all reaches the terminal as it came. */
TEST(FarDeathTest, ControlCharactersAreNotPrinted)
{
    const std::string evil = "\033[2J\rsluice: all is well\n\x9b";

    expect(says(hello) + hears + says(encoded(MESSAGE_ERROR, evil) + ends(SAY_REMOTE)), SAY_LOCAL,
           "^sluice: host: \\?\\[2J\\?sluice: all is well\\?\\?\n$");
    expect(says("\033[2Jgone"), SAY_PEER, "^sluice: host: printed \"\\?\\[2Jgone\" where");
}
