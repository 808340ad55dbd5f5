/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Closes descriptors that came from clients, or hold what clients sent. It does so in its own
 * threads, because a close() may block for any time (FUSE, a socket that lingers), and control must
 * not wait for it.
 *
 * Each user has its own closer with at most FD_CLOSER_THREADS threads, so a user's slow descriptors
 * hold up only that user. Each close() is made as short as possible: lingering is switched off on
 * sockets. Descriptors in unread messages are taken out one by one, so that each of them is treated
 * alike.
 *
 * A user whose closer is crowded has descriptors that do not close. It should get no new session,
 * and should send no more descriptors.
 */
#ifndef SLUICED_FD_CLOSER_H
#define SLUICED_FD_CLOSER_H

#include <stdbool.h>
#include <sys/types.h>

#define FD_CLOSER_THREADS 4u  /* per user */
#define FD_CLOSER_CROWD   64u /* waiting descriptors that make a closer crowded */

/* Closes fd soon, in a thread of the user's closer; never in the calling thread. */
void fd_closer_add(int fd, uid_t uid);
/* True if so many of the user's descriptors wait that no more should come. */
bool fd_closer_crowded(uid_t uid);
/* To be called now and then: starts threads that could not be started when they were needed, and
 * frees closers that have nothing to do. */
void fd_closer_tend(void);

#endif
