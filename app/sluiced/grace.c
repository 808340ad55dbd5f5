/* SPDX-License-Identifier: BSD-3-Clause */
/* See grace.h. */
#include "sluiced/grace.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct worker *grace_workers;
static uint32_t grace_n;
static int (*next_munmap)(void *memory, size_t len);

void grace_set(const struct worker *workers, uint32_t n)
{
    if (next_munmap == NULL) /* the C library's, or a sanitizer's before it */
        *(void **)&next_munmap = dlsym(RTLD_NEXT, "munmap");
    __atomic_store_n(&grace_n, 0, __ATOMIC_RELEASE);
    grace_workers = workers;
    __atomic_store_n(&grace_n, n, __ATOMIC_RELEASE);
}

#ifndef __SANITIZE_THREAD__ /* which unmaps while it holds its own locks */
/* In place of the C library's, for this program and the libraries it loads. */
int munmap(void *addr, size_t len)
{
    uint32_t i, n = __atomic_load_n(&grace_n, __ATOMIC_ACQUIRE);

    if (!worker_here()) {
        for (i = 0; i < n; i++)
            worker_pass(&grace_workers[i]);
    }
    if (next_munmap != NULL)
        return next_munmap(addr, len);
    return (int)syscall(SYS_munmap, addr, len);
}
#endif
