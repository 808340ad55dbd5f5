/* SPDX-License-Identifier: BSD-3-Clause */
#include "path/fifo.h"

#include <errno.h>
#include <string.h>

#include <rte_malloc.h>

int fifo_init(struct fifo *f, uint32_t packets, struct store *store)
{
    uint32_t capacity = rte_align32pow2(packets);

    memset(f, 0, sizeof *f);
    f->mask = capacity - 1;
    f->store = store;
    f->ring = rte_malloc("path fifo", capacity * sizeof *f->ring, STORE_LINE);
    return f->ring == NULL ? -ENOMEM : 0;
}

void fifo_fini(struct fifo *f)
{
    while (f->ring != NULL && fifo_count(f) > 0) {
        const struct path_packet *p = &f->ring[f->tail++ & f->mask];

        store_free(f->store, p->m, p->len);
    }
    rte_free(f->ring);
    f->ring = NULL;
}
