/* SPDX-License-Identifier: BSD-3-Clause */
/* The near end of a copy between two other hosts, whose far ends are scripts of the shell here:
 * what it tells each of them, what it prints, and the exit code. */
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "unit/sluice/cp/script.h"
#include "unit/sluice/folder.h"

extern "C" {
#include "sluice/cp/between.h"
#include "sluice/cp/message_report.h"
#include "sluice/say.h"
}

static std::string ends(int code)
{
    return says(said::ends(code));
}

static const std::string hello = says(said::hello);
static const std::string accepts = says(said::address + said::ready);
/* Reads messages, byte by byte, up to GO; waits for the end of its input. */
static const std::string to_go =
    "while x=$(head -c 8 | od -An -tx1 | tr -d ' \\n'); [ -n \"$x\" ]; do "
    "n=$((0x${x#????????????})); head -c $n >/dev/null; "
    "[ ${x%????} != 534c43500305 ] || break; done; ";
static const std::string to_end = "cat >/dev/null; ";

static std::string failed(uint8_t code, const char *name, const char *cause)
{
    uint8_t out[MESSAGE_DATA_MAX];
    size_t len = message_failed_encode(out, code, name, cause);

    return says(encoded(MESSAGE_FAILED, std::string((char *)out, len)));
}

static std::string summed(uint64_t files)
{
    uint8_t out[MESSAGE_DATA_MAX];
    struct summary s = {};

    s.files = files;
    s.end_ns = 1000000000;
    s.cpu_ns = 1;
    strcpy(s.stats.peer, "10.90.0.2:\33[2J");
    size_t len = message_summary_encode(out, &s);
    return says(encoded(MESSAGE_SUMMARY, std::string((char *)out, len)));
}

/* Copies a/b/f from the host "a" to the path t of the host "b"; ends with the exit code. */
[[noreturn]] static void copy(const std::string &from, const std::string &to, bool verbose)
{
    const char *from_words[] = {"sh", "-c", from.c_str(), nullptr};
    const char *words[] = {"sh", "-c", to.c_str(), nullptr};
    const char *sources[] = {"a/b/f"};
    struct near_options o = {};

    o.from_words = (char *const *)from_words;
    o.from_host = "a";
    o.words = (char *const *)words;
    o.host = "b";
    o.sources = (char *const *)sources;
    o.n_sources = 1;
    o.target = "t";
    o.buffers = 8;
    o.common.verbose = verbose;
    alarm(20);
    exit(between_run(&o));
}

static void expect(const std::string &from, const std::string &to, int code,
                   const std::string &words, bool verbose = false)
{
    EXPECT_EXIT(copy(from, to, verbose), testing::ExitedWithCode(code), words) << from << "\n"
                                                                               << to;
}

static const std::string right = hello + to_go + accepts;

TEST(BetweenDeathTest, BothEnd)
{
    expect(hello + to_go + summed(1) + ends(SAY_OK), right + ends(SAY_OK), SAY_OK, "^$");
    expect(hello + to_go + summed(3) + ends(SAY_OK), right + ends(SAY_OK), SAY_OK,
           "^sluice: sent 3 files, 0 bytes \\(0 B\\) in 1.000 s, .* from a to b, at "
           "10.90.0.2:\\?\\[2J\n",
           true);
    /* The receiver may end first. */
    expect(hello + to_go + summed(1) + "sleep 0.3; " + ends(SAY_OK), right + ends(SAY_OK), SAY_OK,
           "^$");
}

TEST(BetweenDeathTest, WhoseFileItIsDecidesTheCode)
{
    const std::string error = says(encoded(MESSAGE_ERROR, "f: no; look"));

    expect(hello + to_go + error + ends(SAY_LOCAL), right + to_end + ends(128 + 1), SAY_LOCAL,
           "^sluice: a: f: no; look\n$");
    expect(hello + to_go + to_end, hello + to_go + error + ends(SAY_LOCAL), SAY_REMOTE,
           "^sluice: b: f: no; look\n$");
    expect(hello + to_go + failed(RECORD_EXISTS, "x\33", "File\33 exists") + summed(0) +
               ends(SAY_REMOTE),
           right + "sleep 0.3; " + ends(SAY_OK), SAY_REMOTE,
           "^sluice: b: x\\?: File\\? exists; .*\n$");
    /* What the sender has said already is not said again. */
    expect(hello + to_go + error + failed(0, "f", "no") + summed(0) + ends(SAY_LOCAL),
           right + ends(SAY_OK), SAY_LOCAL, "^sluice: a: f: no; look\n$");
    expect(hello + to_go + error + ends(SAY_DAEMON), right + to_end, SAY_DAEMON, "^sluice: a: ");
    expect(hello + to_go + to_end, hello + to_go + error + ends(SAY_DAEMON), SAY_PEER,
           "^sluice: b: ");
}

/* The other one is not waited for. */
TEST(BetweenDeathTest, OneIsLost)
{
    expect(hello + to_go, right + to_end, SAY_TRANSFER,
           "^sluice: a: sluice there ended without a result .*\n$");
    expect(hello + to_go + to_end, right, SAY_TRANSFER,
           "^sluice: b: sluice there ended without a result .*\n$");
    expect("exit 127", hello + to_end, SAY_PEER, "^sluice: a: sluice is not found there");
    expect(hello + to_end, "exit 255", SAY_PEER, "^sluice: b: sh cannot log in");
    expect(hello + to_go + ends(SAY_OK), right + "exec sleep 1000", SAY_TRANSFER,
           "^sluice: b: sluice there does not end");
}

TEST(BetweenDeathTest, WhatCannotBe)
{
    const std::string item = says(encoded(MESSAGE_ITEM, "x")),
                      bad = says(encoded(MESSAGE_FILE, std::string(9, '\xff')));

    expect(hello + to_go + accepts, right + to_end, SAY_PEER,
           "^sluice: a: invalid message \\(out of order\\)");
    expect(hello + to_go + item, right + to_end, SAY_PEER, "^sluice: a: .*\\(out of order\\)");
    expect(hello + to_go + bad, right + to_end, SAY_PEER,
           "^sluice: a: .*\\(a number out of range\\)");
    expect(hello + to_go + summed(1) + summed(1), right + to_end, SAY_PEER,
           "^sluice: a: .*\\(out of order\\)");
    expect(hello + to_go + to_end, right + summed(1), SAY_PEER, "^sluice: b: .*\\(out of order\\)");
}

/* The receiver hears the last component of the source, and the sender nothing of the target. */
TEST(BetweenDeathTest, NoEndHearsMoreThanItNeeds)
{
    const Folder folder;

    /* GO is the last message, and has no data: what ends with it is all. */
    auto hears = [&](const std::string &name, size_t bytes) {
        return "head -c " + std::to_string(bytes) + " > " + folder.at(name) + "; ";
    };
    const size_t start = 8 + MESSAGE_START_BYTES, go = 8;
    const size_t of_to = start + (8 + 1) + (8 + 32) + (8 + 3) + go;
    const size_t of_from = start + (8 + 5) + (8 + 17) + go;
    expect(hello + hears("from", of_from) + summed(1) + ends(SAY_OK),
           hello + hears("to", of_to) + accepts + ends(SAY_OK), SAY_OK, "^$");
    const std::string from = folder.read("from"), to = folder.read("to"),
                      last = encoded(MESSAGE_GO, "");
    ASSERT_EQ(from.size(), of_from);
    ASSERT_EQ(to.size(), of_to);
    EXPECT_EQ(from.substr(from.size() - last.size()), last);
    EXPECT_EQ(to.substr(to.size() - last.size()), last);
    EXPECT_NE(from.find(encoded(MESSAGE_PATH, "a/b/f")), std::string::npos);
    EXPECT_NE(to.find(encoded(MESSAGE_PATH, "t")), std::string::npos);
    EXPECT_NE(to.find(encoded(MESSAGE_ASKED, "./f")), std::string::npos);
    EXPECT_EQ(to.find("a/b"), std::string::npos);
    EXPECT_EQ(from.substr(8, 16), to.substr(8, 16)) << "both have the token";
    EXPECT_NE(from.substr(8, 16), std::string(16, 0));
}
