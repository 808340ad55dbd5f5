/* SPDX-License-Identifier: BSD-3-Clause */
/* See pools.h. */
#include "lab/pools.h"

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "common/buffer.h"
#include "path/fifo.h"

#define PAGE_BYTES 4096u
/* buffers beyond those of frames under way: in rings of hosts, with applications */
#define BESIDE     4191u
#define HEAD_BYTES (RTE_PKTMBUF_HEADROOM + 1024)

static uint32_t buffers(uint32_t frames)
{
    return frames + BESIDE;
}

/* Bytes of memory of a pool of n buffers. Without hugepages, DPDK lets no buffer that fits in a
 * page cross a page boundary, since a NIC could not read it. */
static uint64_t bytes_of(uint32_t n, uint32_t room)
{
    uint32_t one = rte_mempool_calc_obj_size(sizeof(struct rte_mbuf) + room, 0, NULL);

    if (one > PAGE_BYTES)
        return (uint64_t)n * RTE_ALIGN_CEIL(one, PAGE_BYTES);
    return ((uint64_t)n / (PAGE_BYTES / one) + 1) * PAGE_BYTES;
}

static uint32_t room_of(uint32_t frame_bytes)
{
    return RTE_PKTMBUF_HEADROOM + buffer_bytes(frame_bytes, 1);
}

uint64_t pools_bytes(uint32_t frames, uint32_t frame_bytes)
{
    uint32_t n = buffers(frames);

    return bytes_of(n, HEAD_BYTES) + bytes_of(n, 0) +
           bytes_of(n * buffer_parts(frame_bytes), room_of(frame_bytes));
}

uint32_t pools_frame_bytes(uint32_t frames, uint32_t frame_bytes)
{
    uint32_t usual = frames <= POOLS_FRAMES ? POOLS_FRAME_BYTES : 0;

    return RTE_MAX(usual, frame_bytes);
}

/* Each queue of a path has room for all frames, and there are at most two queues more than words in
 * the spec. */
uint64_t pools_path_bytes(const char *spec, uint32_t frames)
{
    uint64_t queues = 3;

    if (spec == NULL)
        return 0;
    for (; *spec != '\0'; spec++)
        queues += *spec == ' ';
    return queues * 2 * rte_align32pow2(frames) * sizeof(struct path_packet);
}

void pools_free(struct scenario_pools *p)
{
    rte_mempool_free(p->head);
    rte_mempool_free(p->attach);
    rte_mempool_free(p->wire);
    *p = (struct scenario_pools){0};
}

static struct rte_mempool *make(const char *name, uint32_t n, uint32_t room)
{
    return rte_pktmbuf_pool_create(name, n, 0, 0, (uint16_t)room, SOCKET_ID_ANY);
}

bool pools_want(struct scenario_pools *p, uint32_t frames, uint32_t frame_bytes)
{
    uint32_t n = buffers(frames);

    if (p->frames == frames && p->frame_bytes == frame_bytes)
        return true;
    pools_free(p);
    p->head = make("head", n, HEAD_BYTES);
    p->attach = make("attach", n, 0);
    p->wire = make("wire", n * buffer_parts(frame_bytes), room_of(frame_bytes));
    if (p->head == NULL || p->attach == NULL || p->wire == NULL) {
        pools_free(p);
        return false;
    }
    p->frames = frames;
    p->frame_bytes = frame_bytes;
    return true;
}
