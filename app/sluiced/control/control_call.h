/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls that another thread has control make, because only control may touch it. Control neither
 * waits nor locks: between two intervals it looks at one word, and does at most one call.
 *
 * Invariant: work(arg) runs at most once, on the thread that serves, and not after control_call()
 * has returned.
 */
#ifndef SLUICED_CONTROL_CALL_H
#define SLUICED_CONTROL_CALL_H

/* By control: from here on, and no more. After control_calls_close() every asker is refused. */
void control_calls_open(void);
void control_calls_close(void);
/* By control, once an interval. */
void control_calls_serve(void);

/* From any other thread; waits until work(arg) has been done. 0; -ESHUTDOWN: control does not serve
 * (yet, or no more); -ETIMEDOUT: it stands still. */
int control_call(void (*work)(void *arg), void *arg);

#endif
