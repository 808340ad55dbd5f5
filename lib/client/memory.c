/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that the daemon can reach: regions, sorted by address, each of which is a memfd. The
 * library maps a memfd before the daemon gets it, because the daemon seals the memfd against new
 * writable mappings.
 *
 * Invariant: regions[i].base + regions[i].len_bytes <= regions[i + 1].base. `uses` of a region
 * counts the outstanding submissions that name the region.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "client/state.h"

#ifndef MFD_HUGETLB
#define MFD_HUGETLB 0x0004u
#endif
#ifndef MFD_HUGE_2MB
#define MFD_HUGE_2MB (21u << 26)
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/*
 * Makes a sealable memfd of len_bytes, maps it and populates it with zeroed pages. So the client
 * does this work, not the daemon, and a shortage shows here.
 */
int client_memory_map(uint64_t len_bytes, bool huge, uint8_t **base, int *fd)
{
    unsigned int flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    void *at;
    int err;

    *fd = memfd_create("sluice", huge ? flags | MFD_HUGETLB | MFD_HUGE_2MB : flags);
    if (*fd < 0)
        return -errno;
    if (ftruncate(*fd, (off_t)len_bytes) < 0)
        goto fail;
    at = mmap(NULL, len_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
    if (at == MAP_FAILED)
        goto fail;
    if (!huge)
        madvise(at, len_bytes, MADV_HUGEPAGE);
    /* EINVAL: the kernel is older than 5.14; then the daemon populates the pages. */
    if (madvise(at, len_bytes, MADV_POPULATE_WRITE) < 0 && errno != EINVAL) {
        err = errno == EFAULT ? ENOMEM : errno;
        munmap(at, len_bytes);
        close(*fd);
        return -err;
    }
    *base = at;
    return 0;

fail:
    err = errno;
    close(*fd);
    return -err;
}

static int regions_room(struct sluice *s)
{
    struct client_region *more;
    uint32_t size = s->regions_size == 0 ? 16 : s->regions_size * 2;

    if (s->regions_count < s->regions_size)
        return 0;
    more = realloc(s->regions, size * sizeof *more);
    if (more == NULL)
        return -ENOMEM;
    s->regions = more;
    s->regions_size = size;
    return 0;
}

static void region_insert(struct sluice *s, const struct client_region *r)
{
    uint32_t i = s->regions_count++;

    for (; i > 0 && s->regions[i - 1].base > r->base; i--)
        s->regions[i] = s->regions[i - 1];
    s->regions[i] = *r;
}

static int memory_share(struct sluice *s, uint64_t len_bytes, bool huge, struct client_region *r)
{
    struct protocol_request q = {.type = PROTOCOL_REGION};
    struct protocol_reply a;
    int fd, err;

    err = client_memory_map(len_bytes, huge, &r->base, &fd);
    if (err < 0)
        return client_fail(s, err, "no memory for %llu bytes: %s", (unsigned long long)len_bytes,
                           strerror(-err));
    q.u.region_bytes = len_bytes;
    err = client_ask(s, &q, fd, &a, NULL, NULL);
    close(fd);
    if (err < 0) {
        munmap(r->base, len_bytes);
        return err;
    }
    r->len_bytes = len_bytes;
    r->id = a.u.region_id;
    r->uses = 0;
    return 0;
}

static int memory_alloc(struct sluice *s, uint64_t len_bytes, struct client_region *r)
{
    int err = -ENOMEM;

    if (len_bytes == 0 || len_bytes > UINT64_MAX / 4)
        return client_fail(s, -EINVAL, "cannot allocate %llu bytes", (unsigned long long)len_bytes);
    if (s->gone)
        return -ENOTCONN;
    if (s->regions_count >= s->limits.regions)
        return client_fail(s, -ENOSPC,
                           "the session has %u pieces of memory: use fewer, larger ones",
                           s->regions_count);
    if (regions_room(s) < 0)
        return client_fail(s, -ENOMEM, "no memory for bookkeeping");
    /* Hugepages if possible; ordinary pages after any failure. */
    if (len_bytes >= CLIENT_HUGE_BYTES)
        err = memory_share(s, protocol_round(len_bytes, CLIENT_HUGE_BYTES), true, r);
    if (err < 0 && !s->gone)
        err = memory_share(s, protocol_round(len_bytes, (uint64_t)sysconf(_SC_PAGESIZE)), false, r);
    return err;
}

void *sluice_alloc(struct sluice *s, uint64_t len_bytes)
{
    struct client_region r;
    int err = memory_alloc(s, len_bytes, &r);

    if (err < 0) {
        errno = -err;
        return NULL;
    }
    region_insert(s, &r);
    return r.base;
}

/* Index of the last region that starts at or before data; regions_count if none does. */
static uint32_t region_search(const struct sluice *s, const void *data)
{
    uint32_t low = 0, high = s->regions_count;

    while (low < high) {
        uint32_t middle = (low + high) / 2;

        if (s->regions[middle].base <= (const uint8_t *)data)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? low - 1 : s->regions_count;
}

static bool region_holds(const struct client_region *r, const void *data, uint64_t len)
{
    uint64_t offset = (uint64_t)((uintptr_t)data - (uintptr_t)r->base);

    return (const uint8_t *)data >= r->base && offset <= r->len_bytes &&
           len <= r->len_bytes - offset;
}

struct client_region *client_region_find(struct sluice *s, const void *data, uint64_t len)
{
    uint32_t i = s->region_last;

    if (i < s->regions_count && region_holds(&s->regions[i], data, len))
        return &s->regions[i];
    i = region_search(s, data);
    if (i == s->regions_count || !region_holds(&s->regions[i], data, len))
        return NULL;
    s->region_last = i;
    return &s->regions[i];
}

void client_region_release(struct sluice *s, uint32_t id)
{
    uint32_t i = s->region_last;

    if (id == CLIENT_NONE)
        return;
    if (i < s->regions_count && s->regions[i].id == id) {
        s->regions[i].uses--;
        return;
    }
    for (i = 0; i < s->regions_count; i++) {
        if (s->regions[i].id == id) {
            s->regions[i].uses--;
            return;
        }
    }
}

int sluice_free(struct sluice *s, void *memory)
{
    struct protocol_request q = {.type = PROTOCOL_UNREGION};
    struct protocol_reply a;
    uint32_t i;
    int err;

    if (memory == NULL)
        return 0;
    i = region_search(s, memory);
    if (i == s->regions_count || s->regions[i].base != memory)
        return client_fail(s, -EINVAL, "%p was not allocated by sluice_alloc()", memory);
    if (s->regions[i].uses > 0 && !s->gone)
        return client_fail(s, -EBUSY, "%u requests use that memory: take their completions first",
                           s->regions[i].uses);
    q.u.region_id = s->regions[i].id;
    err = client_ask(s, &q, -1, &a, NULL, NULL);
    if (err < 0 && !s->gone)
        return err;
    munmap(s->regions[i].base, s->regions[i].len_bytes);
    s->regions_count--;
    memmove(&s->regions[i], &s->regions[i + 1], (s->regions_count - i) * sizeof *s->regions);
    return 0;
}

void client_memory_free_all(struct sluice *s)
{
    uint32_t i;

    for (i = 0; i < s->regions_count; i++)
        munmap(s->regions[i].base, s->regions[i].len_bytes);
    free(s->regions);
    s->regions = NULL;
    s->regions_count = s->regions_size = 0;
}
