/* SPDX-License-Identifier: BSD-3-Clause */
/* The records of the file protocol. Layout of the header, in bytes:
 *
 *  0 magic  4 version  5 type  6 flags  8 len  12 mode or code  16 file  24 offset  32 size
 * 40 mtime: seconds (8), nanoseconds (4), zero (4); or hash or token (16); or from (8), zero (8)
 * 56 request (8)
 */
#include "sluice/files/record.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/bytes.h"

enum {
    AT_MAGIC = 0,
    AT_VERSION = 4,
    AT_TYPE = 5,
    AT_FLAGS = 6,
    AT_LEN = 8,
    AT_MODE = 12,
    AT_FILE = 16,
    AT_OFFSET = 24,
    AT_SIZE = 32,
    AT_HASH = 40,
    AT_FROM = 40,
    AT_MTIME_S = 40,
    AT_MTIME_NS = 48,
    AT_REQUEST = 56,
};

/* Which fields a type has; all others are zero. */
enum {
    HAS_FLAGS = 1,
    HAS_MODE = 2,
    HAS_OFFSET = 4,
    HAS_SIZE = 8,
    HAS_MTIME = 16,
    HAS_HASH = 32,
    HAS_FILE = 64,
    HAS_FROM = 128,
    HAS_REQUEST = 256, /* what may begin a numbered request: all that a sender sends, but JOIN */
};

static const struct record_shape {
    uint32_t fields, len_min, len_max;
    uint16_t flags;
} record_shapes[] = {
    [RECORD_OFFER] = {HAS_FLAGS | HAS_MODE | HAS_SIZE | HAS_MTIME | HAS_FILE | HAS_REQUEST, 1,
                      RECORD_NAME_MAX,
                      RECORD_SIZE_UNKNOWN | RECORD_RESUME | RECORD_COPIES | RECORD_SOLID},
    [RECORD_DATA] = {HAS_OFFSET | HAS_FILE | HAS_REQUEST, 1, RECORD_DATA_MAX, 0},
    [RECORD_HOLE] = {HAS_OFFSET | HAS_SIZE | HAS_FILE | HAS_REQUEST, 0, 0, 0},
    [RECORD_END_FILE] = {HAS_SIZE | HAS_HASH | HAS_FILE | HAS_REQUEST, 0, 0, 0},
    [RECORD_DROP_FILE] = {HAS_FILE | HAS_REQUEST, 0, 0, 0},
    [RECORD_DIR] = {HAS_FLAGS | HAS_MODE | HAS_MTIME | HAS_FILE | HAS_REQUEST, 1, RECORD_NAME_MAX,
                    RECORD_BEGIN},
    [RECORD_END_ALL] = {HAS_FLAGS | HAS_SIZE | HAS_REQUEST, 0, 0, RECORD_UNREAD},
    [RECORD_RESULT] = {HAS_MODE | HAS_SIZE | HAS_FILE, 0, RECORD_MESSAGE_MAX, 0},
    [RECORD_TOKEN] = {HAS_HASH | HAS_REQUEST, 0, 0, 0},
    [RECORD_ASK] = {HAS_FLAGS | HAS_MODE | HAS_SIZE | HAS_MTIME | HAS_FILE | HAS_REQUEST, 1,
                    RECORD_NAME_MAX + RECORD_HASH_BYTES, RECORD_HASHED},
    [RECORD_ANSWER] = {HAS_FLAGS | HAS_SIZE | HAS_FILE, 0, 0, RECORD_WHOLE | RECORD_LISTED},
    [RECORD_HAVE] = {HAS_FLAGS | HAS_OFFSET | HAS_FILE, 0, RECORD_HASHES_MAX *RECORD_HASH_BYTES,
                     RECORD_LAST},
    [RECORD_KEEP] = {HAS_OFFSET | HAS_SIZE | HAS_FILE | HAS_REQUEST, 0, 0, 0},
    [RECORD_LINK] = {HAS_MTIME | HAS_FILE | HAS_REQUEST, 3, RECORD_LINK_MAX, 0},
    [RECORD_NAME] = {HAS_FLAGS | HAS_REQUEST, 1, RECORD_NAME_MAX, RECORD_BEGIN},
    [RECORD_NAMED] = {HAS_FLAGS | HAS_REQUEST, 0, 0, RECORD_UNREAD},
    [RECORD_BLOCKS] = {HAS_FLAGS | HAS_OFFSET | HAS_SIZE | HAS_FROM | HAS_FILE, 0,
                       RECORD_BLOCKS_MAX *RECORD_BLOCK_BYTES, RECORD_LAST},
    [RECORD_COPY] = {HAS_OFFSET | HAS_SIZE | HAS_FROM | HAS_FILE | HAS_REQUEST, 0, 0, 0},
    [RECORD_ATTR] = {HAS_FLAGS | HAS_REQUEST, 0, RECORD_ATTR_MAX,
                     RECORD_ALL_ACLS | RECORD_ALL_XATTRS},
    [RECORD_HARD] = {HAS_MODE | HAS_OFFSET | HAS_SIZE | HAS_MTIME | HAS_FILE | HAS_REQUEST, 1,
                     RECORD_NAME_MAX, 0},
    [RECORD_STREAMS] = {HAS_SIZE | HAS_HASH | HAS_REQUEST, 0, 0, 0},
    [RECORD_JOIN] = {HAS_SIZE | HAS_HASH, 0, 0, 0},
};

void record_encode(uint8_t header[RECORD_HEADER_BYTES], const struct record *r)
{
    uint32_t has = record_shapes[r->type].fields;

    memset(header, 0, RECORD_HEADER_BYTES);
    bytes_put_u32(header + AT_MAGIC, RECORD_MAGIC);
    header[AT_VERSION] = RECORD_VERSION;
    header[AT_TYPE] = r->type;
    bytes_put_u32(header + AT_LEN, r->len_bytes);
    if (has & HAS_FLAGS)
        bytes_put_u16(header + AT_FLAGS, r->flags);
    if (has & HAS_MODE)
        bytes_put_u32(header + AT_MODE, r->mode);
    if (has & HAS_FILE)
        bytes_put_u64(header + AT_FILE, r->file);
    if (has & HAS_OFFSET)
        bytes_put_u64(header + AT_OFFSET, r->offset);
    if (has & HAS_SIZE)
        bytes_put_u64(header + AT_SIZE, r->size);
    if (has & HAS_MTIME) {
        bytes_put_u64(header + AT_MTIME_S, (uint64_t)r->mtime_s);
        bytes_put_u32(header + AT_MTIME_NS, r->mtime_ns);
    }
    if (has & HAS_HASH)
        memcpy(header + AT_HASH, r->hash, RECORD_HASH_BYTES);
    if (has & HAS_FROM)
        bytes_put_u64(header + AT_FROM, r->from);
    if (has & HAS_REQUEST)
        bytes_put_u64(header + AT_REQUEST, r->request);
}

void record_number(uint8_t header[RECORD_HEADER_BYTES], uint64_t request)
{
    bytes_put_u64(header + AT_REQUEST, request);
}

uint64_t record_number_of(const uint8_t *bytes, size_t len)
{
    return len < RECORD_HEADER_BYTES ? 0 : bytes_get_u64(bytes + AT_REQUEST);
}

/* NULL, or what is wrong with a HAVE or KEEP: both are about whole chunks. */
static const char *record_chunk_fault(const struct record *r)
{
    if (r->offset % RECORD_CHUNK_BYTES != 0)
        return "a chunk out of place";
    if (r->type == RECORD_HAVE && r->len_bytes % RECORD_HASH_BYTES != 0)
        return "half a hash";
    if (r->type == RECORD_HAVE && r->offset > INT64_MAX - RECORD_HASHES_MAX * RECORD_CHUNK_BYTES)
        return "end out of range";
    if (r->type == RECORD_KEEP && (r->size == 0 || r->size % RECORD_CHUNK_BYTES != 0 ||
                                   r->size > RECORD_HASHES_MAX * RECORD_CHUNK_BYTES))
        return "no whole number of chunks";
    return NULL;
}

/* NULL, or what is wrong with a BLOCKS or COPY. */
static const char *record_block_fault(const struct record *r)
{
    if (r->type == RECORD_COPY && (r->size == 0 || r->size > RECORD_COPY_MAX))
        return "copy out of range";
    if (r->type == RECORD_COPY && (r->from > INT64_MAX || r->from + r->size > INT64_MAX))
        return "end out of range";
    if (r->type == RECORD_COPY)
        return NULL;
    if (r->len_bytes % RECORD_BLOCK_BYTES != 0)
        return "half a block";
    if (r->len_bytes == 0 && (r->flags & RECORD_LAST) == 0)
        return "no blocks";
    if (r->size < RECORD_BLOCK_MIN || r->size > RECORD_BLOCK_MAX || r->size % RECORD_BLOCK_MIN != 0)
        return "length of blocks out of range";
    if (r->offset % r->size != 0)
        return "a block out of place";
    return NULL;
}

/* NULL if each field is within its limits, else what is wrong. Fields that the type does not use
 * are as the header has them; record_decode() checks later that they are zero. */
static const char *record_fault(const struct record *r)
{
    const struct record_shape *shape = &record_shapes[r->type];
    bool chunks = r->type == RECORD_HAVE || r->type == RECORD_KEEP;
    bool blocks = r->type == RECORD_BLOCKS || r->type == RECORD_COPY;
    bool sized = r->type == RECORD_OFFER || r->type == RECORD_HOLE || r->type == RECORD_KEEP ||
                 r->type == RECORD_COPY;

    if (r->len_bytes < shape->len_min || r->len_bytes > shape->len_max)
        return "length out of range";
    if ((shape->fields & HAS_FILE) != 0 && r->file == 0)
        return "no file number";
    if (r->flags & ~shape->flags)
        return "unknown flag";
    if (r->mode > 07777)
        return "mode out of range";
    if (r->mtime_ns >= 1000000000)
        return "time out of range";
    if (r->size > INT64_MAX || r->offset > INT64_MAX)
        return "size out of range";
    if (r->type == RECORD_HOLE && (r->size == 0 || r->size > RECORD_HOLE_MAX))
        return "hole out of range";
    if (r->offset + (sized ? r->size : 0) + r->len_bytes > INT64_MAX)
        return "end out of range";
    if (r->type == RECORD_OFFER && (r->flags & RECORD_SIZE_UNKNOWN) != 0 &&
        (r->size != 0 || r->flags != RECORD_SIZE_UNKNOWN))
        return "size both known and unknown";
    if (r->type == RECORD_HARD && r->offset == 0)
        return "no number of a link";
    if ((r->type == RECORD_STREAMS || r->type == RECORD_JOIN) &&
        (r->size < (r->type == RECORD_JOIN ? 2 : 1) || r->size > RECORD_STREAMS_MAX))
        return "number of connections out of range";
    if (r->type == RECORD_RESULT && r->mode >= RECORD_CODES)
        return "unknown result";
    if (r->type == RECORD_ANSWER && r->flags == (RECORD_WHOLE | RECORD_LISTED))
        return "a list of a file that is whole";
    if (r->type == RECORD_ASK && (r->flags & RECORD_HASHED) != 0
            ? r->len_bytes <= RECORD_HASH_BYTES
            : r->type == RECORD_ASK && r->len_bytes > RECORD_NAME_MAX)
        return "length out of range";
    return chunks ? record_chunk_fault(r) : blocks ? record_block_fault(r) : NULL;
}

int record_decode(const uint8_t *bytes, size_t len, struct record *r, const char **why)
{
    uint8_t again[RECORD_HEADER_BYTES];
    uint32_t has;

    *why = "shorter than a header";
    if (len < RECORD_HEADER_BYTES)
        return -EINVAL;
    *why = "not sluice's file protocol";
    if (bytes_get_u32(bytes + AT_MAGIC) != RECORD_MAGIC)
        return -EINVAL;
    *why = "another version of the file protocol";
    if (bytes[AT_VERSION] != RECORD_VERSION)
        return -EINVAL;
    memset(r, 0, sizeof *r);
    *why = "unknown type";
    r->type = bytes[AT_TYPE];
    if (r->type < RECORD_OFFER || r->type >= RECORD_TYPES)
        return -EINVAL;
    has = record_shapes[r->type].fields;
    r->flags = bytes_get_u16(bytes + AT_FLAGS);
    r->len_bytes = bytes_get_u32(bytes + AT_LEN);
    r->mode = bytes_get_u32(bytes + AT_MODE);
    r->file = bytes_get_u64(bytes + AT_FILE);
    r->offset = bytes_get_u64(bytes + AT_OFFSET);
    r->size = bytes_get_u64(bytes + AT_SIZE);
    if (has & HAS_MTIME) {
        r->mtime_s = (int64_t)bytes_get_u64(bytes + AT_MTIME_S);
        r->mtime_ns = bytes_get_u32(bytes + AT_MTIME_NS);
    }
    if (has & HAS_HASH)
        memcpy(r->hash, bytes + AT_HASH, RECORD_HASH_BYTES);
    if (has & HAS_FROM)
        r->from = bytes_get_u64(bytes + AT_FROM);
    if (has & HAS_REQUEST)
        r->request = bytes_get_u64(bytes + AT_REQUEST);
    *why = record_fault(r);
    if (*why != NULL)
        return -EINVAL;
    /* record_encode() writes only the type's fields, so a difference is a field that is not zero
     * and should be. */
    *why = "an unused field is not zero";
    record_encode(again, r);
    if (memcmp(again, bytes, RECORD_HEADER_BYTES) != 0)
        return -EINVAL;
    *why = "longer than its request";
    if (r->len_bytes > len - RECORD_HEADER_BYTES)
        return -EINVAL;
    *why = NULL;
    return 0;
}

static const char *const record_texts[RECORD_CODES][2] = {
    [RECORD_OK] = {"received", "nothing to do"},
    [RECORD_BAD_NAME] = {"the name is refused", "rename it"},
    [RECORD_IN_THE_WAY] = {"something else has this name",
                           "remove it, or choose another place at the receiver"},
    [RECORD_DENIED] = {"no permission", "choose another place at the receiver"},
    [RECORD_NO_SPACE] = {"no space left", "make room, or choose another place at the receiver"},
    [RECORD_IO] = {"it cannot be written", "check the disk, or the reader, at the receiver"},
    [RECORD_CORRUPT] = {"what arrived differs from what was sent", "send it again"},
    [RECORD_ONE_FILE] = {"the receiver takes a single file", "let it receive into a directory"},
    [RECORD_DROPPED] = {"given up by the sender", "see its output"},
    [RECORD_EXISTS] = {"a file of this name exists and was kept",
                       "rename it, or let the receiver replace files (--overwrite)"},
    [RECORD_TOO_LARGE] = {"it is larger than the receiver takes",
                          "let the receiver take larger files (--max-size)"},
};

const char *record_code_cause(uint32_t code)
{
    return code < RECORD_CODES ? record_texts[code][0] : "unknown result";
}

const char *record_code_cure(uint32_t code)
{
    return code < RECORD_CODES ? record_texts[code][1] : "use the same version on both sides";
}
