/* SPDX-License-Identifier: BSD-3-Clause */
/* See access.h. */
#include "sluiced/session/access.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct access *access_make(const struct config *c)
{
    struct access *a = calloc(1, sizeof *a);

    if (a == NULL)
        return NULL;
    a->n_services = c->n_services;
    memcpy(a->services, c->services, sizeof a->services);
    a->n_peers = c->n_peers;
    memcpy(a->peers, c->peers, sizeof a->peers);
    return a;
}

static int group_order(const void *a, const void *b)
{
    const gid_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

bool access_allows(const struct config_users *users, const struct access_user *u)
{
    if (users->n == 0 || u->all)
        return true;
    for (uint32_t i = 0; i < users->n; i++) {
        gid_t group = users->at[i].id;

        if (users->at[i].group ? u->n_groups > 0 && bsearch(&group, u->groups, u->n_groups,
                                                            sizeof group, group_order) != NULL
                               : users->at[i].id == u->uid)
            return true;
    }
    return false;
}

const struct config_service *access_service(const struct access *a, uint32_t service)
{
    const struct config_service *others = NULL;

    for (uint32_t i = 0; a != NULL && i < a->n_services; i++) {
        if (a->services[i].number == service)
            return &a->services[i];
        if (a->services[i].number == 0)
            others = &a->services[i];
    }
    return others;
}

static bool peer_has(const struct config_peer *p, const struct addr *address)
{
    for (int f = 0; f < 2; f++)
        if (!addr_is_unset(&p->address[f].addr) &&
            addr_same_prefix(&p->address[f].addr, address, p->address[f].len))
            return true;
    return false;
}

const struct config_peer *access_peer(const struct access *a, const struct addr *address)
{
    const struct config_peer *plain = NULL;

    for (uint32_t i = 0; a != NULL && i < a->n_peers; i++) {
        const struct config_peer *p = &a->peers[i];

        if (!peer_has(p, address))
            continue;
        if (config_peer_secured(p))
            return p;
        if (plain == NULL)
            plain = p;
    }
    return plain;
}

bool access_may_connect(const struct access *a, const struct access_user *u,
                        const struct addr *address)
{
    const struct config_peer *section = access_peer(a, address);

    return section == NULL || access_allows(&section->users, u);
}

gid_t *access_groups(int fd, gid_t gid, uint32_t *n)
{
    socklen_t len = 0;
    gid_t *groups, none;

    /* The kernel says how long the list is. One that cannot tell gives none: then only the primary
     * group counts. */
    getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, &none, &len);
    groups = malloc(len + sizeof *groups);
    if (groups == NULL)
        return NULL;
    if (len == 0 || getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len) != 0)
        len = 0;
    *n = (uint32_t)(len / sizeof *groups);
    groups[(*n)++] = gid;
    qsort(groups, *n, sizeof *groups, group_order);
    return groups;
}
