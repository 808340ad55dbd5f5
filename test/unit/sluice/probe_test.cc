// SPDX-License-Identifier: BSD-3-Clause
// What a ping without an answer means.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <string>

extern "C" {
#include "sluice/ping/probe.h"
}

namespace
{

TEST(Probe, EveryFailureHasItsReason)
{
    const struct {
        struct probe p;
        const char *text, *cure;
    } cases[] = {
        {{-EHOSTUNREACH, false, 0, "no route", false, "", ""},
         "our daemon does not try: no route",
         ""},
        {{-EHOSTUNREACH, true, 0, "", false, "", ""}, "no host answers ARP", "the VLAN"},
        {{-ETIMEDOUT, true, 0, "", false, "", ""}, "nothing comes back", "firewalls"},
        {{-ETIMEDOUT, true, 0, "", true, "", ""},
         "though the host answers ARP",
         "start sluiced there"},
        {{-ETIMEDOUT, true, 0, "", true, "asked, no answer", ""},
         "does not answer our handshake",
         "public_key"},
        {{-ETIMEDOUT, true, 0, "", true,
          "its answers cannot be read: do both have the same shared key?", ""},
         "its answers cannot be read",
         "shared_key_file"},
        {{-ETIMEDOUT, true, 0, "", true, "secured", ""},
         "nothing comes back under the keys",
         "public_key"},
        {{-ETIMEDOUT, true, 0, "", true, "", "drop_vlan 3, drop_sum 1"},
         "; meanwhile our host dropped frames (doc/counters.md): drop_vlan 3, drop_sum 1",
         "firewalls"},
        {{-EPROTO, true, 0, "", true, "", ""}, "versions or capabilities do not match", ""},
        {{-EACCES, true, 0, "", true, "", ""}, "our daemon has no key of that host", ""},
    };

    for (const auto &c : cases) {
        struct probe_finding f;

        memset(&f, 'x', sizeof f);
        probe_explain(&c.p, &f);
        EXPECT_NE(std::string(f.text).find(c.text), std::string::npos) << f.text;
        EXPECT_NE(std::string(f.cure).find(c.cure), std::string::npos) << f.cure;
        EXPECT_EQ(*c.cure == 0, *f.cure == 0) << f.cure;
    }
}

// Nothing overflows, whatever the daemon says.
TEST(Probe, LongWordsAreCut)
{
    struct probe p = {-ETIMEDOUT, true, 0, "", true, "", ""};
    struct probe_finding f;

    memset(p.secured, 's', sizeof p.secured - 1);
    memset(p.drops, 'd', sizeof p.drops - 1);
    probe_explain(&p, &f);
    EXPECT_LT(strlen(f.text), sizeof f.text);
    p.sent = false;
    memset(p.why, 'w', sizeof p.why - 1);
    probe_explain(&p, &f);
    EXPECT_NE(std::string(f.text).find(std::string(sizeof p.why - 1, 'w')), std::string::npos);
}

} // namespace
