// SPDX-License-Identifier: BSD-3-Clause
#include "script.hh"

#include <cstdlib>
#include <fstream>
#include <sstream>

void Script::fail(const std::string &what) const
{
    throw ScriptError(path + ":" + std::to_string(line != nullptr ? line->number : 0) + ": " +
                      what);
}

Script::Script(const std::string &p) : path(p)
{
    std::ifstream in(p);
    std::string text;
    int n = 0;

    if (!in)
        throw ScriptError(p + ": cannot be read");
    while (std::getline(in, text)) {
        Line probe;

        probe.number = ++n;
        line = &probe;
        text = text.substr(0, text.find('#'));
        if (text.find_first_not_of(" \t") == text.npos)
            continue;
        Line l = parse(text);

        l.number = n;
        lines.push_back(l);
    }
    line = nullptr;
}

Script::Line Script::parse(const std::string &text)
{
    std::istringstream in(text);
    std::string word;
    Line l;

    while (in >> word) {
        size_t equal = word.find('=');

        if (word[0] == '+' && l.words.empty() && l.after_ns == 0)
            l.after_ns = time(word.substr(1));
        else if (equal != word.npos)
            l.fields[word.substr(0, equal)] = word.substr(equal + 1);
        else if ((word == "within" || word == "after" || word == "for") && in) {
            std::string value;

            in >> value;
            (word == "after" ? l.later_ns : l.within_ns) = time(value);
        } else {
            l.words.push_back(word);
        }
    }
    if (l.words.empty())
        fail("says nothing to do");
    return l;
}

uint64_t Script::number(const std::string &value) const
{
    char *end;
    uint64_t v = std::strtoull(value.c_str(), &end, 0);

    if (value.empty() || *end != '\0')
        fail("\"" + value + "\" is no number");
    return v;
}

uint64_t Script::time(const std::string &value) const
{
    size_t unit = value.find_first_not_of("0123456789");
    std::string name = unit == value.npos ? "" : value.substr(unit);
    uint64_t v = number(value.substr(0, unit));

    if (name == "" && v == 0)
        return 0;
    for (auto &[word, ns] : std::map<std::string, uint64_t>{
             {"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}})
        if (name == word)
            return v * ns;
    fail("\"" + value + "\" is no time such as 20us");
}

// Reads R.U: request and unit, where R counts from the first request of its direction.
uint64_t Script::position(const std::string &value, uint32_t zero) const
{
    size_t dot = value.find('.');

    if (dot == value.npos)
        fail("\"" + value + "\" is no position such as 0.3");
    return pos_make(static_cast<uint32_t>(number(value.substr(0, dot))) + zero,
                    static_cast<uint32_t>(number(value.substr(dot + 1))));
}

uint8_t Script::flags(const std::string &value) const
{
    std::istringstream in(value);
    std::string word;
    uint8_t sum = 0;

    while (std::getline(in, word, '|')) {
        bool known = word == "none";

        for (int i = 0; i < 8; i++)
            if (word == kScriptFlags[i]) {
                sum |= static_cast<uint8_t>(1 << i);
                known = true;
            }
        if (!known)
            fail("\"" + word + "\" is no flag");
    }
    return sum;
}

bool Script::take(Fields &f, const std::string &name, uint64_t *value) const
{
    auto i = f.find(name);

    if (i == f.end())
        return false;
    *value = number(i->second);
    f.erase(i);
    return true;
}

void Script::no_more(const Fields &f) const
{
    if (!f.empty())
        fail("\"" + f.begin()->first + "\" is not known here");
}

void Script::run()
{
    for (const Line &l : lines) {
        line = &l;
        if (l.words[0] == "option") {
            options();
            continue;
        }
        if (peer == nullptr)
            peer = std::make_unique<Peer>(opt);
        if (l.after_ns > 0)
            peer->run(l.after_ns);
        perform();
    }
}

void Script::options()
{
    Fields f = line->fields;
    uint64_t v;

    if (peer != nullptr)
        fail("options come first");
    if (take(f, "silence_ms", &v))
        opt.silence_ms = static_cast<uint32_t>(v);
    if (take(f, "rate", &v))
        opt.rate_first_Bps = v;
    if (take(f, "burst", &v))
        opt.burst_first = v;
    if (take(f, "early", &v))
        opt.early = static_cast<uint32_t>(v);
    if (take(f, "conns", &v))
        opt.conns = static_cast<uint32_t>(v);
    if (take(f, "mtu", &v))
        opt.mtu = static_cast<uint16_t>(v);
    if (take(f, "ipv6", &v))
        opt.ipv6 = v != 0;
    if (take(f, "arp", &v))
        opt.answer_arp = v != 0;
    if (take(f, "go_back_n", &v))
        opt.go_back_n = v != 0;
    no_more(f);
}

void Script::perform()
{
    const std::string &what = line->words[0];

    if (what == "inject")
        inject();
    else if (what == "submit")
        submit();
    else if (what == "expect")
        expect();
    else if (what == "check")
        check();
    else if (what == "open" && line->words.size() == 2 && line->words[1] == "peer")
        peer->open_to_host();
    else if (what == "open" && line->words.size() == 2 && line->words[1] == "host")
        peer->open_by_host();
    else if (what == "skip")
        used.assign(peer->heard.size(), true);
    else
        fail("\"" + what +
             "\" is not known; inject, submit, expect, check, open peer, open host, "
             "skip or option");
}

// ---- the peer and the application --------------------------------------------------------------

void Script::inject()
{
    if (line->words.size() != 2)
        fail("inject what? FIRST, DATA, CNTL or RCNTL");
    Fields f = line->fields;
    uint64_t v = 0;

    switch (script_type(line->words[1])) {
    case WIRE_FIRST:
        if (f.count("cookie") != 0 && f["cookie"] == "shown") {
            if (peer->last_cntl() == nullptr || peer->last_cntl()->cookie == 0)
                fail("no cookie has been shown");
            v = peer->last_cntl()->cookie;
            f.erase("cookie");
        } else {
            take(f, "cookie", &v);
        }
        if (f.count("key") != 0) {
            peer->own_key = number(f["key"]);
            peer->host_key = 0;
            f.erase("key");
        }
        no_more(f);
        peer->say_first(v);
        break;
    case WIRE_DATA:
        inject_data(f);
        break;
    case WIRE_CNTL:
        inject_cntl(f);
        break;
    case WIRE_RCNTL:
        inject_rcntl(f);
        break;
    default:
        fail("\"" + line->words[1] + "\" is no packet");
    }
}

void Script::inject_data(Fields f)
{
    uint64_t request = 0, unit = 0, len = 0, unit_bytes = 1000, packet;
    uint8_t flag = 0;

    take(f, "request", &request);
    take(f, "unit", &unit);
    take(f, "unit_bytes", &unit_bytes);
    if (!take(f, "len", &len))
        fail("DATA needs the request's len");
    if (take(f, "packet", &packet))
        peer->packet = packet;
    if (f.count("flags") != 0)
        flag = flags(f["flags"]);
    f.erase("flags");
    no_more(f);
    peer->say_data(peer->initial + static_cast<uint32_t>(request), static_cast<uint32_t>(unit), len,
                   static_cast<uint32_t>(unit_bytes), flag);
}

// Fields that describe the peer keep their values until another line sets them.
void Script::inject_cntl(Fields f)
{
    uint64_t v, seq = 0, end = 0, hop_rate = 0, hop_burst = 0, hop_expiry = 0;
    uint8_t flag = 0;

    if (f.count("flags") != 0)
        flag = flags(f["flags"]);
    if (f.count("ack") != 0)
        peer->ack = position(f["ack"], peer->host_initial);
    if (f.count("sent") != 0)
        peer->sent_end = position(f["sent"], peer->initial);
    if (take(f, "posted", &v))
        peer->posted = peer->host_initial + static_cast<uint32_t>(v);
    if (take(f, "close", &v))
        peer->close_request = peer->initial + static_cast<uint32_t>(v);
    if (take(f, "rate", &v))
        peer->rate_Bps = v;
    if (take(f, "burst", &v))
        peer->burst_bytes = static_cast<uint32_t>(v);
    wire_cntl c = peer->state(flag);

    if (take(f, "seq", &seq))
        c.seq = static_cast<uint32_t>(seq);
    if (take(f, "end", &end))
        c.end = static_cast<uint16_t>(end);
    take(f, "hop_rate", &hop_rate);
    take(f, "hop_burst", &hop_burst);
    take(f, "hop_expiry_ms", &hop_expiry);
    c.hop_rate_Bps = hop_rate;
    c.hop_burst_bytes = static_cast<uint32_t>(hop_burst);
    c.hop_expiry_ms = static_cast<uint16_t>(hop_expiry);
    if (f.count("span") != 0) {
        size_t dash = f["span"].find('-');

        if (dash == std::string::npos)
            fail("a span is FIRST-END, such as 0.1-0.3");
        c.span_count = 1;
        c.spans[0] = {position(f["span"].substr(0, dash), peer->host_initial),
                      position(f["span"].substr(dash + 1), peer->host_initial)};
    }
    if (take(f, "refused", &v)) {
        c.refused_count = 1;
        c.refused[0] = {peer->host_initial + static_cast<uint32_t>(v), WIRE_REFUSED_TOO_LONG};
    }
    for (const char *name : {"flags", "ack", "sent", "span"})
        f.erase(name);
    no_more(f);
    peer->say(c);
}

void Script::inject_rcntl(Fields f)
{
    uint64_t rate = 0, burst = 0, expiry = 1000, hop = 1, time = peer->now();
    wire_rcntl v = {};
    uint8_t bytes[WIRE_RCNTL_BYTES];

    take(f, "rate", &rate);
    take(f, "burst", &burst);
    take(f, "expiry_ms", &expiry);
    take(f, "hop", &hop);
    take(f, "time", &time);
    no_more(f);
    v.h.key = peer->host_key;
    v.rate_Bps = rate;
    v.burst_bytes = static_cast<uint32_t>(burst);
    v.expiry_ms = static_cast<uint16_t>(expiry);
    v.hop = static_cast<uint16_t>(hop);
    v.time_ns = time;
    peer->say_bytes(bytes, wire_put_rcntl(bytes, &v));
}

void Script::submit()
{
    Fields f = line->fields;
    std::string what = line->words.size() == 2 ? line->words[1] : "";
    uint64_t len = 0, user = 0;

    take(f, "len", &len);
    take(f, "user", &user);
    no_more(f);
    if (what == "accept")
        peer->accept();
    else if (what == "connect")
        peer->connect();
    else if (what == "recv")
        peer->post_recv(len, user);
    else if (what == "send")
        peer->post_send(len, user);
    else if (what == "shutdown")
        peer->shutdown(user);
    else if (what == "close")
        peer->close();
    else
        fail("submit what? accept, connect, send, recv, shutdown or close");
}
