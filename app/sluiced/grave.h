/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Descriptors that came from clients, or hold what clients sent, are closed apart from control:
 * close() may wait for as long as whoever made them likes (SO_LINGER, FUSE).
 *
 * A few threads do it; what they cannot take yet waits. A daemon whose grave is crowded should take
 * no new clients.
 */
#ifndef SLUICED_GRAVE_H
#define SLUICED_GRAVE_H

#include <stdbool.h>

/* Closes fd soon. */
void grave_bury(int fd);
/* So much waits that no more should come. */
bool grave_crowded(void);

#endif
