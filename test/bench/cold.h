/* SPDX-License-Identifier: BSD-3-Clause */
/* What loops over cold memory need: memory far larger than any cache, so that each piece is cold
 * again when its turn comes, and the time. */
#ifndef SLUICE_TEST_COLD_H
#define SLUICE_TEST_COLD_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define MEMORY_BYTES (1ull << 30)
#define LOOK_UNITS   64 /* worked through between two looks at the clock */

/* MEMORY_BYTES, touched, in hugepages if there are any. program: is named if there is no memory,
 * and ends then. */
static inline void *cold_memory(const char *program)
{
    const int how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE;
    void *at = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE, how | MAP_HUGETLB, -1, 0);

    if (at == MAP_FAILED)
        at = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE, how, -1, 0);
    if (at == MAP_FAILED) {
        fprintf(stderr, "%s: no memory for 2 GiB; free some\n", program);
        exit(1);
    }
    memset(at, 1, MEMORY_BYTES);
    return at;
}

static inline double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

#endif
