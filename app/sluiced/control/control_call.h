/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls that control makes for other threads, because only control may touch some state. Control
 * neither waits nor locks: between two intervals it looks at one word, and makes at most one call.
 */
#ifndef SLUICED_CONTROL_CALL_H
#define SLUICED_CONTROL_CALL_H

/* Called by control, when it starts and stops serving calls. After control_calls_close() every call
 * is refused. */
void control_calls_open(void);
void control_calls_close(void);
/* Called by control once an interval. Makes the call that another thread waits for, if any. */
void control_calls_serve(void);

/* Any other thread may call this. Waits until control has done work(arg). Returns 0; -ESHUTDOWN:
 * control does not serve (yet, or no more); -ETIMEDOUT: control is stalled. */
int control_call(void (*work)(void *arg), void *arg);

#endif
