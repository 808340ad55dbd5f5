// SPDX-License-Identifier: BSD-3-Clause
#include "spec_maker.h"

#include <vector>

std::string SpecMaker::any(std::initializer_list<const char *> words)
{
    return words.begin()[below(words.size())];
}

std::string SpecMaker::number(uint64_t least, uint64_t most)
{
    return std::to_string(least + below(most - least + 1));
}

std::string SpecMaker::time(uint64_t max_us)
{
    if (chance(10))
        return "0";
    if (chance(30)) // round times, so that some coincide
        return std::to_string(1 + below(max_us / 100 + 1)) + "00us";
    return std::to_string(1 + below(max_us * 1000)) + "ns";
}

std::string SpecMaker::rate()
{
    return chance(30) ? any({"8mbit", "1MB/s", "80mbit"}) : number(100, 100000) + "kbit";
}

std::string SpecMaker::share()
{
    return chance(10) ? any({"0%", "100%", "50%"}) : number(0, 99) + "." + number(0, 99) + "%";
}

std::string SpecMaker::limits()
{
    std::string s;

    if (chance(30))
        s += " limit " + number(1, 60);
    if (chance(20))
        s += " limit " + number(1, 40) + "kB";
    return s;
}

std::string SpecMaker::queue()
{
    switch (below(5)) {
    case 0:
        return limits() + " red min " + number(1, 10) + "kB max " + number(11, 40) +
               "kB probability " + share() + " weight " + number(1, 9) + (chance(50) ? " ecn" : "");
    case 1:
        return limits() + " codel target " + time(500) + " interval " + time(5000) +
               (chance(50) ? " ecn" : "");
    case 2:
        return " band length " + number(60, 500) + limits() + " band dscp 46,34" + limits() +
               " band" + limits();
    default:
        return limits();
    }
}

std::string SpecMaker::linked()
{
    switch (below(4)) {
    case 0:
        return "receiver " + rate() + (chance(50) ? " stall " + time(2000) : "") + queue();
    case 1:
        return "trace " + trace_file + queue();
    default: {
        std::string s = "rate " + rate();

        if (chance(30))
            s += " -" + number(0, 30) + (chance(50) ? " 48 5" : "");
        return s + queue();
    }
    }
}

std::string SpecMaker::delay()
{
    std::string s = "delay " + time(3000);

    if (chance(60)) {
        s += " " + time(1000);
        if (chance(40))
            s += " " + share();
    }
    if (chance(30))
        s += " distribution " +
             (chance(20) ? table_file : any({"uniform", "normal", "pareto", "paretonormal"}));
    if (chance(20))
        s += " order";
    if (chance(20))
        s += " reorder " + share() + (chance(50) ? " " + share() : "");
    if (chance(10))
        s += " gap " + number(1, 9);
    return s + limits();
}

std::string SpecMaker::loss()
{
    std::string ecn = chance(30) ? " ecn" : "";

    switch (below(6)) {
    case 0:
        return "loss state 5% 30% 20% 60% 2%" + ecn;
    case 1:
        return "loss gemodel " + share() + " " + share() + " " + share() + ecn;
    case 2:
        return "loss list 3,7,10-12,200-220" + ecn;
    case 3:
        return "loss every " + number(2, 20) + " " + number(0, 9) + ecn;
    case 4:
        return "loss pattern 00101" + ecn;
    default:
        return "loss " + number(0, 20) + "% " + share() + ecn;
    }
}

std::string SpecMaker::slot()
{
    std::string s = "slot ";

    if (chance(40))
        s += "distribution " + any({"uniform", "normal", "pareto"}) + " " + time(2000) + " " +
             time(500);
    else
        s += number(1, 500) + "us" + (chance(50) ? " 900us" : "");
    if (chance(50))
        s += " packets " + number(1, 20);
    if (chance(50))
        s += " bytes " + number(1, 20) + "kB";
    return s + limits();
}

std::string SpecMaker::police()
{
    std::string s = "police pcr 50mbit";

    if (chance(50))
        s += " cdvt " + time(1000);
    bool cells = chance(40);
    if (cells)
        s += " cells line 155mbit";
    if (chance(40))
        s += " scr 10mbit mbs " + (cells ? number(1, 500) : number(1, 20) + "kB");
    return s + " " + any({"drop", "tag", "tag 12", "shape"}) + limits();
}

std::string SpecMaker::hop()
{
    return "hop " + rate() + (chance(50) ? " burst 9kB" : "") + (chance(50) ? " rcntl" : "");
}

std::string SpecMaker::element()
{
    switch (below(9)) {
    case 0:
    case 1:
        return delay();
    case 2:
        return loss();
    case 3:
        return "duplicate " + number(0, 30) + "%" + (chance(30) ? " " + share() : "");
    case 4:
        return "corrupt " + share();
    case 5:
        return slot();
    case 6:
        return police();
    case 7:
        return hop();
    default:
        return linked();
    }
}

std::string SpecMaker::rule()
{
    std::string s = any({"src 10.0.0.0/24", "dst 10.0.1.0/30", "proto udp", "dport 2000-2003",
                         "sport 1000", "length 100-600", "vlan 5", "dscp 46", "port 2001"});

    return chance(30) ? s + " length 64-1500" : s;
}

std::string SpecMaker::flows(int depth)
{
    if (chance(50))
        return "each " + any({"flow", "src", "dst", "vlan", "dscp", "mac"}) + " max " +
               number(1, 6) + " ( " + chain(2, depth + 1) + " )";
    std::string s = "match " + rule() + " ( " + chain(2, depth + 1) + " )";

    for (int n = 0; chance(40) && n < 6; n++)
        s += " or " + rule() + " ( " + chain(2, depth + 1) + " )";
    if (chance(50))
        s += " else ( " + chain(2, depth + 1) + " )";
    return s;
}

std::string SpecMaker::chain(unsigned int most, int depth)
{
    std::string s;
    std::vector<std::string> kinds;

    for (uint64_t n = below(most + 1); n > 0; n--) {
        std::string e = chance(25) && depth < 3 ? flows(depth) : element();

        kinds.push_back(e.substr(0, e.find(' ')));
        s += (s.empty() ? "" : " ") + e;
    }
    for (uint64_t at = 0; chance(30) && at < 3;) {
        std::string e = element(), kind = e.substr(0, e.find(' '));
        unsigned int n = 0;

        for (const std::string &k : kinds)
            n += k == kind;
        if (n == 0)
            continue;
        at++;
        s += " at " + number(0, 20) + "ms " + kind + (n > 1 ? "/" + number(1, n) : "") +
             e.substr(kind.size());
    }
    return s;
}

std::string SpecMaker::path(unsigned int most)
{
    return (chance(20) ? "seed " + number(0, 99) + " " : "") + chain(most, 0);
}
