/* SPDX-License-Identifier: BSD-3-Clause */
#include "assoc/mail.h"

#include <errno.h>
#include <stdio.h>

#include <rte_ring_elem.h>

#define FLAGS (RING_F_SP_ENQ | RING_F_SC_DEQ | RING_F_EXACT_SZ)

_Static_assert(sizeof(struct mail) % 4 == 0, "an element of a ring has whole words");

static struct rte_ring *ring_create(const char *name, const char *direction)
{
    char whole[RTE_RING_NAMESIZE];

    snprintf(whole, sizeof whole, "%s%s", name, direction);
    return rte_ring_create_elem(whole, sizeof(struct mail), MAIL_MESSAGES, SOCKET_ID_ANY, FLAGS);
}

int mailbox_init(struct mailbox *b, const char *name)
{
    *b = (struct mailbox){ring_create(name, "-up"), ring_create(name, "-down")};
    if (b->up != NULL && b->down != NULL)
        return 0;
    mailbox_fini(b);
    return -ENOMEM;
}

void mailbox_fini(struct mailbox *b)
{
    rte_ring_free(b->up);
    rte_ring_free(b->down);
    *b = (struct mailbox){0};
}

bool mail_put(struct rte_ring *ring, const struct mail *m)
{
    return rte_ring_sp_enqueue_elem(ring, (void *)(uintptr_t)m, sizeof *m) == 0;
}

bool mail_get(struct rte_ring *ring, struct mail *m)
{
    return rte_ring_sc_dequeue_elem(ring, m, sizeof *m) == 0;
}

uint32_t mail_room(const struct rte_ring *ring)
{
    return rte_ring_free_count(ring);
}

bool mail_waits(const struct rte_ring *ring)
{
    return !rte_ring_empty(ring);
}
