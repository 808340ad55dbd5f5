/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which local users may accept on a service, and open connections to a peer: the rules of [service
 * N] and [peer NAME] `users`, apart from all else in the configuration. Which services a peer may
 * connect to is decided by the host that hears it (host/security.c).
 *
 * A struct access never changes once workers have it. Control makes a new one at a reload, and
 * frees the old one when no worker reads it any more (session_access.c).
 */
#ifndef SLUICED_ACCESS_H
#define SLUICED_ACCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sluiced/config/config.h"

struct access {
    uint32_t n_services, n_peers;
    struct config_service services[CONFIG_SERVICE_SECTIONS_MAX];
    struct config_peer peers[CONFIG_PEERS_MAX];
};

/* A local user, as it was when its process connected to the daemon. */
struct access_user {
    bool all; /* root, or the user that runs the daemon: may do everything, and sees everything */
    uid_t uid;
    uint32_t n_groups;
    const gid_t *groups; /* ascending */
};

/* The rules of a configuration, to free(). NULL: no memory. */
struct access *access_make(const struct config *c);

/* Does the list name the user? Without a list, every user may. */
bool access_allows(const struct config_users *users, const struct access_user *u);
/* The section that says which users may accept on the service; NULL: there is none, and every user
 * may. a may be NULL: there are no rules. */
const struct config_service *access_service(const struct access *a, uint32_t service);
/* The section that the address belongs to; NULL: none. It is the first with a public key whose
 * network contains the address, else the first whose network does. a may be NULL. */
const struct config_peer *access_peer(const struct access *a, const struct addr *address);

/* May the user open connections to the address? */
bool access_may_connect(const struct access *a, const struct access_user *u,
                        const struct addr *address);

/* The groups of the process at the other end of a unix socket, for struct access_user: *n of them,
 * to free(). gid: its primary group. NULL: no memory. */
gid_t *access_groups(int fd, gid_t gid, uint32_t *n);

#endif
