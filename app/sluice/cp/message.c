/* SPDX-License-Identifier: BSD-3-Clause */
/* The messages of sluice cp. Header: 0 magic  4 version  5 type  6 len. */
#include "sluice/cp/message.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/bytes.h"
#include "sluice/cp/message_report.h"

/* How long the data of each type are, and whether they are text, which has no zero byte. */
static const struct message_shape {
    uint16_t min, max;
    bool text;
} message_shapes[MESSAGE_TYPES] = {
    [MESSAGE_HELLO] = {1, 64, true},
    [MESSAGE_START] = {MESSAGE_START_BYTES, MESSAGE_START_BYTES, false},
    [MESSAGE_PATH] = {0, MESSAGE_PATH_MAX, true},
    [MESSAGE_ADDRESS] = {17, 17, false},
    [MESSAGE_GO] = {0, 0, false},
    [MESSAGE_READY] = {MESSAGE_READY_BYTES, MESSAGE_READY_BYTES, false},
    [MESSAGE_ERROR] = {1, MESSAGE_TEXT_MAX, true},
    [MESSAGE_NOTE] = {1, MESSAGE_TEXT_MAX, true},
    [MESSAGE_END] = {1, 1, false},
    [MESSAGE_ITEM] = {1, MESSAGE_PATH_MAX, true},
    [MESSAGE_RULE] = {3, MESSAGE_PATH_MAX, true},
    [MESSAGE_CHOSEN] = {1, MESSAGE_PATH_MAX, true},
    [MESSAGE_ASKED] = {1, MESSAGE_PATH_MAX, true},
    [MESSAGE_ORIGIN] = {1, MESSAGE_ORIGIN_MAX, true},
    [MESSAGE_LIMIT] = {1, MESSAGE_PATH_MAX, true},
    [MESSAGE_PROGRESS] = {MESSAGE_PROGRESS_MIN, MESSAGE_PROGRESS_MIN + MESSAGE_CURRENT_MAX, false},
    [MESSAGE_FILE] = {MESSAGE_FILE_MIN, MESSAGE_FILE_MIN + RECORD_NAME_MAX - 1, false},
    [MESSAGE_FAILED] = {MESSAGE_FAILED_MIN, MESSAGE_DATA_MAX, false},
    [MESSAGE_SUMMARY] = {MESSAGE_SUMMARY_MIN, MESSAGE_SUMMARY_MAX, false},
};

size_t message_encode(uint8_t out[MESSAGE_BYTES_MAX], const struct message *m)
{
    bytes_put_u32(out, MESSAGE_MAGIC);
    out[4] = MESSAGE_VERSION;
    out[5] = m->type;
    bytes_put_u16(out + 6, m->len_bytes);
    if (m->len_bytes > 0)
        memcpy(out + MESSAGE_HEADER_BYTES, m->data, m->len_bytes);
    return (size_t)MESSAGE_HEADER_BYTES + m->len_bytes;
}

int message_decode(struct message *m, const uint8_t *bytes, size_t len, uint8_t *version,
                   const char **why)
{
    const struct message_shape *shape;
    uint8_t magic[4];

    bytes_put_u32(magic, MESSAGE_MAGIC);
    /* The first wrong byte tells that this is no message: maybe nothing comes behind it. */
    *why = "not a message of sluice cp";
    if (memcmp(bytes, magic, len < sizeof magic ? len : sizeof magic) != 0)
        return -EINVAL;
    if (len < MESSAGE_HEADER_BYTES)
        return 0;
    *version = bytes[4];
    if (bytes[4] != MESSAGE_VERSION)
        return -EPROTONOSUPPORT;
    *why = "unknown type";
    if (bytes[5] < MESSAGE_HELLO || bytes[5] >= MESSAGE_TYPES)
        return -EINVAL;
    m->type = bytes[5];
    m->len_bytes = bytes_get_u16(bytes + 6);
    m->data = bytes + MESSAGE_HEADER_BYTES;
    shape = &message_shapes[m->type];
    *why = "length out of range";
    if (m->len_bytes < shape->min || m->len_bytes > shape->max)
        return -EINVAL;
    if (len - MESSAGE_HEADER_BYTES < m->len_bytes)
        return 0;
    *why = "a zero byte in a text";
    if (shape->text && memchr(m->data, 0, m->len_bytes) != NULL)
        return -EINVAL;
    return MESSAGE_HEADER_BYTES + m->len_bytes;
}

/* START: 0 token  16 flags  20 streams  22 buffers  24 max_bytes  32 service  34 attributes
 * 36 keep_s */
void message_start_encode(uint8_t out[MESSAGE_START_BYTES], const struct message_start *s)
{
    memset(out, 0, MESSAGE_START_BYTES);
    memcpy(out, s->token, sizeof s->token);
    bytes_put_u32(out + 16, s->flags);
    bytes_put_u16(out + 20, (uint16_t)s->streams);
    bytes_put_u16(out + 22, (uint16_t)s->buffers);
    bytes_put_u64(out + 24, s->max_bytes);
    bytes_put_u16(out + 32, s->service);
    bytes_put_u16(out + 34, s->attributes);
    bytes_put_u32(out + 36, s->keep_s);
}

int message_start_decode(struct message_start *s, const struct message *m, const char **why)
{
    memcpy(s->token, m->data, sizeof s->token);
    s->flags = bytes_get_u32(m->data + 16);
    s->streams = bytes_get_u16(m->data + 20);
    s->buffers = bytes_get_u16(m->data + 22);
    s->max_bytes = bytes_get_u64(m->data + 24);
    s->service = bytes_get_u16(m->data + 32);
    s->attributes = bytes_get_u16(m->data + 34);
    s->keep_s = bytes_get_u32(m->data + 36);
    *why = "unknown flag";
    if ((s->flags & ~(uint32_t)MESSAGE_FLAGS) != 0)
        return -EINVAL;
    *why = "number of buffers out of range";
    if (s->buffers < 1 || s->buffers > 64)
        return -EINVAL;
    *why = "number of connections out of range";
    if (s->streams > ((s->flags & MESSAGE_PULL) != 0 ? RECORD_STREAMS_MAX : 0))
        return -EINVAL;
    *why = "size out of range";
    if (s->max_bytes > INT64_MAX)
        return -EINVAL;
    *why = "a report without a sender";
    if ((s->flags & (MESSAGE_REPORT | MESSAGE_FILES)) != 0 &&
        (s->flags & (MESSAGE_REPORT | MESSAGE_PULL)) != (MESSAGE_REPORT | MESSAGE_PULL))
        return -EINVAL;
    *why = "no service to send to";
    if ((s->flags & MESSAGE_PULL) != 0 && s->service == 0)
        return -EINVAL;
    *why = "a flag of a sync without a sync";
    if ((s->flags & MESSAGE_SYNC) == 0 &&
        ((s->flags & MESSAGE_SYNC_FLAGS) != 0 || s->attributes != 0))
        return -EINVAL;
    *why = "deletion before the rest, and none";
    if ((s->flags & MESSAGE_DELETE_BEFORE) != 0 && (s->flags & MESSAGE_DELETE) == 0)
        return -EINVAL;
    *why = "unknown attributes";
    if ((s->attributes & ~ATTRIBUTES_ALL) != 0)
        return -EINVAL;
    return 0;
}
