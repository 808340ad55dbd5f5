/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pieces of large files, hashed and written behind the thread that serves senders.
 *
 * Invariant: the pieces that are being written belong to in->part, and only pieces come behind
 * them. Any other record waits until they are written: so END_FILE finds the whole file hashed, an
 * error is that of the right file, and the results keep their order.
 */
#include "sluice/transfer/incoming.h"

#include <errno.h>
#include <unistd.h>

#include "console/text.h"
#include "sluice/say.h"

/* A piece alone would be waited for at once. */
static bool behind_pays(const struct incoming *in)
{
    const struct record *offer = &in->part.offer;
    bool several = (offer->flags & RECORD_SIZE_UNKNOWN) != 0 || offer->size > RECORD_DATA_MAX;

    return in->storage != NULL && in->part.fd >= 0 && several;
}

/* Says once that a file is not written directly. */
static void behind_refused(struct incoming *in)
{
    char safe[512];

    if (!in->refused && !in->quiet)
        say_note("%s: its file system has no direct I/O: written through the page cache",
                 text_safe(safe, sizeof safe, in->name));
    in->refused = true;
}

void incoming_behind_begin(struct incoming *in)
{
    int fd = in->direct && behind_pays(in) ? storage_direct(in->part.fd, true) : -1;

    if (fd == -EINVAL)
        behind_refused(in);
    storage_begin(&in->behind, in->part.fd, fd < 0 ? -1 : fd, in->part.digest);
    in->behind_bytes = 0;
}

void incoming_behind_end(struct incoming *in)
{
    if (storage_refused(&in->behind))
        behind_refused(in);
    if (in->behind.direct_fd >= 0)
        close(in->behind.direct_fd);
    storage_begin(&in->behind, -1, -1, NULL);
    in->behind_bytes = 0;
}

bool incoming_behind_takes(const struct incoming *in, const struct record *r)
{
    const struct incoming *from = in->streams.reading;

    return r->type == RECORD_DATA && behind_pays(in) && r->len_bytes >= STORAGE_PIECE_MIN &&
           !from->pieces[from->buffer[from->head]].busy;
}

enum record_code incoming_behind_write(struct incoming *in, const uint8_t *data, uint32_t len_bytes)
{
    struct incoming *from = in->streams.reading;
    struct storage_piece *p = &from->pieces[from->buffer[from->head]];
    uint64_t offset = in->part.at_bytes;
    enum record_code code = part_file_pass(&in->part, len_bytes);

    if (code != RECORD_OK)
        return code;
    *p = (struct storage_piece){.file = &in->behind,
                                .owner = in,
                                .data = (uint8_t *)(uintptr_t)data,
                                .offset = offset,
                                .len_bytes = len_bytes,
                                .write = true};
    if (storage_put(in->storage, p) == 0) {
        in->behind_bytes += len_bytes;
        return RECORD_OK;
    }
    in->storage = NULL; /* without threads, all is written here */
    in->part.at_bytes = offset;
    return part_file_write(&in->part, data, len_bytes);
}

void incoming_behind_cancel(struct incoming *in)
{
    storage_cancel(in->storage, &in->behind);
    in->part.at_bytes -= in->behind_bytes - in->behind.done_bytes;
    incoming_behind_end(in);
}
