/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes the latest events when the daemon dies of a fatal signal; a broken invariant raises
 * SIGABRT, which is one. The events come from the rings of lib/host/trace.h: all go to a file, the
 * latest CRASH_SAID of each ring to standard error. Then the signal has its default effect, with a
 * core dump.
 */
#ifndef SLUICED_CRASH_H
#define SLUICED_CRASH_H

#include <stdint.h>

#include "host/trace.h"

#define CRASH_SAID 32u

/* Adds a ring. Its name ("net_memif0/0") is copied. Rings beyond 160 are left out. */
void crash_add(const char *name, const struct trace *t);
/* Catches fatal signals from here on. Only a crash writes the file at `path` (mode 0600). hz: of
 * the TSC. */
void crash_start(const char *path, uint64_t hz);
/* Catches fatal signals no more, and forgets the rings. To be called before the rings are freed. */
void crash_stop(void);

#endif
