// SPDX-License-Identifier: BSD-3-Clause
// Lines of the log: text, JSON, the journal's prefixes, levels, and what DPDK logs.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include <jansson.h>

#include <rte_log.h>

extern "C" {
#include "common/eal_log.h"
#include "common/say.h"

struct timespec wall; // what __wrap_clock_gettime() gives
int __wrap_clock_gettime(clockid_t, struct timespec *out)
{
    *out = wall;
    return 0;
}
}

// C++ has no compound literals.
#undef say_port
#define say_port(level, name, ...)                                                                 \
    do {                                                                                           \
        const struct say_fields fields_ = {(name), nullptr, nullptr};                              \
        say_line((level), &fields_, __VA_ARGS__);                                                  \
    } while (0)

namespace
{

// Stderr is a pipe meanwhile.
class Say : public testing::Test
{
  protected:
    void SetUp() override
    {
        say_as("program");
        say_set_format(SAY_TEXT);
        say_set_level(SAY_INFO);
        unsetenv("JOURNAL_STREAM");
        wall = {1795871373, 123456789};
        ASSERT_EQ(pipe2(ends, O_NONBLOCK), 0);
        before = dup(STDERR_FILENO);
        dup2(ends[1], STDERR_FILENO);
    }

    void TearDown() override
    {
        dup2(before, STDERR_FILENO);
        for (int fd : {before, ends[0], ends[1]})
            close(fd);
    }

    // All that was said since the last call.
    std::string said()
    {
        char text[65536];
        ssize_t n = read(ends[0], text, sizeof text);

        return std::string(text, n > 0 ? (size_t)n : 0);
    }

    // The one object that was said since, or a failure.
    json_t *object()
    {
        std::string text = said();
        json_t *o = json_loads(text.c_str(), 0, nullptr);

        EXPECT_NE(o, nullptr) << text;
        EXPECT_EQ(text.find('\n'), text.size() - 1) << text;
        return o;
    }

    static std::string field(json_t *o, const char *name)
    {
        const char *value = json_string_value(json_object_get(o, name));

        return value != nullptr ? value : "(none)";
    }

    void to_journal()
    {
        struct stat st;

        fstat(STDERR_FILENO, &st);
        setenv("JOURNAL_STREAM",
               (std::to_string(st.st_dev) + ":" + std::to_string(st.st_ino)).c_str(), 1);
    }

    int ends[2], before;
};

const std::vector<std::pair<enum say_level, const char *>> kLevels = {{SAY_ERROR, "error"},
                                                                      {SAY_WARNING, "warning"},
                                                                      {SAY_NOTICE, "notice"},
                                                                      {SAY_INFO, "info"},
                                                                      {SAY_DEBUG, "debug"}};

TEST_F(Say, TextHasTheProgramAndWhatIsWrong)
{
    say(SAY_ERROR, "no %s", "memory");
    say_port(SAY_WARNING, "net_memif0", "link %s", "down");
    say(SAY_NOTICE, "ready");
    say_port(SAY_INFO, "net_memif0", "MTU %u", 1500u);
    EXPECT_EQ(said(), "program: error: no memory\n"
                      "program: warning: port net_memif0: link down\n"
                      "program: ready\n"
                      "program: port net_memif0: MTU 1500\n");
}

TEST_F(Say, LevelDecidesWhatIsSaid)
{
    for (const auto &limit : kLevels) {
        say_set_level(limit.first);
        for (const auto &level : kLevels) {
            say(level.first, "x");
            EXPECT_EQ(said() != "", level.first <= limit.first) << limit.second << level.second;
            EXPECT_EQ(say_shows(level.first), level.first <= limit.first);
        }
    }
    say_set_level(SAY_ERROR);
    say_text(SAY_INFO, nullptr, "whatever its level is");
    EXPECT_EQ(said(), "program: whatever its level is\n");
}

TEST_F(Say, JsonHasAllThatIsKnown)
{
    const struct say_fields fields = {"0000:01:00.0", "0000:01:00.0/1/7", "192.0.2.1"};

    say_set_format(SAY_JSON);
    say_set_level(SAY_DEBUG);
    for (const auto &level : kLevels) {
        say_line(level.first, &fields, "number %d", 7);
        json_t *o = object();
        EXPECT_EQ(field(o, "time"), "2026-11-28T13:09:33.123456Z");
        EXPECT_EQ(field(o, "level"), level.second);
        EXPECT_EQ(field(o, "program"), "program");
        EXPECT_EQ(field(o, "port"), fields.port);
        EXPECT_EQ(field(o, "connection"), fields.conn);
        EXPECT_EQ(field(o, "peer"), fields.peer);
        EXPECT_EQ(field(o, "message"), "number 7");
        EXPECT_EQ(json_object_size(o), 7u);
        json_decref(o);
    }
    say(SAY_NOTICE, "ready");
    json_t *o = object();
    EXPECT_EQ(json_object_size(o), 4u); // no fields that are not known
    json_decref(o);
}

TEST_F(Say, JsonSurvivesWhatOthersWrite)
{
    const std::vector<std::pair<std::string, std::string>> cases = {
        {"\"quoted\" \\ and /", "\"quoted\" \\ and /"},
        {"two\nlines\tand a\x1b[31m\x7f", "two lines and a?[31m?"},
        {"Gr\u00fc\u00dfe \u6f22 \U0001f40c", "Gr\u00fc\u00dfe \u6f22 \U0001f40c"},
        {"\xff\xc3(\xed\xa0\x80",
         std::string("?") + "?(???"}, // not UTF-8: a stray byte, a cut sequence, a surrogate
        {"cut \xe6\xbc", "cut ??"},
        {"\u202eturned", "???turned"},
        {std::string(900, '"'), std::string(900, '"')},
    };

    for (const auto &c : cases) {
        std::string port = c.first.substr(0, 8);

        say_set_format(SAY_JSON);
        say_port(SAY_INFO, port.c_str(), "%s", c.first.c_str());
        json_t *o = object();
        EXPECT_EQ(field(o, "message"), c.second);
        json_decref(o);
        say_set_format(SAY_TEXT);
        say(SAY_INFO, "%s", c.first.c_str());
        EXPECT_EQ(said(), "program: " + c.second + "\n");
    }
}

// Each line ends as one, however long what it says is.
TEST_F(Say, LongMessagesAreCut)
{
    for (size_t n = 900; n < 1100; n++) {
        std::string quotes(n, '"'), letters(3 * n, 'x');

        say_set_format(SAY_JSON);
        say_port(SAY_INFO, quotes.c_str(), "%s", quotes.c_str());
        json_decref(object());
        say_text(SAY_INFO, nullptr, (quotes + letters + quotes).c_str());
        json_decref(object());
        say_set_format(SAY_TEXT);
        say_text(SAY_INFO, nullptr, (letters + letters).c_str());
        std::string text = said();
        ASSERT_EQ(text.find('\n'), text.size() - 1);
    }
}

TEST_F(Say, TimesAreRight)
{
    say_set_format(SAY_JSON);
    for (time_t t : {0l, 951782399l, 951782400l, 951868800l, 1709164800l, 1709251199l, 1735689599l,
                     4107542399l, 4107542400l, 4133980799l}) {
        char text[64];
        struct tm tm;

        wall = {t, 999};
        gmtime_r(&t, &tm);
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S.000000Z", &tm);
        say(SAY_INFO, "x");
        json_t *o = object();
        EXPECT_EQ(field(o, "time"), text);
        json_decref(o);
    }
}

TEST_F(Say, JournalGetsPriorities)
{
    const char *priorities[] = {"<3>", "<4>", "<5>", "<6>", "<7>"};

    say_set_level(SAY_DEBUG);
    to_journal();
    for (const auto &level : kLevels) {
        say_set_format(SAY_TEXT);
        say_port(level.first, "p0", "x");
        EXPECT_EQ(said(), std::string(priorities[level.first]) + "port p0: x\n");
        say_set_format(SAY_JSON);
        say_port(level.first, "p0", "x");
        EXPECT_EQ(said().substr(0, 11), std::string(priorities[level.first]) + "{\"time\":");
    }
    setenv("JOURNAL_STREAM", "1:2", 1); // a terminal or a file instead of the journal
    say_set_format(SAY_TEXT);
    say(SAY_NOTICE, "x");
    EXPECT_EQ(said(), "program: x\n");
}

// A caller may look at errno after it has said something, whatever became of stderr.
TEST_F(Say, ErrnoStaysAsItIs)
{
    setenv("JOURNAL_STREAM", "1:2", 1);
    close(STDERR_FILENO);
    errno = EDOM;
    say(SAY_ERROR, "x");
    EXPECT_EQ(errno, EDOM);
}

TEST_F(Say, DpdkLogsTheSame)
{
    int type = rte_log_register("test.say");

    ASSERT_GE(type, 0);
    rte_log_set_level((uint32_t)type, RTE_LOG_DEBUG);
    eal_log_start();
    say_set_level(SAY_ERROR); // DPDK has levels of its own
    rte_log(RTE_LOG_ERR, (uint32_t)type, "EAL: %s\nand more\n", "no memory");
    rte_log(RTE_LOG_WARNING, (uint32_t)type, "hm\n");
    rte_log(RTE_LOG_DEBUG, (uint32_t)type, "no line feed");
    EXPECT_EQ(said(), "program: error: EAL: no memory\nprogram: error: and more\n"
                      "program: warning: hm\nprogram: no line feed\n");
    to_journal();
    for (const auto &level : kLevels) {
        rte_log((uint32_t)(RTE_LOG_ERR + level.first), (uint32_t)type, "x\n");
        EXPECT_EQ(said(), "<" + std::to_string(3 + level.first) + ">x\n");
    }
    rte_log(RTE_LOG_CRIT, (uint32_t)type, "x\n");
    EXPECT_EQ(said(), "<3>x\n");
    rte_openlog_stream(nullptr);
}

} // namespace
