// SPDX-License-Identifier: BSD-3-Clause
// Lines of JSON about a transfer: each is an object, whatever a file's name is.
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <jansson.h>

#include "unit/base/seed.h"

extern "C" {
#include "base/rng.h"
#include "sluice/report/json_lines.h"
#include "sluice/report/progress.h"
#include "sluice/report/summary.h"
}

class JsonLines : public testing::Test
{
  protected:
    void TearDown() override
    {
        for (json_t *event : events)
            json_decref(event);
        fclose(out);
    }
    /* Reads what was written. */
    const std::vector<json_t *> &read()
    {
        char line[20000];

        rewind(out);
        while (fgets(line, sizeof line, out) != nullptr) {
            json_error_t error;
            events.push_back(json_loads(line, 0, &error));
            EXPECT_NE(events.back(), nullptr) << error.text << ": " << line;
        }
        return events;
    }
    static std::string text(const json_t *event, const char *key)
    {
        const char *value = json_string_value(json_object_get(event, key));

        return value == nullptr ? "(none)" : std::string(value);
    }

    FILE *out = tmpfile();
    std::vector<json_t *> events;
};

TEST_F(JsonLines, WhatTheySay)
{
    json_lines_file(out, "dir/a \"b\"\n\xc3\xa9", 5000000000);
    json_lines_failed(out, "c", "no room");
    struct json_progress p = {};
    p.name = "d";
    p.elapsed_s = 1.5;
    p.done_bytes = 10;
    p.total_bytes = 20;
    p.rate_Bps = 2.5;
    p.repeats = 3;
    p.limit = "disk here";
    json_lines_progress(out, &p);
    p.name = p.limit = "";
    p.total_bytes = 0;
    json_lines_progress(out, &p);
    json_lines_file(nullptr, "x", 1);
    json_lines_failed(nullptr, "x", "x");
    json_lines_progress(nullptr, &p);
    ASSERT_EQ(read().size(), 4u);
    EXPECT_EQ(text(events[0], "event"), "file");
    EXPECT_EQ(text(events[0], "name"), "dir/a \"b\"\n\xc3\xa9");
    EXPECT_EQ(json_integer_value(json_object_get(events[0], "bytes")), 5000000000);
    EXPECT_EQ(text(events[1], "event"), "failed");
    EXPECT_EQ(text(events[1], "cause"), "no room");
    EXPECT_EQ(text(events[2], "event"), "progress");
    EXPECT_EQ(text(events[2], "name"), "d");
    EXPECT_EQ(text(events[2], "limit"), "disk here");
    EXPECT_EQ(json_integer_value(json_object_get(events[2], "total_bytes")), 20);
    EXPECT_EQ(json_real_value(json_object_get(events[2], "elapsed_seconds")), 1.5);
    EXPECT_TRUE(json_is_null(json_object_get(events[3], "limit")));
    EXPECT_TRUE(json_is_null(json_object_get(events[3], "total_bytes")));
    EXPECT_EQ(json_object_get(events[3], "name"), nullptr);
}

TEST_F(JsonLines, AnyNameCanBeReadBack)
{
    struct rng r;
    std::vector<std::string> names = {"\xff", "a\xc3", "\xed\xa0\x80", "\xf8\x88\x80\x80\x80"};

    rng_init(&r, test_seed());
    for (int i = 0; i < 2000; i++) {
        std::string name;

        for (uint64_t n = 1 + rng_below(&r, 20); n > 0; n--)
            name += (char)(1 + rng_below(&r, rng_below(&r, 2) ? 127 : 255));
        names.push_back(name);
    }
    for (const std::string &name : names)
        json_lines_file(out, name.c_str(), 1);
    ASSERT_EQ(read().size(), names.size());
    size_t exact = 0;
    for (size_t i = 0; i < names.size(); i++) {
        std::string hex = text(events[i], "name_hex"), bytes;

        for (size_t k = 0; hex != "(none)" && k < hex.size(); k += 2)
            bytes += (char)std::stoi(hex.substr(k, 2), nullptr, 16);
        exact += hex == "(none)";
        EXPECT_EQ(hex == "(none)" ? text(events[i], "name") : bytes, names[i]);
        EXPECT_NE(text(events[i], "name"), "(none)");
    }
    EXPECT_GT(exact, 100u);
    EXPECT_LT(exact, names.size() - 100);
}

/* The bar may be of one file, the lines are of all. Both come five times a second. */
TEST_F(JsonLines, Progress)
{
    struct progress p;
    struct progress_view v = {};

    v.name = "f";
    v.limit = "";
    v.done_bytes = 1;
    v.total_bytes = 2;
    v.all_bytes = 1000000;
    progress_init(&p, true, out);
    for (uint64_t now_ns = 1000000000; now_ns < 3000000000; now_ns += 10000000) {
        v.moved_bytes += 1000;
        progress_show(&p, now_ns, &v);
        EXPECT_LE(progress_next(&p), now_ns + PROGRESS_INTERVAL_NS);
    }
    ASSERT_EQ(read().size(), 10u);
    json_t *last = events.back();
    EXPECT_NEAR(json_real_value(json_object_get(last, "elapsed_seconds")), 1.8, 1e-6);
    EXPECT_EQ(json_integer_value(json_object_get(last, "bytes")), 181000);
    EXPECT_EQ(json_integer_value(json_object_get(last, "total_bytes")), 1000000);
    EXPECT_NEAR(json_real_value(json_object_get(last, "rate_Bps")), 100000, 1);
    progress_init(&p, true, nullptr);
    EXPECT_EQ(progress_next(&p), UINT64_MAX);
    uint64_t told = 0;
    p.context = &told;
    p.tell = [](void *context, const struct progress_view *shown) {
        *(uint64_t *)context = shown->moved_bytes;
    };
    EXPECT_NE(progress_next(&p), UINT64_MAX);
    progress_show(&p, 3000000000, &v);
    EXPECT_EQ(told, v.moved_bytes);
}

TEST_F(JsonLines, TheSummaryIsTheLastEvent)
{
    struct summary s;

    ASSERT_EQ(summary_init(&s, true), 0);
    summary_json(&s, 5, out);
    s.stream = true;
    summary_json(&s, 5, out);
    ASSERT_EQ(read().size(), 2u);
    EXPECT_EQ(json_object_get(events[0], "event"), nullptr);
    EXPECT_EQ(text(events[1], "event"), "end");
    EXPECT_EQ(json_integer_value(json_object_get(events[1], "exit")), 5);
    EXPECT_EQ(json_object_size(events[1]), json_object_size(events[0]) + 1);
    summary_fini(&s);
}
