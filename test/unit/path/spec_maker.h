/* SPDX-License-Identifier: BSD-3-Clause */
/* Random valid specs, from the whole grammar of lib/path. */
#ifndef SLUICE_TEST_UNIT_PATH_SPEC_MAKER_H
#define SLUICE_TEST_UNIT_PATH_SPEC_MAKER_H

#include <random>
#include <string>

class SpecMaker
{
  public:
    /* trace, table: files that specs may name. */
    SpecMaker(uint64_t seed, const std::string &trace, const std::string &table)
        : rng(seed), trace_file(trace), table_file(table)
    {
    }
    /* A whole path with at most so many elements in a row. */
    std::string path(unsigned int most);
    uint64_t below(uint64_t n)
    {
        return rng() % n;
    }

  private:
    bool chance(unsigned int percent)
    {
        return below(100) < percent;
    }
    std::string any(std::initializer_list<const char *> words);
    std::string number(uint64_t least, uint64_t most);
    std::string time(uint64_t max_us);
    std::string rate();
    std::string share();
    std::string limits();
    std::string queue();
    std::string police();
    std::string loss();
    std::string delay();
    std::string slot();
    std::string hop();
    std::string linked(); /* rate, receiver, trace */
    std::string element();
    std::string rule();
    std::string flows(int depth);
    std::string chain(unsigned int most, int depth);

    std::mt19937_64 rng;
    std::string trace_file, table_file;
};

#endif
