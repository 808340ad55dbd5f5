/* SPDX-License-Identifier: BSD-3-Clause */
/* Direct I/O with several pieces under way at the same time. See ring.h. */
#include "sluice/storage/ring.h"

#include <errno.h>
#include <stdlib.h>

#ifdef HAVE_LIBURING
#include <liburing.h>

#include "base/check.h"

struct ring {
    struct io_uring uring;
    bool broken; /* an entry could not be submitted, and must not be later */
    bool done[RING_DEPTH];
    int result[RING_DEPTH];
};

struct ring *ring_open(int *err)
{
    struct ring *r = calloc(1, sizeof *r);

    *err = r == NULL ? -ENOMEM : io_uring_queue_init(RING_DEPTH, &r->uring, 0);
    if (*err == 0)
        return r;
    free(r);
    return NULL;
}

void ring_close(struct ring *r)
{
    if (r == NULL)
        return;
    io_uring_queue_exit(&r->uring);
    free(r);
}

int ring_submit(struct ring *r, uint32_t slot, const struct storage_file *f,
                const struct storage_piece *p, uint32_t len)
{
    struct io_uring_sqe *e = r->broken ? NULL : io_uring_get_sqe(&r->uring);
    int n;

    if (e == NULL)
        return -EAGAIN;
    if (p->write)
        io_uring_prep_write(e, f->direct_fd, p->data, len, p->offset);
    else
        io_uring_prep_read(e, f->direct_fd, p->data, len, p->offset);
    io_uring_sqe_set_data64(e, slot);
    r->done[slot] = false;
    do
        n = io_uring_submit(&r->uring);
    while (n == -EINTR);
    r->broken = n < 0;
    return n < 0 ? n : 0;
}

int64_t ring_wait(struct ring *r, uint32_t slot)
{
    while (!r->done[slot]) {
        struct io_uring_cqe *c;
        int err = io_uring_wait_cqe(&r->uring, &c);

        if (err == -EINTR || err == -EAGAIN)
            continue;
        CHECK(err == 0); /* else the kernel would go on using the memory */
        r->done[c->user_data] = true;
        r->result[c->user_data] = c->res;
        io_uring_cqe_seen(&r->uring, c);
    }
    return r->result[slot];
}
#else
struct ring *ring_open(int *err)
{
    *err = -ENOSYS;
    return NULL;
}

void ring_close(struct ring *r)
{
    (void)r;
}

int ring_submit(struct ring *r, uint32_t slot, const struct storage_file *f,
                const struct storage_piece *p, uint32_t len)
{
    (void)r;
    (void)slot;
    (void)f;
    (void)p;
    (void)len;
    return -ENOSYS;
}

int64_t ring_wait(struct ring *r, uint32_t slot)
{
    (void)r;
    (void)slot;
    return -ENOSYS;
}
#endif
