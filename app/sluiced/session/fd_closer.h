/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Descriptors that came from clients, or hold what clients sent, are closed in threads apart from
 * control: a close() may take any time (FUSE, a socket that lingers).
 *
 * Each user has a closer of its own, with at most FD_CLOSER_THREADS threads: what one user's
 * descriptors hold up is that user's. What can be done to make close() short is done: sockets do
 * not linger, and messages that nobody has read give up their descriptors one by one, so that each
 * of these is looked at, too.
 *
 * A user whose closer is crowded has descriptors that will not close: it should get no new session,
 * and send no more of them.
 */
#ifndef SLUICED_FD_CLOSER_H
#define SLUICED_FD_CLOSER_H

#include <stdbool.h>
#include <sys/types.h>

#define FD_CLOSER_THREADS 4u  /* of each user */
#define FD_CLOSER_CROWD   64u /* descriptors that wait */

/* Closes fd soon, at the expense of the user; never in the calling thread. */
void fd_closer_add(int fd, uid_t uid);
/* So much of the user's waits that no more should come. */
bool fd_closer_crowded(uid_t uid);
/* Now and then: starts threads that could not be started when they were needed, and forgets users
 * of which nothing waits. */
void fd_closer_tend(void);

#endif
