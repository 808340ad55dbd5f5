/* SPDX-License-Identifier: BSD-3-Clause */
/* Whole messages over two pipes. See talk.h. */
#include "sluice/cp/talk.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "sluice/loop.h"

void talk_init(struct talk *t, int in_fd, int out_fd)
{
    memset(t, 0, sizeof *t);
    t->in_fd = in_fd;
    t->out_fd = out_fd;
}

void talk_close(struct talk *t)
{
    if (t->in_fd >= 0)
        close(t->in_fd);
    if (t->out_fd >= 0)
        close(t->out_fd);
    t->in_fd = t->out_fd = -1;
    t->end = true;
}

void talk_read(struct talk *t)
{
    ssize_t n;

    memmove(t->in, t->in + t->used, t->len - t->used);
    t->len -= t->used;
    t->used = 0;
    n = read(t->in_fd, t->in + t->len, sizeof t->in - t->len);
    if (n > 0)
        t->len += (size_t)n;
    else if (n == 0 || (errno != EINTR && errno != EAGAIN))
        t->end = true;
}

int talk_next(struct talk *t, struct message *m)
{
    int n = message_decode(m, t->in + t->used, t->len - t->used, &t->version, &t->why);

    if (n <= 0)
        return n;
    t->used += (size_t)n;
    return 1;
}

int talk_write(struct talk *t, enum message_type type, const void *data, size_t len)
{
    uint8_t bytes[MESSAGE_BYTES_MAX];
    size_t size = message_encode(
        bytes, &(struct message){.type = (uint8_t)type, .len_bytes = (uint16_t)len, .data = data});
    size_t at = 0;

    while (at < size) {
        ssize_t n = write(t->out_fd, bytes + at, size - at);

        if (n >= 0)
            at += (size_t)n;
        else if (errno != EINTR || loop_code() != 0)
            return -errno;
    }
    return 0;
}
