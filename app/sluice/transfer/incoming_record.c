/* SPDX-License-Identifier: BSD-3-Clause */
/* Carries out each record of a sender. Order and numbers are checked here, fields in record.c. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sluice/files/name.h"
#include "sluice/loop.h"
#include "sluice/report/json_lines.h"
#include "sluice/say.h"
#include "sluice/transfer/incoming.h"

#define HASHES_AT_ONCE 8 /* chunks read before other senders have their turn */

int incoming_refuse(struct incoming *in, enum record_code code)
{
    in->skipping = true;
    in->telling = false;
    incoming_behind_cancel(in);
    part_file_discard(&in->part);
    return incoming_result(in, code, 0);
}

/* Copies a name, and checks it. In a sync, the directory "." is the target itself, which is called
 * "" here. */
static enum record_code incoming_name(struct incoming *in, const struct record *r,
                                      const uint8_t *data, uint32_t len)
{
    bool directory =
        r->type == RECORD_DIR || (r->type == RECORD_NAME && (r->flags & RECORD_BEGIN) != 0);
    bool top = in->sync.options != NULL && directory && len == 1 && data[0] == '.';
    const char *why = top ? NULL : name_check((const char *)data, len);

    memcpy(in->name, data, len);
    in->name[top ? 0 : len] = 0;
    in->part.why[0] = 0;
    if (why == NULL && in->copy != NULL && !copy_asked(in->copy, in->name, directory))
        why = "it was not asked for";
    if (why == NULL && !incoming_sync_takes(in, directory))
        why = "it is excluded here";
    if (why == NULL)
        return RECORD_OK;
    snprintf(in->part.why, sizeof in->part.why, "%s", why);
    return RECORD_BAD_NAME;
}

static int incoming_offer(struct incoming *in, const struct record *r, const uint8_t *data)
{
    enum record_code code = incoming_name(in, r, data, r->len_bytes);

    in->file = r->file;
    in->in_file = true;
    in->skipping = false;
    if (code == RECORD_OK && in->sync.options != NULL && incoming_sync_named(in, false) < 0)
        return -ENOMEM;
    if (code == RECORD_OK)
        code = part_file_open(&in->part, in->destination, in->name, r);
    incoming_behind_begin(in);
    in->telling = code == RECORD_OK && (r->flags & RECORD_RESUME) != 0;
    return code == RECORD_OK ? 0 : incoming_refuse(in, code);
}

/* Lists a file that is in its place. */
static void incoming_there(struct incoming *in, const struct record *r, const uint8_t *hash)
{
    if (in->destination->checksum)
        writer_file(in->manifest, incoming_listed(in), hash, r->size);
    else
        writer_there(in->manifest, incoming_listed(in), in->destination->dir_fd);
}

/* Answers what there is of a file. A name that will be refused has nothing. */
static int incoming_ask(struct incoming *in, const struct record *r, const uint8_t *data)
{
    struct record answer = {.type = RECORD_ANSWER, .file = r->file};
    uint32_t skip = (r->flags & RECORD_HASHED) != 0 ? RECORD_HASH_BYTES : 0;
    const uint8_t *hash = skip > 0 ? data : NULL;
    bool whole = false, named;
    int fd = -1;

    in->asked = r->file;
    named = incoming_name(in, r, data + skip, r->len_bytes - skip) == RECORD_OK;
    if (named)
        answer.size = part_file_ask(&in->part, in->destination, in->name, r, hash, &whole, &fd);
    if (fd >= 0 && basis_open(&in->basis, fd, r->file) == 0)
        answer.flags = RECORD_LISTED;
    if (named && in->sync.options != NULL && incoming_sync_asked(in, r, whole) < 0)
        return -ENOMEM;
    if (whole)
        incoming_there(in, r, hash);
    if (whole)
        answer.flags = RECORD_WHOLE;
    in->summary.there_files += whole;
    in->summary.there_bytes += whole ? r->size : 0;
    return result_queue_put(&in->results, &answer, NULL);
}

static int incoming_tell_blocks(struct incoming *in, uint64_t *bytes)
{
    uint8_t data[RECORD_BLOCKS_MAX * RECORD_BLOCK_BYTES];
    struct record blocks;

    *bytes = basis_tell(&in->basis, &blocks, data);
    return result_queue_put(&in->results, &blocks, data);
}

static int incoming_tell_hashes(struct incoming *in, uint64_t *bytes)
{
    uint8_t hashes[HASHES_AT_ONCE * RECORD_HASH_BYTES];
    struct record have = {.type = RECORD_HAVE, .file = in->file};
    uint32_t n = part_file_hash(&in->part, hashes, HASHES_AT_ONCE, &have.offset);

    in->telling = !part_file_hashed(&in->part);
    if (n == 0 && in->telling)
        return 0; /* the sender is to compare first */
    have.len_bytes = n * RECORD_HASH_BYTES;
    have.flags = in->telling ? 0 : RECORD_LAST;
    *bytes = RECORD_HEADER_BYTES + (uint64_t)n * RECORD_CHUNK_BYTES;
    return result_queue_put(&in->results, &have, hashes);
}

int incoming_tell(struct incoming *in, uint64_t *bytes)
{
    *bytes = 0;
    if (result_queue_many(&in->results))
        return 0;
    if (basis_is_open(&in->basis))
        return incoming_tell_blocks(in, bytes);
    return in->telling ? incoming_tell_hashes(in, bytes) : 0;
}

static int incoming_directory(struct incoming *in, const struct record *r, const uint8_t *data)
{
    enum record_code code = incoming_name(in, r, data, r->len_bytes);

    in->file = r->file;
    if (code == RECORD_OK && in->sync.options != NULL)
        return incoming_sync_directory(in, r);
    if (code == RECORD_OK)
        code = part_file_directory(&in->part, in->destination, in->name, r);
    return incoming_result(in, code, 0);
}

/* A symbolic link. */
static int incoming_link(struct incoming *in, const struct record *r, const uint8_t *data,
                         const char **why)
{
    const uint8_t *end = memchr(data, 0, r->len_bytes);
    char target[RECORD_TARGET_MAX + 1];
    enum record_code code;
    size_t len;

    *why = "a link without a name, or without a target";
    if (end == NULL || end == data || end - data > RECORD_NAME_MAX)
        return -EPROTO;
    len = r->len_bytes - (size_t)(end + 1 - data);
    if (len == 0 || len > RECORD_TARGET_MAX || memchr(end + 1, 0, len) != NULL)
        return -EPROTO;
    memcpy(target, end + 1, len);
    target[len] = 0;
    *why = "no memory";
    in->file = r->file;
    code = incoming_name(in, r, data, (uint32_t)(end - data));
    return code == RECORD_OK ? incoming_sync_link(in, r, target) : incoming_result(in, code, 0);
}

/* A further name of a file that came before. */
static int incoming_hard(struct incoming *in, const struct record *r, const uint8_t *data)
{
    enum record_code code = incoming_name(in, r, data, r->len_bytes);

    in->file = r->file;
    return code == RECORD_OK ? incoming_sync_hard(in, r) : incoming_result(in, code, 0);
}

/* What has this name here stays, though it is not sent. */
static int incoming_named(struct incoming *in, const struct record *r, const uint8_t *data)
{
    if (incoming_name(in, r, data, r->len_bytes) != RECORD_OK)
        return 0;
    return incoming_sync_named(in, (r->flags & RECORD_BEGIN) != 0);
}

static int incoming_content(struct incoming *in, const struct record *r, const uint8_t *data,
                            const char **why)
{
    bool unknown = (in->part.offer.flags & RECORD_SIZE_UNKNOWN) != 0;
    enum record_code code;

    if (in->skipping)
        return 0;
    *why = "a piece does not begin where the previous one ended";
    if (r->offset != in->part.at_bytes)
        return -EPROTO;
    *why = "a hole in a stream";
    if (unknown && r->type == RECORD_HOLE)
        return -EPROTO;
    *why = "a hole in a file without holes";
    if ((in->part.offer.flags & RECORD_SOLID) != 0 && r->type == RECORD_HOLE)
        return -EPROTO;
    *why = "chunks are kept that the receiver has not named";
    if (r->type == RECORD_KEEP && r->offset + r->size > in->part.hashed_bytes)
        return -EPROTO;
    *why = "a copy of a file that nothing was to be copied from";
    if (r->type == RECORD_COPY && (in->part.offer.flags & RECORD_COPIES) == 0)
        return -EPROTO;
    *why = "a piece beyond the size that was offered";
    if (!unknown && r->offset + r->len_bytes + r->size > in->part.offer.size)
        return -EPROTO;
    code = incoming_behind_takes(in, r) ? incoming_behind_write(in, data, r->len_bytes)
           : r->type == RECORD_DATA     ? part_file_write(&in->part, data, r->len_bytes)
           : r->type == RECORD_HOLE     ? part_file_hole(&in->part, r->size)
           : r->type == RECORD_COPY     ? part_file_copy(&in->part, r->from, r->size)
                                        : part_file_keep(&in->part, r->size);
    /* Something asked to stop: the transfer is cut off here, and what has come may be kept. */
    if (code == RECORD_IO && loop_code() != 0)
        return 0;
    return code == RECORD_OK ? 0 : incoming_refuse(in, code);
}

static int incoming_end_file(struct incoming *in, const struct record *r)
{
    uint64_t holes = in->part.hole_bytes, kept = in->part.kept_bytes;
    enum record_code code;
    bool named = in->part.fd >= 0; /* else it is a stream */

    in->in_file = in->telling = false;
    if (in->skipping)
        return 0;
    incoming_behind_end(in);
    if (r->type == RECORD_DROP_FILE) {
        part_file_discard(&in->part);
        return incoming_result(in, RECORD_DROPPED, 0);
    }
    code = part_file_finish(&in->part, r);
    if (code == RECORD_OK) {
        summary_file(&in->summary, r->size, holes, kept, r->hash);
        writer_file(in->manifest, incoming_listed(in), r->hash, r->size);
        json_lines_file(in->lines, in->name, r->size);
    }
    if (code == RECORD_OK && in->sync.options != NULL && named &&
        incoming_sync_received(in, &in->part.placed) < 0)
        return -ENOMEM;
    return incoming_result(in, code, r->size);
}

/* NULL, or why the record cannot come now. */
static const char *incoming_fault(const struct incoming *in, const struct record *r)
{
    bool opens = r->type == RECORD_OFFER || r->type == RECORD_DIR || r->type == RECORD_LINK ||
                 r->type == RECORD_HARD;
    bool numbered = r->type != RECORD_END_ALL && r->type != RECORD_NAME &&
                    r->type != RECORD_NAMED && r->type != RECORD_ATTR;
    bool asks = r->type == RECORD_ASK;

    if (r->type == RECORD_TOKEN)
        return "a token, which only sluice cp asks for";
    if (r->type == RECORD_RESULT || r->type == RECORD_ANSWER || r->type == RECORD_HAVE ||
        r->type == RECORD_BLOCKS)
        return "a record that only receivers send";
    if (r->type == RECORD_JOIN)
        return "a connection that joins a transfer after it has begun one";
    if (in->end_all || in->in_file == (opens || asks || !numbered))
        return "a record out of order";
    if (in->attributed && !opens && !asks)
        return "attributes of nothing";
    if (numbered && r->file != (asks ? in->asked + 1 : in->file + (opens ? 1 : 0)))
        return "a file number out of order";
    return incoming_sync_fault(in, r);
}

int incoming_record(struct incoming *in, const struct record *r, const uint8_t *data,
                    const char **why)
{
    int err;

    *why = r->type == RECORD_STREAMS ? incoming_streams_asked(in, r) : incoming_fault(in, r);
    if (*why != NULL)
        return -EPROTO;
    if (r->type == RECORD_STREAMS)
        return 0;
    *why = "no memory";
    /* Attributes belong to the next record; those of an OFFER serve until the file is whole. */
    if (!in->in_file) {
        in->sync.settle.given = in->attributed;
        in->attributed = false;
    }
    switch (r->type) {
    case RECORD_OFFER:
        err = incoming_offer(in, r, data);
        break;
    case RECORD_DIR:
        err = incoming_directory(in, r, data);
        break;
    case RECORD_ASK:
        err = incoming_ask(in, r, data);
        break;
    case RECORD_LINK:
        err = incoming_link(in, r, data, why);
        break;
    case RECORD_NAME:
        err = incoming_named(in, r, data);
        break;
    case RECORD_NAMED:
        incoming_sync_all_named(in, r);
        err = 0;
        break;
    case RECORD_ATTR:
        err = incoming_sync_attributes(in, r, data, why);
        break;
    case RECORD_HARD:
        err = incoming_hard(in, r, data);
        break;
    case RECORD_DATA:
    case RECORD_HOLE:
    case RECORD_KEEP:
    case RECORD_COPY:
        err = incoming_content(in, r, data, why);
        break;
    case RECORD_END_FILE:
    case RECORD_DROP_FILE:
        err = incoming_end_file(in, r);
        break;
    default: /* RECORD_END_ALL: record_decode() accepts no other types */
        *why = "files are missing";
        err = r->size == in->file ? 0 : -EPROTO;
        in->end_all = err == 0;
        if (in->end_all && in->sync.options != NULL)
            incoming_sync_end(in, r);
        break;
    }
    return err;
}
