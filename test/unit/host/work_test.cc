// SPDX-License-Identifier: BSD-3-Clause
// The work of a poll grows with the number of events, not with the number of possible connections.
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

extern "C" {
#include "host/host_internal.h"
}

#include "host.hh"

namespace
{

constexpr uint32_t kMany = 1u << 16;

// A bitmap of kMany bits. Any access beyond its first page is a fault.
uint64_t *fenced_bitmap()
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = kMany / 8;
    void *p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    EXPECT_NE(p, MAP_FAILED);
    EXPECT_GT(bytes, page);
    EXPECT_EQ(mprotect((uint8_t *)p + page, bytes - page, PROT_NONE), 0);
    return (uint64_t *)p;
}

// An open connection whose one request is acknowledged while the port still holds its memory.
struct conn *lingering(struct host *h, uint8_t *data)
{
    struct conn *c = table_new(h);
    struct vt_send send = {};

    c->peer = addr_from_v4(0x0a000002);
    conn_start(h, c, 1000000, 10000);
    c->state = HOST_OPEN;
    c->handshake.proven = true;
    send.pieces[0] = {data, 1};
    EXPECT_EQ(vt_sender_post(&c->tx, &send), 0);
    c->tx.una = c->tx.tail;
    rte_mbuf_ext_refcnt_set(&c->tx.ring[0].shared[0], 2);
    conn_has_completion(h, c);
    return c;
}

// A host whose bitmaps of grants are as large as if it had kMany connections.
class WorkOfMany : public testing::Test
{
  protected:
    void SetUp() override
    {
        h = host_make(kFew);
        dirty = h->grants_dirty;
        words = h->grants_words;
        h->cfg.conns = kMany;
        h->grants_dirty = fenced;
        h->grants_words = many_words;
    }
    void TearDown() override
    {
        h->cfg.conns = kFew;
        h->grants_dirty = dirty;
        h->grants_words = words;
        munmap(fenced, kMany / 8);
        host_destroy(h);
    }

    static constexpr uint32_t kFew = 64;
    struct host *h;
    uint64_t *dirty, *words, *fenced = fenced_bitmap(), many_words[kMany / 4096] = {};
};

} // namespace

TEST_F(WorkOfMany, AGrantTouchesNoWordOfOthers)
{
    grant_mark(h, 5);
    EXPECT_EXIT(
        {
            grants_apply(h);
            _exit(fenced[0] == 0 ? 0 : 1);
        },
        testing::ExitedWithCode(0), "");
}

TEST(Work, EveryMarkedGrantIsTakenOnce)
{
    constexpr uint32_t n = 256;
    struct host *h = host_make(n);

    for (uint32_t i = 0; i < n; i += 1 + i / 3)
        grant_mark(h, i);
    grants_apply(h);
    EXPECT_EQ(h->grants_any, 0u);
    for (uint32_t w = 0; w < n / 64; w++)
        ASSERT_EQ(h->grants_dirty[w], 0u) << w;
    EXPECT_EQ(h->grants_words[0], 0u);
    host_destroy(h);
}

TEST(Work, ConnectionsInUseAreCounted)
{
    struct host *h = host_make(8);
    struct conn *c[8];

    for (uint32_t i = 0; i < 8; i++) {
        EXPECT_EQ(host_conn_count(h), i);
        c[i] = table_new(h);
    }
    EXPECT_EQ(table_new(h), nullptr);
    EXPECT_EQ(host_conn_count(h), 8u);
    for (uint32_t i = 0; i < 8; i++) {
        c[i]->state = HOST_CLOSED;
        table_free(h, c[i]);
        EXPECT_EQ(host_conn_count(h), 7 - i);
    }
    host_destroy(h);
}

// A port that keeps its last frames makes connections wait. One poll looks at few of them.
TEST(Work, FewOfThoseThatWaitForThePortAreLookedAt)
{
    constexpr uint32_t n = 256, few = 16;
    struct host *h = host_make(n);
    struct host_completion out[2 * n];
    struct conn *c[n];
    uint8_t data[1] = {0};
    uint32_t calls = 0, got = 0;

    for (auto &x : c)
        x = lingering(h, data);
    EXPECT_EQ(host_completions(h, out, 2 * n), 0u);
    for (auto &x : c)
        rte_mbuf_ext_refcnt_set(&x->tx.ring[0].shared[0], 1);
    for (; got < n && calls < n; calls++) {
        uint32_t more = host_completions(h, out, 2 * n);

        EXPECT_LE(more, few);
        got += more;
    }
    EXPECT_EQ(got, n);
    EXPECT_LE(calls, n / 4) << "no connection waits for many polls";
    for (auto &x : c) {
        vt_sender_abort(&x->tx, -ECANCELED);
        x->state = HOST_CLOSED;
    }
    host_destroy(h);
}
