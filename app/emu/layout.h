/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The division of work in the box: how many queues its ports have, how many paths a direction has,
 * and which worker runs which path. A direction has one path for all queues, or one for each queue.
 * Pure arithmetic, without ports and lcores.
 *
 * Invariant: each path has one worker. The numbers of paths that two workers have differ by at most
 * one. Where the workers allow it, the two directions of a queue have different ones.
 */
#ifndef EMU_LAYOUT_H
#define EMU_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#define LAYOUT_QUEUES_MAX 32u

struct layout {
    uint16_t queues;   /* of each port */
    uint16_t paths[2]; /* of each direction: 1, or as many as queues */
    uint16_t workers;  /* that have a path, at most as many as there are */
};

/* asked: queues that the operator wants; 0: as many as both ports should have (usual[i]), at most
 * LAYOUT_QUEUES_MAX. divided[i]: direction i has a path for each queue. workers: how many there
 * are. */
void layout_make(struct layout *l, uint16_t asked, const uint16_t usual[2], const bool divided[2],
                 uint16_t workers);
/* The worker, from 0, that runs a path of a direction. */
uint16_t layout_worker(const struct layout *l, unsigned int direction, uint16_t path);

#endif
