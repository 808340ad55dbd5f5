/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Direct I/O with several pieces under way at the same time, by io_uring. The kernel may forbid
 * io_uring (kernel.io_uring_disabled, seccomp of a container), and a build may be without liburing:
 * then a thread does one piece after the other.
 *
 * Owner: one thread of the storage.
 */
#ifndef SLUICE_COMMAND_RING_H
#define SLUICE_COMMAND_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "sluice/storage/storage.h"

#define RING_DEPTH 4

struct ring;

/* NULL: there is no io_uring; *err: why, a negative errno, -ENOSYS also for a build without it. */
struct ring *ring_open(int *err);
/* Nothing may be under way. r may be NULL. */
void ring_close(struct ring *r);
/* Begins to move `len` bytes of the piece by its file's direct_fd, as number `slot`, below
 * RING_DEPTH. 0 or a negative errno. */
int ring_submit(struct ring *r, uint32_t slot, const struct storage_file *f,
                const struct storage_piece *p, uint32_t len);
/* Waits until the slot is done. Returns bytes or a negative errno. */
int64_t ring_wait(struct ring *r, uint32_t slot);

#endif
