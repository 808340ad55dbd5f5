// SPDX-License-Identifier: BSD-3-Clause
// What sluice-load tells programs of a window: its CSV has each value of its JSON.
#include <gtest/gtest.h>

#include <jansson.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>

extern "C" {
#include "base/histogram.h"
#include "load/plan.h"
#include "load/result.h"
}

namespace
{

template <class F> std::string written(F &&write)
{
    char *text = nullptr;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    write(out);
    fclose(out);
    std::string s(text, len);
    free(text);
    EXPECT_FALSE(s.empty());
    EXPECT_EQ(s.back(), '\n');
    s.pop_back();
    return s;
}

std::string cell_take(std::string &line)
{
    size_t end = line.find(',');
    std::string cell = line.substr(0, end);

    line = end == std::string::npos ? "" : line.substr(end + 1);
    return cell;
}

std::map<std::string, std::string> csv_of(const result &r)
{
    std::string head = written([](FILE *out) { result_csv_head(out); });
    std::string row = written([&](FILE *out) { result_csv(&r, out); });
    std::map<std::string, std::string> values;

    while (!head.empty()) {
        std::string name = cell_take(head);

        EXPECT_TRUE(values.emplace(name, cell_take(row)).second) << name << " is there twice";
    }
    EXPECT_EQ(row, "");
    return values;
}

std::string text_of(const json_t *value)
{
    if (json_is_string(value))
        return json_string_value(value);
    if (json_is_null(value))
        return "";
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(12));
    std::string s = text;

    free(text);
    return s;
}

// The name of a histogram's value: latency_ns, p50 -> latency_p50_ns. A count has no unit.
std::string part_name(std::string member, const std::string &part)
{
    std::string unit = member.find("_ns") != std::string::npos ? "_ns" : "";

    member.resize(member.size() - unit.size());
    return member + "_" + part + (part == "count" ? "" : unit);
}

std::map<std::string, std::string> json_of(const result &r)
{
    std::string line = written([&](FILE *out) { result_json(&r, nullptr, 1, out); });
    json_t *o = json_loads(line.c_str(), 0, nullptr);
    std::map<std::string, std::string> values;
    const char *name, *part;
    json_t *value, *inner;

    EXPECT_NE(o, nullptr) << line;
    json_object_foreach(o, name, value)
    {
        if (!json_is_object(value)) {
            values[name] = text_of(value);
            continue;
        }
        json_object_foreach(value, part, inner) values[part_name(name, part)] = text_of(inner);
    }
    json_decref(o);
    return values;
}

class LoadResult : public testing::Test
{
  protected:
    void SetUp() override
    {
        char err[PLAN_ERROR_MAX] = "";

        plan_init(&plan);
        ASSERT_EQ(plan_set(&plan, "size", "64:7+594:4", err, sizeof err), 0) << err;
        r->plan = &plan;
        r->interrupted = true;
        r->seconds = 1.5;
        r->rx_seconds = 1.25;
        r->requested_pps = 1e6;
        r->sent = 1000;
        r->sent_bytes = 64000;
        r->refused = 3;
        r->received = 990;
        r->reordered = 2;
        r->flows_seen = 17;
        r->arrived = 980;
        r->arrived_bytes = 62720;
        for (uint64_t ns = 1000; ns < 3000; ns += 100) {
            histogram_add(&r->latency, ns);
            histogram_add(&r->late, ns / 10);
        }
        histogram_add(&r->displacement, 5);
    }

    struct plan plan;
    std::unique_ptr<result> r = std::make_unique<result>();
};
} // namespace

TEST_F(LoadResult, CsvHasEachValueOfTheJson)
{
    EXPECT_EQ(csv_of(*r), json_of(*r));
}

TEST_F(LoadResult, WhatIsNotKnownIsAnEmptyCell)
{
    *r = {};
    r->plan = &plan;
    r->sent = r->received = 5;
    auto csv = csv_of(*r);

    EXPECT_EQ(csv["latency_count"], "0");
    EXPECT_EQ(csv["latency_min_ns"], "");
    EXPECT_EQ(csv["requested_pps"], "");
    EXPECT_EQ(csv["sent"], "5");
}
