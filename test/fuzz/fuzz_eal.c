/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuzz_eal.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>

#include "base/check.h"

#define ALIGN_BYTES 64u

void *__wrap_rte_malloc(const char *type, size_t size, unsigned int align);
void *__wrap_rte_zmalloc(const char *type, size_t size, unsigned int align);
void __wrap_rte_free(void *p);

void *__wrap_rte_malloc(const char *type, size_t size, unsigned int align)
{
    void *p = NULL;

    CHECK(posix_memalign(&p, align > ALIGN_BYTES ? align : ALIGN_BYTES, size) == 0);
    return p;
}

void *__wrap_rte_zmalloc(const char *type, size_t size, unsigned int align)
{
    return memset(__wrap_rte_malloc(type, size, align), 0, size);
}

void __wrap_rte_free(void *p)
{
    free(p);
}

void fuzz_eal_start(void)
{
    static bool started;
    const char *args[] = {"fuzz",     "--no-huge", "--no-shconf",    "--no-pci",    "-m",   "64",
                          "--lcores", "0",         "--no-telemetry", "--log-level", "error"};
    cpu_set_t cores;

    if (started)
        return;
    started = true;
    CHECK(sched_getaffinity(0, sizeof cores, &cores) == 0);
    CHECK(rte_eal_init(RTE_DIM(args), (char **)(uintptr_t)args) >= 0);
    sched_setaffinity(0, sizeof cores, &cores); /* EAL has pinned this thread to one core */
}

struct rte_mempool *fuzz_pool(const char *name, uint32_t n, uint16_t room)
{
    struct rte_mempool *pool;

    fuzz_eal_start();
    pool = rte_pktmbuf_pool_create(name, n, 0, 0, room, SOCKET_ID_ANY);
    CHECK(pool != NULL);
    return pool;
}

void fuzz_pool_check(const struct rte_mempool *pool)
{
    CHECK(rte_mempool_avail_count(pool) == pool->size);
}

static void frame_free(void *frame, void *info)
{
    free(info);
}

struct rte_mbuf *fuzz_mbuf(struct rte_mempool *pool, const uint8_t *frame, uint16_t len)
{
    struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
    struct rte_mbuf_ext_shared_info *info;
    uint8_t *memory;

    if (m == NULL)
        return NULL;
    memory = malloc(sizeof *info + len);
    CHECK(memory != NULL);
    info = (struct rte_mbuf_ext_shared_info *)memory;
    info->free_cb = frame_free;
    info->fcb_opaque = memory;
    rte_mbuf_ext_refcnt_set(info, 1);
    if (len > 0)
        memcpy(memory + sizeof *info, frame, len);
    rte_pktmbuf_attach_extbuf(m, memory + sizeof *info, RTE_BAD_IOVA, len, info);
    m->data_off = 0;
    m->data_len = len;
    m->pkt_len = len;
    return m;
}
