// SPDX-License-Identifier: BSD-3-Clause
// The expectations of a script.
#include <cerrno>
#include <cstring>

#include "script.hh"

const char *const kScriptFlags[8] = {"SREQ", "DREQ", "WCLOSE", "RCLOSE",
                                     "END",  "PACK", "EARLY",  "REPEAT"};

namespace
{

const char *const kScriptTypes[] = {"other", "FIRST", "DATA", "CNTL", "RCNTL"};
const char *const kOps[] = {"connect", "accept", "send", "recv", "shutdown"};

std::string flags_text(uint8_t flags)
{
    std::string s;

    for (int i = 0; i < 8; i++)
        if (flags & 1 << i)
            s += (s.empty() ? "" : "|") + std::string(kScriptFlags[i]);
    return s.empty() ? "none" : s;
}

std::string position_text(uint64_t pos, uint32_t zero)
{
    return std::to_string(pos_request(pos) - zero) + "." + std::to_string(pos_unit(pos));
}

std::string status_text(int status)
{
    return status == 0 ? "ok" : strerrorname_np(-status);
}

} // namespace

int script_type(const std::string &word)
{
    for (int t = 1; t <= 4; t++)
        if (word == kScriptTypes[t])
            return t;
    return 0;
}

bool Script::wait(const std::function<bool()> &done)
{
    uint64_t start = peer->now(), end = start + line->within_ns + 2000;

    while (!done() && peer->now() < end)
        peer->run(peer->now() - start < 1000000 ? 1000 : 20000);
    return done();
}

size_t Script::next_frame(int type) const
{
    for (size_t i = 0; i < peer->heard.size(); i++)
        if (peer->heard[i].type == type && (i >= used.size() || !used[i]))
            return i;
    return peer->heard.size();
}

Script::Fields Script::show(const Heard &x) const
{
    auto n = [](uint64_t v) { return std::to_string(v); };

    if (x.type == WIRE_FIRST)
        return {{"flags", flags_text(x.first.h.flags)}, {"service", n(x.first.service)},
                {"cookie", n(x.first.cookie)},          {"rate", n(x.first.rate_req_Bps)},
                {"burst", n(x.first.burst_req_bytes)},  {"ahead", n(x.first.ahead)},
                {"silence_ms", n(x.first.silence_ms)}};
    if (x.type == WIRE_DATA)
        return {{"flags", flags_text(x.data.h.flags)},
                {"request", n(x.data.request - peer->host_initial)},
                {"unit", n(x.data.unit)},
                {"len", n(x.data.payload_len)},
                {"request_len", n(x.data.request_len)},
                {"unit_bytes", n(x.data.unit_bytes)},
                {"packet", n(x.data.packet)}};
    const wire_cntl &c = x.cntl;
    std::string spans, refused;

    for (uint32_t i = 0; i < c.span_count; i++)
        spans += (i > 0 ? "," : "") + position_text(c.spans[i].first, peer->initial) + "-" +
                 position_text(c.spans[i].end, peer->initial);
    for (uint32_t i = 0; i < c.refused_count; i++)
        refused += (i > 0 ? "," : "") + n(c.refused[i].request - peer->initial);
    return {{"flags", flags_text(c.h.flags)},
            {"ack", position_text(c.ack, peer->initial)},
            {"posted", n(c.posted - peer->initial)},
            {"sent", position_text(c.sent, peer->host_initial)},
            {"close", n(c.close_request - peer->host_initial)},
            {"rate", n(c.rate_Bps)},
            {"burst", n(c.burst_bytes)},
            {"seq", n(c.seq)},
            {"end", n(c.end)},
            {"cookie", c.cookie != 0 ? "some" : "none"},
            {"spans", spans.empty() ? "none" : spans},
            {"refused", refused.empty() ? "none" : refused}};
}

// Names the line's fields that the frame does not have; empty if it has all of them.
std::string Script::differs(const Heard &x) const
{
    Fields have = show(x);
    std::string all, wrong;

    for (const auto &[name, value] : line->fields) {
        bool has = name.back() == '+', lacks = name.back() == '-';
        std::string key = has || lacks ? name.substr(0, name.size() - 1) : name;
        auto i = have.find(key);

        if (i == have.end())
            fail(std::string(kScriptTypes[x.type]) + " has no field \"" + key + "\"");
        bool right = i->second == value;

        if (key == "flags") {
            uint8_t want = flags(value), is = flags(i->second);
            right = has ? (is & want) == want : lacks ? (is & want) == 0 : is == want;
        }
        if (!right)
            wrong += " " + key + "=" + i->second + " (not " + value + ")";
    }
    if (wrong.empty())
        return "";
    for (const auto &[name, value] : have)
        all += " " + name + "=" + value;
    return "came" + wrong + "; all of it:" + all;
}

void Script::expect()
{
    std::string what = line->words.size() > 1 ? line->words[1] : "";

    if (what == "no")
        expect_none();
    else if (what == "completion")
        expect_completion();
    else if (what == "free") {
        if (!wait([&] { return peer->is_free(); }))
            fail("expected the connection's number to be free; its state is " +
                 std::to_string(peer->info().state));
    } else if (script_type(what) != 0)
        expect_frame(script_type(what));
    else
        fail("expect what? FIRST, DATA, CNTL, completion, free, or no FIRST, DATA, CNTL, "
             "completion");
}

void Script::expect_frame(int type)
{
    uint64_t start = peer->now();

    if (!wait([&] { return next_frame(type) < peer->heard.size(); }))
        fail(std::string("expected ") + kScriptTypes[type] + " within " +
             std::to_string(line->within_ns / 1000) + " us; none came");
    size_t i = next_frame(type);
    const Heard &x = peer->heard[i];

    used.resize(peer->heard.size());
    used[i] = true;
    std::string wrong = differs(x);

    if (!wrong.empty())
        fail(std::string("expected another ") + kScriptTypes[type] + "; " + wrong);
    uint64_t took = x.at_ns > start ? x.at_ns - start : 0;

    if (took > line->within_ns || took < line->later_ns)
        fail(std::string(kScriptTypes[type]) + " came after " + std::to_string(took) + " ns");
}

void Script::expect_none()
{
    int type = line->words.size() == 3 ? script_type(line->words[2]) : 0;

    if (line->words.size() == 3 && line->words[2] == "completion") {
        if (wait([&] { return peer->log.size() > completions; }))
            fail(std::string("expected no completion; one of ") + kOps[peer->log[completions].op] +
                 " came");
        return;
    }
    if (type == 0)
        fail("expect no what? FIRST, DATA, CNTL or completion");
    if (wait([&] { return next_frame(type) < peer->heard.size(); }))
        fail(std::string("expected no ") + kScriptTypes[type] + "; " +
             differs(peer->heard[next_frame(type)]) + " one came");
}

void Script::expect_completion()
{
    Fields want = line->fields;

    if (line->words.size() != 3)
        fail("expect completion of what? connect, accept, send, recv or shutdown");
    if (!wait([&] { return peer->log.size() > completions; }))
        fail("expected a completion of " + line->words[2] + "; none came");
    const host_completion &c = peer->log[completions++];
    Fields have = {{"user", std::to_string(c.user)},
                   {"len", std::to_string(c.len)},
                   {"status", status_text(c.status)},
                   {"provisional", c.provisional ? "1" : "0"}};
    std::string all = kOps[c.op];
    bool right = line->words[2] == kOps[c.op];

    for (const auto &[name, value] : want) {
        if (have.count(name) == 0)
            fail("a completion has no \"" + name + "\"");
        right = right && have[name] == value;
    }
    for (const auto &[name, value] : have)
        all += " " + name + "=" + value;
    if (!right)
        fail("expected another completion; came " + all);
}

void Script::check()
{
    for (const auto &[name, value] : line->fields) {
        uint64_t is = name == "tx_rate"    ? peer->info().tx_rate_Bps
                      : name == "tx_burst" ? peer->info().tx_burst_bytes
                                           : peer->counter(name.c_str());

        if (is != number(value))
            fail(name + " is " + std::to_string(is) + ", not " + value);
    }
}
