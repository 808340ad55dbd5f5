/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target for lib/path: a spec is parsed, and packets run through what it says (fuzz_path.h). A
 * refused spec has a message of one line. The text of each element is parsed again. Packets leave
 * in the order of their times, none is lost without being counted, and all mbufs come back.
 */
#include "fuzz_path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rte_mbuf.h>

#include "base/clock.h"
#include "fuzz_eal.h"
#include "fuzz_input.h"
#include "path/path.h"

#define HZ          1000000000ull
#define PACKETS_MAX 64u
#define STEPS_MAX   300u
#define FRAME_MAX   1600u
#define BURST_MAX   64u

struct fuzz_path_counts fuzz_path_counts;

/* The content of PATH_FILE. */
static const uint8_t *file_bytes;
static size_t file_len;

int __wrap_open(const char *name, int flags, ...);
int __wrap_open64(const char *name, int flags, ...);

/* A spec can name any file, but reads only this one. */
int __wrap_open64(const char *name, int flags, ...)
{
    int fd;

    if (strcmp(name, PATH_FILE) != 0) {
        errno = ENOENT;
        return -1;
    }
    fd = memfd_create("fuzz", MFD_CLOEXEC);
    CHECK(fd >= 0 && write(fd, file_bytes, file_len) == (ssize_t)file_len);
    CHECK(lseek(fd, 0, SEEK_SET) == 0);
    fuzz_path_counts.files++;
    return fd;
}

int __wrap_open(const char *name, int flags, ...)
{
    return __wrap_open64(name, flags);
}

struct run {
    struct path *path;
    struct rte_mempool *pool;
    struct fuzz_input in;
    uint64_t now, began, left_at;
};

/* Takes the bytes up to the next 0. */
static size_t part_take(struct fuzz_input *in, const uint8_t **part)
{
    const uint8_t *zero = memchr(in->at, 0, (size_t)(in->end - in->at));
    size_t len;

    *part = in->at;
    len = (size_t)((zero != NULL ? zero : in->end) - in->at);
    in->at += len + (zero != NULL);
    return len;
}

static struct path *path_make(const char *text, const struct rte_mempool *pool, bool compact)
{
    struct path_config cfg = {.hz = HZ,
                              .seed = 7,
                              .packets_max = PACKETS_MAX,
                              .pool = (struct rte_mempool *)(uintptr_t)pool,
                              .compact_bytes = compact ? 256 : 0};
    char err[600];
    struct path *p;

    memset(err, 'x', sizeof err);
    p = path_create(text, &cfg, 1000, err, sizeof err);
    if (p != NULL)
        return p;
    CHECK(memchr(err, 0, sizeof err) != NULL && err[0] != 0 && strchr(err, '\n') == NULL);
    fuzz_path_counts.refused++;
    return NULL;
}

/* The elements of a path without branches and changes are the path: the same texts make the same
 * path. */
static void again_check(const struct path *p, const struct rte_mempool *pool)
{
    char text[PATH_SPEC_MAX_BYTES + 1] = "";
    struct path_element_info a, b;
    struct path *again;
    size_t len = 0;
    uint32_t n;

    for (n = 0; path_element(p, n, &a); n++) {
        int add = snprintf(text + len, sizeof text - len, "%s%s", n > 0 ? " " : "", a.text);

        if (strcmp(a.kind, "match") == 0 || strcmp(a.kind, "each") == 0 ||
            (size_t)add >= sizeof text - len)
            return;
        len += (size_t)add;
    }
    again = path_make(text, pool, false);
    CHECK(again != NULL);
    for (uint32_t i = 0; i <= n; i++) {
        bool more = path_element(again, i, &b);

        CHECK(more == (i < n));
        if (more)
            CHECK(path_element(p, i, &a) && a.kind == b.kind && strcmp(a.text, b.text) == 0);
    }
    CHECK((path_common(p) == NULL) == (path_common(again) == NULL));
    path_destroy(again);
    fuzz_path_counts.again++;
}

/* A frame of one of a few kinds. Returns its length, which may be shorter than its headers. */
static uint16_t frame_make(struct fuzz_input *in, uint8_t what, uint8_t *frame)
{
    static const uint8_t udp4[] = {2,    0, 0,  0, 0, 2, 2, 0, 0,    0,    0, 1, 8,  0,
                                   0x45, 0, 0,  0, 0, 0, 0, 0, 9,    17,   0, 0, 10, 0,
                                   0,    1, 10, 0, 1, 2, 7, 1, 0x13, 0x88, 0, 40};
    static const uint8_t udp6[] = {2,    0,    0,    0, 0, 2, 2, 0,  0,  0, 0,    1,
                                   0x86, 0xdd, 0x60, 0, 0, 0, 0, 40, 17, 9, 0xfd, [38] = 0xfd};
    static const uint8_t tcp4[] = {2, 0, 0,  0, 0,    2, 2,  0, 0, 0, 0, 1,  0x81, 0,
                                   0, 5, 8,  0, 0x45, 0, 0,  0, 0, 0, 0, 0,  9,    6,
                                   0, 0, 10, 0, 0,    1, 10, 0, 1, 2, 0, 80, 1,    1};
    static const struct {
        const uint8_t *bytes;
        uint16_t len, ecn_at;
    } kinds[] = {{udp4, sizeof udp4, 15}, {udp6, sizeof udp6, 15}, {tcp4, sizeof tcp4, 19}};
    uint16_t len = (uint16_t)(1 + input_u8(in) * 6u);

    memset(frame, what, FRAME_MAX);
    if ((what & 3) == PATH_FRAME_ANY)
        return len;
    memcpy(frame, kinds[what & 3].bytes, kinds[what & 3].len);
    if (what & 4)
        frame[kinds[what & 3].ecn_at] |= (what & 3) == PATH_FRAME_UDP6 ? 0x20 : 2;
    frame[kinds[what & 3].len - 3] ^= what >> 4; /* the flow */
    return len;
}

static struct rte_mbuf *frame_mbuf(struct run *r, uint8_t what)
{
    uint8_t frame[FRAME_MAX];
    uint16_t len = frame_make(&r->in, what, frame);
    struct rte_mbuf *m;

    if ((what & 8) == 0)
        return fuzz_mbuf(r->pool, frame, len);
    m = rte_pktmbuf_alloc(r->pool);
    if (m != NULL)
        memcpy(rte_pktmbuf_append(m, len), frame, len);
    return m;
}

static void push_step(struct run *r, uint8_t step)
{
    struct rte_mbuf *m[4];
    uint16_t n = 0;

    for (int i = (step >> 2 & 3) + 1; i > 0; i--) {
        m[n] = frame_mbuf(r, input_u8(&r->in));
        if (m[n] != NULL)
            n++;
    }
    path_push(r->path, m, n, r->now);
    fuzz_path_counts.in += n;
}

static uint16_t pop_step(struct run *r, uint16_t max)
{
    struct rte_mbuf *m[BURST_MAX];
    uint64_t at[BURST_MAX];
    uint16_t n = path_pop_times(r->path, m, at, max, r->now);

    CHECK(n <= max);
    for (uint16_t i = 0; i < n; i++) {
        CHECK(at[i] >= r->left_at && at[i] <= r->now && at[i] >= r->began);
        CHECK(rte_pktmbuf_is_contiguous(m[i]) && m[i]->data_len == m[i]->pkt_len);
        r->left_at = at[i];
        rte_pktmbuf_free(m[i]);
    }
    fuzz_path_counts.out += n;
    return n;
}

/* Packets in = packets out + dropped + held - copies made. */
static void counts_check(const struct path *p, bool whole)
{
    const struct path_counts *c = path_counts(p);
    uint64_t in = c->in_packets, out = c->out_packets + c->drop_full + c->held_packets;
    struct path_element_info e;

    CHECK(c->held_packets <= PACKETS_MAX);
    for (uint32_t i = 0; path_element(p, i, &e); i++) {
        in += e.counts->copied;
        out += e.counts->dropped;
        if (whole) {
            fuzz_path_counts.dropped += e.counts->dropped;
            fuzz_path_counts.copied += e.counts->copied;
        }
        CHECK(e.counts->queued_packets <= e.counts->queued_packets_max);
        CHECK(e.counts->out_packets <= e.counts->in_packets + e.counts->copied);
    }
    CHECK(c->drop_no_mbuf > 0 || in == out);
}

static void step_run(struct run *r, uint8_t step)
{
    uint64_t next;

    switch ((enum path_step)(step & 3)) {
    case PATH_STEP_PUSH:
        push_step(r, step);
        break;
    case PATH_STEP_POP:
        pop_step(r, (uint16_t)((step >> 2) + 1));
        break;
    case PATH_STEP_TIME:
        r->now += (uint64_t)input_u8(&r->in) << (step >> 2 & 31);
        break;
    case PATH_STEP_NEXT:
        next = path_next(r->path);
        if (next != TIME_NEVER && next > r->now && next - r->now < 1000 * HZ)
            r->now = next;
    }
}

static void packets_run(struct run *r)
{
    uint32_t held, steps = 0;

    for (; input_left(&r->in) && steps < STEPS_MAX; steps++) {
        step_run(r, input_u8(&r->in));
        counts_check(r->path, false);
    }
    do { /* packets that are due leave, or wait for others */
        held = (uint32_t)path_counts(r->path)->held_packets;
        r->now += HZ;
        while (pop_step(r, BURST_MAX) == BURST_MAX)
            continue;
    } while (path_counts(r->path)->held_packets < held);
    counts_check(r->path, true);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct rte_mempool *pool;
    struct run r = {.in = {data, data + size}, .now = 1000, .began = 1000};
    const uint8_t *text;
    size_t len;
    char *spec;

    if (pool == NULL)
        pool = fuzz_pool("path", 511, RTE_PKTMBUF_HEADROOM + FRAME_MAX);
    r.pool = pool;
    len = part_take(&r.in, &text);
    file_len = part_take(&r.in, &file_bytes);
    spec = malloc(len + 1);
    CHECK(spec != NULL);
    memcpy(spec, text, len);
    spec[len] = 0;
    r.path = path_make(spec, pool, len % 2 == 0);
    free(spec);
    if (r.path == NULL)
        return 0;
    fuzz_path_counts.parsed++;
    again_check(r.path, pool);
    packets_run(&r);
    path_destroy(r.path);
    fuzz_pool_check(pool);
    return 0;
}
