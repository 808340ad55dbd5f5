/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The packet buffers of a world: headers of packets, attached application memory, and whole frames,
 * as many of each as the world's frames can need. A process has one set. A world that needs another
 * set gets new pools, so that a result does not depend on the worlds before.
 */
#ifndef LAB_POOLS_H
#define LAB_POOLS_H

#include <stdbool.h>
#include <stdint.h>

#define POOLS_FRAMES      4000u    /* frames under way, unless a world asks for more */
#define POOLS_FRAMES_MAX  4000000u /* the most that a world may ask for */
#define POOLS_FRAME_BYTES 16640u   /* of a frame, unless a host's mtu asks for more */
#define POOLS_OVER_MTU    128u     /* headers in front of IP, with some bytes to spare */

struct rte_mempool;

struct scenario_pools {
    struct rte_mempool *head, *attach, *wire;
    uint32_t frames, frame_bytes;
};

/* The memory that a run takes. used_bytes: what buffers, hosts and requests use at most.
 * reserved_bytes: what the EAL must have, which includes room for all frames in each path, although
 * a frame is in only one path at a time. */
struct scenario_memory {
    uint64_t used_bytes, reserved_bytes;
};

/* Makes pools for so many frames of so many bytes under way, unless the present pools are such. All
 * buffers of the present pools must be back. False: there is no memory, and no pools are left. */
bool pools_want(struct scenario_pools *p, uint32_t frames, uint32_t frame_bytes);
void pools_free(struct scenario_pools *p);
/* Bytes of memory that pools for so many frames of so many bytes take. */
uint64_t pools_bytes(uint32_t frames, uint32_t frame_bytes);
/* What frames of frame_bytes are given. Runs of usual frames share one set of pools. With more
 * frames than usual, its buffers would take memory that no frame fills. */
uint32_t pools_frame_bytes(uint32_t frames, uint32_t frame_bytes);
/* Bytes of memory that the EAL must have for a path (NULL: none) that so many frames may be in. */
uint64_t pools_path_bytes(const char *spec, uint32_t frames);

#endif
