// SPDX-License-Identifier: BSD-3-Clause
// Runs a script (doc/simulation.md has the language). Its timed lines make a peer send packets and
// the host's application act, and state the frames and completions that must follow. Throws
// ScriptError.
#ifndef SLUICE_TEST_SIM_SCRIPT_HH
#define SLUICE_TEST_SIM_SCRIPT_HH

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "peer.hh"

struct ScriptError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

extern const char *const kScriptFlags[8];
// enum wire_type of a word; 0: none.
int script_type(const std::string &word);

class Script
{
  public:
    // Reads the file. Errors name file and line.
    explicit Script(const std::string &path);
    void run();

  private:
    // name=value pairs; "flags+" expects at least these flags, "flags-" none of them.
    using Fields = std::map<std::string, std::string>;
    struct Line {
        int number = 0;
        uint64_t after_ns = 0; // after the line before
        std::vector<std::string> words;
        Fields fields;
        uint64_t within_ns = 50000;
        uint64_t later_ns = 0; // no sooner than this
    };

    [[noreturn]] void fail(const std::string &what) const;
    Line parse(const std::string &text);
    uint64_t number(const std::string &value) const;
    uint64_t time(const std::string &value) const;
    uint64_t position(const std::string &value, uint32_t zero) const;
    uint8_t flags(const std::string &value) const;
    bool take(Fields &f, const std::string &name, uint64_t *value) const;
    void no_more(const Fields &f) const;

    void options();
    void perform();
    void inject();
    void inject_cntl(Fields f);
    void inject_data(Fields f);
    void inject_rcntl(Fields f);
    void submit();
    void expect();
    void expect_completion();
    void expect_frame(int type);
    void expect_none();
    void check();
    bool wait(const std::function<bool()> &done);
    size_t next_frame(int type) const;
    Fields show(const Heard &x) const;
    std::string differs(const Heard &x) const;

    std::string path;
    std::vector<Line> lines;
    const Line *line = nullptr;
    std::unique_ptr<Peer> peer;
    PeerOptions opt;
    std::vector<bool> used; // frames that lines have expected, by number
    size_t completions = 0; // completions that lines have expected
};

#endif
