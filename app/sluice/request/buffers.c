/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory for requests that are on the way. See buffers.h. */
#include "sluice/request/buffers.h"

#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "sluice/request/pack.h"

void buffers_init(struct buffers *b, struct sluice *session, uint32_t most)
{
    CHECK(most > 0 && most <= BUFFERS_MAX);
    memset(b, 0, sizeof *b);
    b->session = session;
    b->most = most;
}

int buffers_grow(struct buffers *b)
{
    uint32_t more = b->n == 0 ? 1 : b->n, i;
    uint8_t *memory;

    if (b->n >= b->most)
        return 0;
    if (more > b->most - b->n)
        more = b->most - b->n;
    memory = sluice_alloc(b->session, (uint64_t)more * PACK_BYTES);
    if (memory == NULL) {
        int err = -errno;

        if (b->n > 0)
            b->most = b->n;
        return err;
    }
    for (i = 0; i < more; i++) {
        b->at[b->n] = memory + (uint64_t)i * PACK_BYTES;
        buffers_give(b, b->n++);
    }
    return 0;
}

int buffers_take(struct buffers *b)
{
    return b->n_free > 0 ? b->free[--b->n_free] : -1;
}

void buffers_give(struct buffers *b, uint32_t i)
{
    CHECK(b->n_free < BUFFERS_MAX && i < BUFFERS_MAX);
    b->free[b->n_free++] = (uint8_t)i;
}

void buffers_give_all(struct buffers *b)
{
    b->n_free = 0;
    while (b->n_free < b->n)
        buffers_give(b, b->n - 1 - b->n_free);
}
