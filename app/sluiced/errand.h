/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Errands: what another thread has control do, because only control may touch it. Control neither
 * waits nor locks: between two intervals it looks at one word, and does at most one errand.
 *
 * Invariant: work(arg) runs at most once, on the thread that serves, and not after errand_run() has
 * returned.
 */
#ifndef SLUICED_ERRAND_H
#define SLUICED_ERRAND_H

/* By control: from here on, and no more. After errands_close() every asker is refused. */
void errands_open(void);
void errands_close(void);
/* By control, once an interval. */
void errands_serve(void);

/* From any other thread; waits until work(arg) has been done. 0; -ESHUTDOWN: control does not serve
 * (yet, or no more); -ETIMEDOUT: it stands still. */
int errand_run(void (*work)(void *arg), void *arg);

#endif
