/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/grace.h"

#include <dlfcn.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static void (*grace_wait)(void *ctx);
static void *grace_ctx;
static __thread bool in_loop;
static int (*next_munmap)(void *memory, size_t len);

void grace_set(void (*wait)(void *ctx), void *ctx)
{
    if (next_munmap == NULL) /* the C library's munmap(), or a sanitizer's in front of it */
        *(void **)&next_munmap = dlsym(RTLD_NEXT, "munmap");
    __atomic_store_n(&grace_wait, NULL, __ATOMIC_RELEASE);
    grace_ctx = ctx;
    __atomic_store_n(&grace_wait, wait, __ATOMIC_RELEASE);
}

void grace_loop(bool is)
{
    in_loop = is;
}

#ifndef __SANITIZE_THREAD__ /* ThreadSanitizer unmaps while it holds its own locks */
/* Replaces the C library's munmap() for this program and the libraries it loads. */
int munmap(void *addr, size_t len)
{
    void (*wait)(void *ctx) = __atomic_load_n(&grace_wait, __ATOMIC_ACQUIRE);

    if (wait != NULL && !in_loop)
        wait(grace_ctx);
    if (next_munmap != NULL)
        return next_munmap(addr, len);
    return (int)syscall(SYS_munmap, addr, len);
}
#endif
