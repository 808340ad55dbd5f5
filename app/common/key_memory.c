/* SPDX-License-Identifier: BSD-3-Clause */
/* See key_memory.h. */
#include "common/key_memory.h"

#include <errno.h>
#include <sys/mman.h>

#include <rte_errno.h>
#include <rte_memory.h>

#include "crypto/secret.h"

void *key_memory_new(size_t len_bytes)
{
    void *p = mmap(NULL, len_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED)
        return NULL;
    if (madvise(p, len_bytes, MADV_DONTDUMP) != 0) {
        munmap(p, len_bytes);
        return NULL;
    }
    (void)mlock(p, len_bytes); /* a low limit of locked memory is no reason not to start */
    return p;
}

void key_memory_free(void *p, size_t len_bytes)
{
    if (p == NULL)
        return;
    secret_wipe(p, len_bytes);
    munmap(p, len_bytes);
}

/* Applications' memory, which is external, is theirs, and has no keys. */
static int area_hide(const struct rte_memseg_list *list, const struct rte_memseg *first, size_t len,
                     void *arg)
{
    return list->external || madvise(first->addr, len, MADV_DONTDUMP) == 0 ? 0 : -errno;
}

static void segment_hide(enum rte_mem_event event, const void *addr, size_t len, void *arg)
{
    if (event == RTE_MEM_EVENT_ALLOC)
        (void)madvise((void *)(uintptr_t)addr, len, MADV_DONTDUMP);
}

int key_memory_hide_eal(void)
{
    /* an EAL without hugepages has all of its memory from the start, and no such events */
    if (rte_mem_event_callback_register("keys", segment_hide, NULL) != 0 && rte_errno != ENOTSUP)
        return -rte_errno;
    return rte_memseg_contig_walk(area_hide, NULL);
}
