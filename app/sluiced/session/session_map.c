/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Client memory in the daemon, and the requests REGION and UNREGION. Memory is checked, mapped,
 * sealed, then locked and faulted in, so that no worker ever takes a page fault on it.
 *
 * The order matters. Pages can be taken away (by truncating or by punching holes) until
 * F_SEAL_SHRINK, GROW and FUTURE_WRITE are set. Faulting in before that would be worth nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/check.h"
#include "sluiced/session/fd_closer.h"
#include "sluiced/session/session_state.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MLOCK_ONFAULT
#define MLOCK_ONFAULT 1
#endif
#ifndef F_SEAL_EXEC
#define F_SEAL_EXEC 0x0020 /* set at creation if vm.memfd_noexec says so */
#endif
#define MAP_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL)

__attribute__((format(printf, 3, 4))) static int map_fail(char *text, int status,
                                                          const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(text, SESSION_TEXT_MAX, format, args);
    va_end(args);
    return status;
}

/* ---- quota ------------------------------------------------------------------------------ */

/* A part of the total is left to root and the daemon's own user, so that these can look at the
 * daemon when users have taken the rest. */
#define RESERVED_PART 16

static int map_charge(struct sessions *s, struct session *x, uint64_t len_bytes, char *text)
{
    uint64_t quota = s->cfg.quota_bytes, used = x->user->used_bytes;
    uint64_t total = s->cfg.quota_total_bytes, all = s->used_bytes;
    uint64_t most = x->user_rights.all ? total : total - total / RESERVED_PART;

    if (len_bytes > (1ull << 47) - used)
        return map_fail(text, -EINVAL, "%llu bytes are too many", (unsigned long long)len_bytes);
    if (quota > 0 && (used > quota || len_bytes > quota - used))
        return map_fail(text, -EDQUOT,
                        "user %u uses %llu of %llu bytes: free memory, or raise the quota in "
                        "sluiced's configuration",
                        x->uid, (unsigned long long)used, (unsigned long long)quota);
    if (total > 0 && (all > most || len_bytes > most - all))
        return map_fail(text, -EDQUOT,
                        "all users together use %llu of %llu bytes: wait until others free memory, "
                        "or raise quota_total in sluiced's configuration",
                        (unsigned long long)all, (unsigned long long)most);
    x->user->used_bytes += len_bytes;
    s->used_bytes += len_bytes;
    return 0;
}

static void map_return(struct sessions *s, struct session *x, uint64_t len_bytes)
{
    x->user->used_bytes -= len_bytes;
    s->used_bytes -= len_bytes;
}

/* ---- the descriptor --------------------------------------------------------------------- */

/* Checks that fd is a memfd of exactly len_bytes that can be sealed and written. *huge_bytes: the
 * size of its hugepages; 0: ordinary pages. */
static int map_check(int fd, uint64_t len_bytes, uint64_t *huge_bytes, char *text)
{
    struct statfs fs;
    struct stat st;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    /* First, since F_GET_SEALS fails on anything but memory, without calling into a file system. */
    int seals = fcntl(fd, F_GET_SEALS);

    if (seals < 0)
        return map_fail(text, -EBADF, "that descriptor is not a memfd: use memfd_create()");
    if ((seals & F_SEAL_SEAL) != 0)
        return map_fail(text, -EPERM,
                        "the memfd cannot be sealed, or is already in use: create it with "
                        "MFD_ALLOW_SEALING, register it once");
    if ((seals & ~(F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_EXEC)) != 0)
        return map_fail(text, -EPERM, "the memfd is sealed against writing: register it unsealed");
    if (fstat(fd, &st) < 0 || fstatfs(fd, &fs) < 0)
        return map_fail(text, -errno, "cannot look at the memfd: %s", strerror(errno));
    *huge_bytes = fs.f_type == HUGETLBFS_MAGIC ? (uint64_t)fs.f_bsize : 0;
    if (*huge_bytes > 0)
        page = *huge_bytes;
    if (len_bytes == 0 || len_bytes % page != 0)
        return map_fail(text, -EINVAL, "%llu bytes are not whole pages of %llu",
                        (unsigned long long)len_bytes, (unsigned long long)page);
    if ((uint64_t)st.st_size != len_bytes)
        return map_fail(text, -EINVAL, "the memfd has %lld bytes instead of the announced %llu",
                        (long long)st.st_size, (unsigned long long)len_bytes);
    return 0;
}

static int map_seal(int fd, uint64_t len_bytes, char *text)
{
    struct stat st;

    if (fcntl(fd, F_ADD_SEALS, MAP_SEALS) < 0)
        return map_fail(text, -EPERM, "cannot seal the memfd (%s): pass it open for writing",
                        strerror(errno));
    if ((fcntl(fd, F_GET_SEALS) & ~F_SEAL_EXEC) != MAP_SEALS || fstat(fd, &st) < 0 ||
        (uint64_t)st.st_size != len_bytes)
        return map_fail(text, -EPERM, "the memfd changed while it was sealed");
    return 0;
}

/* Locks pages, once they are faulted in. A limit on locked memory fails here, not later. A kernel
 * without mlock2() locks them all: for that, the C library says EINVAL. */
static int map_lock(struct session_mapping *m, char *text)
{
    struct rlimit limit = {0};

    if (mlock2(m->base, m->len_bytes, MLOCK_ONFAULT) == 0 ||
        ((errno == ENOSYS || errno == EINVAL) && mlock(m->base, m->len_bytes) == 0))
        return 0;
    getrlimit(RLIMIT_MEMLOCK, &limit);
    return map_fail(
        text, -ENOMEM,
        "sluiced cannot lock %llu bytes, its limit is %llu in all: raise it "
        "(ulimit -l, LimitMEMLOCK=), use less memory, or set lock = no in its configuration",
        (unsigned long long)m->len_bytes, (unsigned long long)limit.rlim_cur);
}

static int map_make(int fd, uint64_t len_bytes, bool lock, struct session_mapping *m, char *text)
{
    uint64_t huge_bytes = 0;
    void *at;
    int err = map_check(fd, len_bytes, &huge_bytes, text);

    if (err < 0)
        return err;
    at = mmap(NULL, len_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED && errno == ENOMEM && huge_bytes > 0)
        return map_fail(text, -ENOMEM, "fewer than %llu hugepages of %llu bytes are free",
                        (unsigned long long)(len_bytes / huge_bytes),
                        (unsigned long long)huge_bytes);
    if (at == MAP_FAILED)
        return map_fail(text, -errno, "sluiced cannot map %llu bytes: %s",
                        (unsigned long long)len_bytes, strerror(errno));
    m->base = at;
    m->len_bytes = len_bytes;
    m->populated_bytes = 0;
    err = map_seal(fd, len_bytes, text);
    /* Hugepages are never paged out, and would count against the limit on locked memory. */
    if (err == 0 && huge_bytes == 0 && lock)
        err = map_lock(m, text);
    if (err < 0) {
        munmap(at, len_bytes);
        m->base = NULL;
    }
    return err;
}

int session_map_open(struct sessions *s, struct session *x, int fd, uint64_t len_bytes,
                     struct session_mapping *m, char *text)
{
    int err;

    *m = (struct session_mapping){.fd = -1};
    if (fd < 0)
        return map_fail(text, -EBADF, "no descriptor came with the request");
    err = map_charge(s, x, len_bytes, text);
    if (err == 0) {
        err = map_make(fd, len_bytes, !s->cfg.unlocked, m, text);
        if (err < 0)
            map_return(s, x, len_bytes);
    }
    if (err == 0)
        m->fd = fd;
    else
        fd_closer_add(fd, x->uid);
    return err;
}

/* For kernels before 5.14, without MADV_POPULATE_WRITE. Allocates pages before it touches them:
 * touching a page that cannot be allocated raises SIGBUS. */
static int map_touch(struct session_mapping *m, uint64_t n)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), i;

    if (fallocate(m->fd, 0, (off_t)m->populated_bytes, (off_t)n) < 0)
        return -errno;
    for (i = 0; i < n; i += page)
        __atomic_fetch_or(m->base + m->populated_bytes + i, 0, __ATOMIC_RELAXED);
    return 0;
}

int session_map_step(struct sessions *s, struct session_mapping *m, char *text)
{
    uint64_t n = m->len_bytes - m->populated_bytes;
    int err = 0;

    if (n > s->slice)
        n = s->slice;
    if (n > 0 && madvise(m->base + m->populated_bytes, n, MADV_POPULATE_WRITE) < 0)
        err = errno == EINVAL ? map_touch(m, n) : -errno;
    if (err == -EAGAIN || err == -EINTR)
        return 0;
    if (err < 0)
        return map_fail(text, -ENOMEM, "no memory for %llu bytes: free some, or ask for less",
                        (unsigned long long)m->len_bytes);
    s->slice -= n;
    m->populated_bytes += n;
    if (m->populated_bytes < m->len_bytes)
        return 0;
    if (m->fd >= 0)
        close(m->fd);
    m->fd = -1;
    return 1;
}

void session_map_close(struct sessions *s, struct session *x, struct session_mapping *m)
{
    if (m->base == NULL)
        return;
    if (m->port_mapped && s->cfg.unmap != NULL)
        s->cfg.unmap(s->cfg.ctx, m->base, m->len_bytes);
    munmap(m->base, m->len_bytes);
    if (m->fd >= 0)
        close(m->fd);
    map_return(s, x, m->len_bytes);
    *m = (struct session_mapping){.fd = -1};
}

/* ---- REGION, UNREGION ------------------------------------------------------------------- */

void session_ask_region(struct sessions *s, struct session *x, const struct protocol_request *q,
                        int fd)
{
    uint32_t id = 0;
    int err;

    while (id < PROTOCOL_REGIONS_MAX && x->regions[id].base != NULL)
        id++;
    if (id == PROTOCOL_REGIONS_MAX) {
        if (fd >= 0)
            fd_closer_add(fd, x->uid);
        session_reply(x, q->type, -ENOSPC, "too many pieces of memory: use fewer, larger ones");
        return;
    }
    x->pending = (struct session_pending){.type = q->type, .step = SESSION_STEP_MAP, .id = id};
    err = session_map_open(s, x, fd, q->u.region_bytes, &x->regions[id], x->pending.text);
    if (err < 0)
        session_pending_reply(x, err, x->pending.text);
}

void session_go_region(struct sessions *s, struct session *x)
{
    struct session_mapping *m = &x->regions[x->pending.id];
    struct protocol_reply a = {.type = PROTOCOL_REGION, .u.region_id = x->pending.id};
    int r;

    if (x->pending.step == SESSION_STEP_MAP) {
        r = session_map_step(s, m, x->pending.text);
        if (r == 0)
            return;
        if (r > 0 && s->cfg.map != NULL) {
            r = s->cfg.map(s->cfg.ctx, m->base, m->len_bytes);
            m->port_mapped = r == 0;
            snprintf(x->pending.text, sizeof x->pending.text,
                     "the ports cannot use that memory: %s", strerror(-r));
        }
        if (r < 0) {
            session_map_close(s, x, m);
            session_pending_reply(x, r, x->pending.text);
            return;
        }
        session_pending_tell_all(s, x, CHANNEL_REGION_ADD, m);
    }
    if (x->pending.waiting > 0)
        return;
    CHECK(x->pending.status == 0);
    x->pending.type = 0;
    session_say(x, &a, NULL, 0, -1);
}

void session_ask_unregion(struct sessions *s, struct session *x, const struct protocol_request *q,
                          int fd)
{
    uint32_t id = q->u.region_id;

    if (id >= PROTOCOL_REGIONS_MAX || x->regions[id].base == NULL) {
        session_reply(x, q->type, -EINVAL, "there is no such memory");
        return;
    }
    if (session_captures_into(x, id)) {
        session_reply(x, q->type, -EBUSY, "a capture writes that memory: close the session");
        return;
    }
    x->pending = (struct session_pending){.type = q->type, .id = id};
    session_pending_tell_all(s, x, CHANNEL_REGION_DROP, NULL);
}

void session_go_unregion(struct sessions *s, struct session *x)
{
    struct session_mapping *m = &x->regions[x->pending.id];

    if (x->pending.waiting > 0)
        return;
    if (x->pending.status < 0 && x->pending.step == SESSION_STEP_TELL) {
        x->pending.step = SESSION_STEP_UNDO;
        session_pending_tell(s, x, CHANNEL_REGION_ADD, x->pending.agreed, m);
        if (x->pending.waiting > 0)
            return;
    }
    if (x->pending.status < 0) {
        session_pending_reply(
            x, x->pending.status,
            "requests or closing connections use that memory: wait for them first");
        return;
    }
    session_map_close(s, x, m);
    session_pending_reply(x, 0, "");
}
