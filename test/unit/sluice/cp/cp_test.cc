/* SPDX-License-Identifier: BSD-3-Clause */
/* What sluice cp reads: operands, the remote shell's command, addresses, paths of the far end, and
 * messages (golden bytes as in doc/file-protocol.md). Bad input gets a clear error. */
#include <cerrno>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "unit/base/seed.h"
#include "unit/sluice/cp/messages.h"

extern "C" {
#include "sluice/cp/address.h"
#include "sluice/cp/operand.h"
#include "sluice/cp/rsh.h"
#include "sluice/cp/server.h"
#include "sluice/transfer/copy.h"
}

/* ---- operands ------------------------------------------------------------------------------ */

static std::string read_operand(const std::string &text)
{
    struct operand o;
    const char *wrong = operand_read(&o, text.c_str());

    return wrong != nullptr ? "wrong: " + std::string(wrong) : std::string(o.host) + "|" + o.path;
}

TEST(Operand, LocalPathsHaveNoColonBeforeTheFirstSlash)
{
    for (const char *text : {"a", "./a:b", "/a:b", "a/b:c", ":a", "-", "dir/", "~/x", "[a", "[a]",
                             "[::1", "[a:b]/x:y", "..", "a b", "@"})
        EXPECT_EQ(read_operand(text), "|" + std::string(text));
}

TEST(Operand, RemotePaths)
{
    EXPECT_EQ(read_operand("host:path"), "host|path");
    EXPECT_EQ(read_operand("host:"), "host|");
    EXPECT_EQ(read_operand("host:/a:b"), "host|/a:b");
    EXPECT_EQ(read_operand("host:-rf"), "host|-rf");
    EXPECT_EQ(read_operand("user@host:~/x y'\"$(z)\n"), "user@host|~/x y'\"$(z)\n");
    EXPECT_EQ(read_operand("a@b@host:x"), "a@b@host|x");
    EXPECT_EQ(read_operand("[fd90::1]:path"), "fd90::1|path");
    EXPECT_EQ(read_operand("user@[fd90::1]:/x"), "user@fd90::1|/x");
    EXPECT_EQ(read_operand("[fe80::1%eth0]:x"), "fe80::1%eth0|x");
    EXPECT_EQ(read_operand("fd90::1:x"), "fd90|:1:x"); /* as scp: brackets are needed */
    EXPECT_EQ(read_operand(std::string(255, 'h') + ":x"), std::string(255, 'h') + "|x");
}

TEST(Operand, BadHosts)
{
    const struct {
        std::string text, word;
    } cases[] = {
        {"", "empty"},
        {"@host:x", "missing"},
        {"user@:x", "missing"},
        {"[]:x", "missing"},
        {"user@[]:x", "missing"},
        {"-oProxyCommand=sh:x", "option"},
        {"user@-oProxyCommand=sh:x", "option"},
        {"[-v]:x", "option"},
        {"a b:x", "characters"},
        {"a;b:x", "characters"},
        {"$(b):x", "characters"},
        {"`b`@h:x", "characters"},
        {"a\nb:x", "characters"},
        {"a\tb:x", "characters"},
        {std::string(256, 'h') + ":x", "too long"},
    };

    for (auto &c : cases) {
        std::string got = read_operand(c.text);

        EXPECT_EQ(got.rfind("wrong: ", 0), 0u) << c.text;
        EXPECT_NE(got.find(c.word), std::string::npos) << c.text << ": " << got;
        EXPECT_NE(got.find(';'), std::string::npos) << got; /* cause; cure */
    }
}

/* ---- the remote shell ---------------------------------------------------------------------- */

static std::vector<std::string> split(std::string command)
{
    char *words[RSH_WORDS_MAX];
    int n = rsh_split(command.data(), words);

    if (n < 0)
        return {"wrong"};
    return std::vector<std::string>(words, words + n);
}

TEST(Rsh, Words)
{
    using Words = std::vector<std::string>;

    EXPECT_EQ(split("ssh"), Words{"ssh"});
    EXPECT_EQ(split("  ssh\t-p  22 "), (Words{"ssh", "-p", "22"}));
    EXPECT_EQ(split("ssh -o 'ProxyCommand=a b' \"c d\"e"),
              (Words{"ssh", "-o", "ProxyCommand=a b", "c de"}));
    EXPECT_EQ(split("a '' \"'\""), (Words{"a", "", "'"}));
    for (const char *bad : {"", "  ", "'ssh", "ssh \"-p", "ssh '\""})
        EXPECT_EQ(split(bad), Words{"wrong"}) << bad;
    std::string many;
    for (int i = 0; i < RSH_WORDS_MAX; i++)
        many += "w ";
    EXPECT_EQ(split(many).size(), (size_t)RSH_WORDS_MAX);
    EXPECT_EQ(split(many + "w"), Words{"wrong"});
}

TEST(Rsh, StatusOfTheProgram)
{
    const struct {
        const char *command;
        int status;
    } cases[] = {
        {"exit 0", 0}, {"exit 3", 3}, {"kill -9 $$", 128 + 9}, {"exec sleep 60", 128 + 15}};

    for (auto &c : cases) {
        const char *words[] = {"sh", "-c", c.command, nullptr};
        int in_fd, out_fd;
        pid_t pid = rsh_start((char *const *)words, &in_fd, &out_fd);

        ASSERT_GT(pid, 0);
        close(in_fd);
        close(out_fd);
        EXPECT_EQ(rsh_end(pid, c.status == 128 + 15 ? 0 : 10000000000), c.status) << c.command;
    }
    const char *nowhere[] = {"/nonexistent/ssh", nullptr};
    int in_fd, out_fd;
    EXPECT_EQ(rsh_start((char *const *)nowhere, &in_fd, &out_fd), -ENOENT);
}

/* ---- addresses ----------------------------------------------------------------------------- */

static std::string address_back(const char *text)
{
    char out[ADDRESS_TEXT_MAX];
    struct address a;

    return address_parse(&a, text) ? address_text(&a, out) : "wrong";
}

TEST(Address, Text)
{
    EXPECT_EQ(address_back("192.0.2.1/24"), "192.0.2.1/24");
    EXPECT_EQ(address_back("192.0.2.1"), "192.0.2.1/32");
    EXPECT_EQ(address_back("fd00::1/64"), "fd00::1/64");
    EXPECT_EQ(address_back("::1"), "::1/128");
    for (const char *bad :
         {"", "x", "192.0.2", "192.0.2.1/33", "192.0.2.1/", "192.0.2.1/-1", "fd00::1/129",
          "fd00::1/99999999999999999999", "192.0.2.1:7000", "[fd00::1]"})
        EXPECT_EQ(address_back(bad), "wrong") << bad;
    EXPECT_EQ(address_back(std::string(100, '1').c_str()), "wrong");
}

TEST(Address, ForConnect)
{
    char out[ADDRESS_TEXT_MAX];
    struct address a;

    ASSERT_TRUE(address_parse(&a, "192.0.2.1/24"));
    address_service(&a, 7, out);
    EXPECT_STREQ(out, "192.0.2.1:7");
    ASSERT_TRUE(address_parse(&a, "fd00::1/64"));
    address_service(&a, 65535, out);
    EXPECT_STREQ(out, "[fd00::1]:65535");
}

TEST(Address, BytesOfAMessage)
{
    uint8_t bytes[ADDRESS_BYTES];
    struct address a, back;

    for (const char *text : {"192.0.2.1/24", "fd00::1/0", "::/128"}) {
        ASSERT_TRUE(address_parse(&a, text));
        address_encode(bytes, &a);
        ASSERT_TRUE(address_decode(&back, bytes)) << text;
        EXPECT_EQ(memcmp(&a, &back, sizeof a), 0) << text;
    }
    bytes[16] = 129;
    EXPECT_FALSE(address_decode(&back, bytes));
    ASSERT_TRUE(address_parse(&a, "192.0.2.1/24"));
    address_encode(bytes, &a);
    bytes[16] = 95; /* less than nothing of an IPv4 address */
    EXPECT_FALSE(address_decode(&back, bytes));
}

/* A list from addresses; one that ends with " gw" has a gateway. */
static struct address_list addresses(const std::vector<std::string> &texts)
{
    struct address_list l = {};

    for (std::string text : texts) {
        size_t blank = text.find(' ');
        struct address *a = &l.list[l.n++];

        EXPECT_TRUE(address_parse(a, text.substr(0, blank).c_str())) << text;
        a->gateway = blank != std::string::npos;
    }
    return l;
}

TEST(Address, OfOneDaemon)
{
    const struct address_list a = addresses({"10.0.0.1/24", "fd00::1/64"});
    const struct address_list b = addresses({"10.0.0.1/24", "fd00::2/64"});
    const struct address_list c = addresses({"10.0.0.1/24"}), d = addresses({"10.0.0.1/25"});

    EXPECT_TRUE(address_list_equal(&a, &a));
    EXPECT_FALSE(address_list_equal(&a, &b));
    EXPECT_FALSE(address_list_equal(&a, &c));
    EXPECT_FALSE(address_list_equal(&c, &a));
    EXPECT_FALSE(address_list_equal(&c, &d)); /* two networks may have the same address */
}

static std::string chosen(const std::vector<std::string> &ours,
                          const std::vector<std::string> &theirs)
{
    const struct address_list a = addresses(ours), b = addresses(theirs);
    const struct address *found = address_choose(&a, &b);
    char out[ADDRESS_TEXT_MAX];

    return found == nullptr ? "none" : address_text(found, out);
}

TEST(Address, ChosenInACommonNetworkElseBehindAGateway)
{
    EXPECT_EQ(chosen({"10.0.0.1/24"}, {"10.0.0.2/24"}), "10.0.0.2/24");
    EXPECT_EQ(chosen({"10.0.0.1/24"}, {"10.0.1.2/24", "10.0.0.2/24"}), "10.0.0.2/24");
    EXPECT_EQ(chosen({"10.0.0.1/24", "fd00::1/64"}, {"10.0.1.2/24", "fd00::2/64"}), "fd00::2/64");
    EXPECT_EQ(chosen({"10.0.0.1/23"}, {"10.0.1.2/24"}), "10.0.1.2/24");
    EXPECT_EQ(chosen({"10.0.0.1/25"}, {"10.0.0.129/24"}), "none");
    EXPECT_EQ(chosen({"10.0.0.1/30"}, {"10.0.0.5/30"}), "none");
    EXPECT_EQ(chosen({"10.0.0.1/24"}, {"192.0.2.1/24"}), "none");
    EXPECT_EQ(chosen({"10.0.0.1/24 gw"}, {"192.0.2.1/24"}), "192.0.2.1/24");
    EXPECT_EQ(chosen({"10.0.0.1/24 gw"}, {"fd00::2/64"}), "none");
    EXPECT_EQ(chosen({"fd00::1/64 gw"}, {"10.0.0.2/24", "fe80::2/64"}), "none");
    EXPECT_EQ(chosen({"10.0.0.1/24 gw"}, {"192.0.2.1/24", "10.0.0.2/24"}), "10.0.0.2/24");
    EXPECT_EQ(chosen({}, {"10.0.0.2/24"}), "none");
    EXPECT_EQ(chosen({"10.0.0.1/24"}, {}), "none");
}

TEST(Address, OfTheDaemonsPorts)
{
    struct address_list l;
    char text[100];

    ASSERT_TRUE(address_list_read(
        &l, "{\"ports\":[{\"name\":\"a\",\"address\":\"10.0.0.1/24\",\"gateway\":\"10.0.0.254\","
            "\"address6\":\"fd00::1/64\"},{\"name\":\"b\"},{\"address\":7}]}"));
    EXPECT_STREQ(address_list_text(&l, text, sizeof text), "10.0.0.1/24, fd00::1/64");
    EXPECT_TRUE(l.list[0].gateway);
    EXPECT_FALSE(l.list[1].gateway);
    EXPECT_FALSE(address_list_read(&l, "{}"));
    EXPECT_FALSE(address_list_read(&l, "nonsense"));
    EXPECT_STREQ(address_list_text(&l, text, sizeof text), "no address");
}

/* ---- paths of the far end ------------------------------------------------------------------ */

static std::string far_path(const char *path)
{
    char why[256];
    char *out = server_path(path, why, sizeof why);
    std::string text = out == nullptr ? "wrong: " + std::string(why) : out;

    free(out);
    return text;
}

TEST(Server, Paths)
{
    setenv("HOME", "/there/me", 1);
    EXPECT_EQ(far_path(""), ".");
    EXPECT_EQ(far_path("a b/c"), "a b/c");
    EXPECT_EQ(far_path("/x"), "/x");
    EXPECT_EQ(far_path("~"), "/there/me/.");
    EXPECT_EQ(far_path("~/"), "/there/me/.");
    EXPECT_EQ(far_path("~/x"), "/there/me/x");
    EXPECT_EQ(far_path("./~"), "./~");
    EXPECT_EQ(far_path("a/~"), "a/~");
    EXPECT_EQ(far_path("~root/x").substr(0, 1), "/");
    EXPECT_EQ(far_path("-"), "./-"); /* a file, not standard output */
    EXPECT_EQ(far_path("-rf"), "./-rf");
    EXPECT_EQ(far_path("$HOME/`x`"), "$HOME/`x`");
    EXPECT_NE(far_path("~no-such-user/x").find("no such user"), std::string::npos);
}

TEST(Copy, OnlyWhatWasAskedForIsTaken)
{
    const char *paths[] = {"dir/a", "b/", "/x/c"};
    struct copy c = {};

    EXPECT_TRUE(copy_asked(&c, "anything", false));
    c.recursive = true;
    c.paths = (char *const *)paths;
    c.n_paths = 3;
    for (const char *name : {"a", "b", "b/x", "c", "a/b/c"})
        EXPECT_TRUE(copy_asked(&c, name, false)) << name;
    for (const char *name : {"dir", "dir/a", "x", "aa", "A", ".a", ".ssh/authorized_keys", "b2/x"})
        EXPECT_FALSE(copy_asked(&c, name, false)) << name;
    for (const char *all : {"", ".", "/", "x/..", "~", "~me", "~/", "x/."}) {
        paths[2] = all;
        EXPECT_TRUE(copy_asked(&c, "anything/y", false)) << all;
    }
    paths[2] = "x/~";
    EXPECT_FALSE(copy_asked(&c, "anything", false));
    EXPECT_TRUE(copy_asked(&c, "~", false));
}

/* Without --recursive, only files were asked for: no directory, nothing in one. */
TEST(Copy, WithoutRecursionOnlyFilesAreTaken)
{
    const char *paths[] = {"dir/a", "b"};
    struct copy c = {};

    EXPECT_TRUE(copy_asked(&c, "any/thing", false)); /* a far end takes what the user sends */
    EXPECT_TRUE(copy_asked(&c, "anything", true));
    c.paths = (char *const *)paths;
    c.n_paths = 2;
    EXPECT_TRUE(copy_asked(&c, "a", false));
    EXPECT_TRUE(copy_asked(&c, "b", false));
    EXPECT_FALSE(copy_asked(&c, "a", true));
    EXPECT_FALSE(copy_asked(&c, "b/x", false));
    EXPECT_FALSE(copy_asked(&c, "b/x", true));
    for (const char *all : {"", ".", "/", "x/..", "~", "~me", "~/", "x/."}) {
        paths[0] = all;
        EXPECT_FALSE(copy_asked(&c, ".bash_login", false)) << all;
    }
    c.recursive = true;
    EXPECT_TRUE(copy_asked(&c, "b", true));
}

TEST(Copy, Token)
{
    struct copy c = {};
    uint8_t token[RECORD_TOKEN_BYTES] = {};

    EXPECT_TRUE(copy_proves(&c, token));
    for (int i = 0; i < RECORD_TOKEN_BYTES; i++) {
        token[i] = 0x80;
        EXPECT_FALSE(copy_proves(&c, token)) << i;
        token[i] = 0;
    }
}

/* ---- messages ------------------------------------------------------------------------------ */

static int decoded(struct message *m, const std::string &bytes, const char **why)
{
    uint8_t version;

    return message_decode(m, (const uint8_t *)bytes.data(), bytes.size(), &version, why);
}

static struct message_start a_start()
{
    struct message_start s = {};

    for (int i = 0; i < RECORD_TOKEN_BYTES; i++)
        s.token[i] = (uint8_t)(0xa0 + i);
    s.flags = MESSAGE_PULL | MESSAGE_RECURSIVE;
    s.buffers = 8;
    s.max_bytes = 0x0102030405;
    s.service = 50000;
    return s;
}

static std::string start_data(const struct message_start &s)
{
    uint8_t out[MESSAGE_START_BYTES];

    message_start_encode(out, &s);
    return std::string((const char *)out, sizeof out);
}

TEST(Message, Golden)
{
    EXPECT_EQ(hex(encoded(MESSAGE_HELLO, "0.9")), "534c435003010003302e39");
    EXPECT_EQ(hex(encoded(MESSAGE_START, start_data(a_start()))), "534c435003020028"
                                                                  "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf"
                                                                  "00000011000000080000000102030405"
                                                                  "c350000000000000");
    EXPECT_EQ(hex(encoded(MESSAGE_GO, "")), "534c435003050000");
    EXPECT_EQ(hex(encoded(MESSAGE_END, std::string(1, 5))), "534c43500309000105");
}

TEST(Message, OneByteAtATime)
{
    const std::string whole = encoded(MESSAGE_PATH, "a path");
    struct message m;
    const char *why;

    for (size_t n = 0; n < whole.size(); n++)
        EXPECT_EQ(decoded(&m, whole.substr(0, n), &why), 0) << n;
    const std::string more = whole + "next";
    EXPECT_EQ(decoded(&m, more, &why), (int)whole.size());
    EXPECT_EQ(m.type, MESSAGE_PATH);
    EXPECT_EQ(std::string((const char *)m.data, m.len_bytes), "a path");
}

TEST(Message, Wrong)
{
    const struct {
        std::string bytes;
        const char *why;
    } cases[] = {
        {"W", "not a message"},
        {"Welcome to host\n", "not a message"},
        {"SLUC", "not a message"},
        {std::string("SLCP\3\0\0\0", 8), "unknown type"},
        {std::string("SLCP\3\24\0\0", 8), "unknown type"},
        {encoded(MESSAGE_HELLO, ""), "length"},
        {encoded(MESSAGE_HELLO, std::string(65, 'v')), "length"},
        {encoded(MESSAGE_START, std::string(39, 'v')), "length"},
        {encoded(MESSAGE_GO, "x"), "length"},
        {encoded(MESSAGE_READY, "x"), "length"},
        {encoded(MESSAGE_END, ""), "length"},
        {encoded(MESSAGE_ITEM, ""), "length"},
        {encoded(MESSAGE_RULE, "- "), "length"},
        {encoded(MESSAGE_CHOSEN, ""), "length"},
        {encoded(MESSAGE_ASKED, ""), "length"},
        {encoded(MESSAGE_ORIGIN, ""), "length"},
        {encoded(MESSAGE_ORIGIN, std::string(65, 'x')), "length"},
        {encoded(MESSAGE_LIMIT, ""), "length"},
        {encoded(MESSAGE_READY, "xy"), "length"},
        {encoded(MESSAGE_PATH, std::string(MESSAGE_PATH_MAX + 1, 'x')), "length"},
        {encoded(MESSAGE_ADDRESS, "short"), "length"},
        {encoded(MESSAGE_ERROR, std::string(MESSAGE_TEXT_MAX + 1, 'x')), "length"},
        {std::string("SLCP\3\3\xff\xff", 8), "length"},
        {encoded(MESSAGE_PATH, std::string("a\0b", 3)), "zero byte"},
        {encoded(MESSAGE_ASKED, std::string("a\0b", 3)), "zero byte"},
    };
    struct message m;
    const char *why;

    for (auto &c : cases) {
        EXPECT_EQ(decoded(&m, c.bytes, &why), -EINVAL) << hex(c.bytes);
        EXPECT_NE(std::string(why).find(c.why), std::string::npos) << why;
    }
    EXPECT_EQ(decoded(&m, std::string("SLCP\2\1\0\1x", 9), &why), -EPROTONOSUPPORT);
    EXPECT_EQ(decoded(&m, std::string("SLCP\4???", 8), &why), -EPROTONOSUPPORT);
}

/* The result of reading a START whose bytes are changed by this function. */
template <typename Change> static std::string start_fault(Change change)
{
    std::string data = start_data(a_start());
    struct message_start s;
    struct message m;
    const char *why = "";

    change(data);
    const std::string bytes = encoded(MESSAGE_START, data);
    EXPECT_GT(decoded(&m, bytes, &why), 0);
    return message_start_decode(&s, &m, &why) == 0 ? "right" : why;
}

TEST(Message, Start)
{
    const struct message_start s = a_start();
    struct message_start back;
    struct message m;
    const char *why;
    const std::string bytes = encoded(MESSAGE_START, start_data(s));

    ASSERT_GT(decoded(&m, bytes, &why), 0);
    ASSERT_EQ(message_start_decode(&back, &m, &why), 0);
    EXPECT_EQ(start_data(back), start_data(s));
    EXPECT_EQ(start_fault([](std::string &) {}), "right");
    EXPECT_EQ(start_fault([](std::string &d) { d[17] = 2; }), "unknown flag");
    EXPECT_EQ(start_fault([](std::string &d) { d[17] = 1, d[18] = 2; }),
              "deletion before the rest, and none");
    EXPECT_EQ(start_fault([](std::string &d) { d[17] = 1, d[18] = 0x12; }), "right");
    EXPECT_EQ(start_fault([](std::string &d) { d[17] = 1; }), "a flag of a sync without a sync");
    EXPECT_EQ(start_fault([](std::string &d) { d[18] = 0x40; }), "right");
    EXPECT_EQ(start_fault([](std::string &d) { d[18] = (char)0xc0; }), "right");
    EXPECT_EQ(start_fault([](std::string &d) { d[18] = (char)0x80; }), "a report without a sender");
    EXPECT_EQ(start_fault([](std::string &d) { d[18] = 0x40, d[19] = 0; }),
              "a report without a sender");
    EXPECT_EQ(start_fault([](std::string &d) { d[18] = 4; }), "a flag of a sync without a sync");
    EXPECT_EQ(start_fault([](std::string &d) { d[18] = 0x3e; }), "right");
    EXPECT_EQ(start_fault([](std::string &d) { d[23] = 0; }), "number of buffers out of range");
    EXPECT_EQ(start_fault([](std::string &d) { d[23] = 65; }), "number of buffers out of range");
    EXPECT_EQ(start_fault([](std::string &d) { d[21] = 16; }), "right");
    EXPECT_EQ(start_fault([](std::string &d) { d[21] = 17; }),
              "number of connections out of range");
    EXPECT_EQ(start_fault([](std::string &d) { d[19] &= (char)~1, d[21] = 1; }),
              "number of connections out of range");
    EXPECT_EQ(start_fault([](std::string &d) { d[24] = (char)0x80; }), "size out of range");
    EXPECT_EQ(start_fault([](std::string &d) { d[32] = d[33] = 0; }), "no service to send to");
    EXPECT_EQ(start_fault([](std::string &d) { d[35] = 1; }), "a flag of a sync without a sync");
    EXPECT_EQ(start_fault([](std::string &d) { d[18] = 2, d[35] = 63; }), "right");
    EXPECT_EQ(start_fault([](std::string &d) { d[18] = 2, d[35] = 64; }), "unknown attributes");
    EXPECT_EQ(start_fault([](std::string &d) { d[18] = 2, d[34] = 1; }), "unknown attributes");
}

/* What is accepted would be written with the same bytes. */
TEST(Message, ChangedBytesAreRefusedOrMeanWhatTheySay)
{
    std::mt19937_64 rng(test_seed());
    int accepted = 0, refused = 0;

    for (int i = 0; i < 20000; i++) {
        std::string bytes = encoded(MESSAGE_ERROR, "an error");
        struct message m;
        const char *why;

        for (uint64_t n = 1 + rng() % 3; n > 0; n--)
            bytes[rng() % bytes.size()] = (char)rng();
        int n = decoded(&m, bytes, &why);
        if (n <= 0) {
            refused++;
            continue;
        }
        accepted++;
        ASSERT_LE((size_t)n, bytes.size());
        EXPECT_EQ(
            encoded((enum message_type)m.type, std::string((const char *)m.data, m.len_bytes)),
            bytes.substr(0, (size_t)n));
    }
    EXPECT_GT(accepted, 100);
    EXPECT_GT(refused, 100);
}
