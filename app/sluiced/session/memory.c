/* SPDX-License-Identifier: BSD-3-Clause */
/* See memory.h. The IOVA of registered memory is its virtual address (RTE_IOVA_VA). */
/* rte_dev_dma_map() was experimental before it became stable, unchanged. */
#define ALLOW_EXPERIMENTAL_API
#include "sluiced/session/memory.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_memory.h>

#include "sluiced/port/port.h"

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static uint64_t page_round(uint64_t len_bytes)
{
    return RTE_ALIGN_CEIL(len_bytes, (uint64_t)page_bytes());
}

bool memory_dma_works(struct rte_device *device)
{
    size_t len = page_bytes();
    void *page =
        mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    bool works = false;

    if (page == MAP_FAILED)
        return false;
    if (rte_extmem_register(page, len, NULL, 0, len) == 0) {
        if (rte_dev_dma_map(device, page, (uintptr_t)page, len) == 0)
            works = rte_dev_dma_unmap(device, page, (uintptr_t)page, len) == 0;
        rte_extmem_unregister(page, len);
    }
    munmap(page, len);
    return works;
}

static bool any_dma(const struct port *ports, uint32_t n)
{
    uint32_t i;

    for (i = 0; i < n; i++) {
        if (ports[i].dma)
            return true;
    }
    return false;
}

static void unmap_first(struct port *ports, uint32_t n, void *memory, uint64_t len)
{
    while (n-- > 0) {
        if (ports[n].dma)
            rte_dev_dma_unmap(ports[n].device, memory, (uintptr_t)memory, len);
    }
}

int memory_map(struct port *ports, uint32_t n, void *memory, uint64_t len_bytes)
{
    uint64_t len = page_round(len_bytes);
    uint32_t i;

    if (!any_dma(ports, n))
        return 0;
    if (rte_extmem_register(memory, len, NULL, 0, page_bytes()) != 0)
        return -rte_errno;
    for (i = 0; i < n; i++) {
        if (ports[i].dma && rte_dev_dma_map(ports[i].device, memory, (uintptr_t)memory, len) != 0) {
            int error = rte_errno != 0 ? rte_errno : EIO;

            unmap_first(ports, i, memory, len);
            rte_extmem_unregister(memory, len);
            return -error;
        }
    }
    return 0;
}

void memory_unmap(struct port *ports, uint32_t n, void *memory, uint64_t len_bytes)
{
    uint64_t len = page_round(len_bytes);

    if (!any_dma(ports, n))
        return;
    unmap_first(ports, n, memory, len);
    rte_extmem_unregister(memory, len);
}
