/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a daemon says as it dies of a fatal signal (a broken invariant aborts, too): what happened
 * lately, from the rings of lib/host/trace.h. All of it goes to a file, the latest CRASH_SAID
 * events of each ring to standard error. Then the signal takes its course, and leaves its core.
 */
#ifndef SLUICED_CRASH_H
#define SLUICED_CRASH_H

#include <stdint.h>

#include "host/trace.h"

#define CRASH_SAID 32u

/* A ring of this name ("net_memif0/0"), which is copied. Those beyond 160 are left out. */
void crash_add(const char *name, const struct trace *t);
/* From here on; the file at `path` is written (mode 0600) only by a crash. hz: of the TSC. */
void crash_start(const char *path, uint64_t hz);
/* Before the rings go. */
void crash_stop(void);

#endif
