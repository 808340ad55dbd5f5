/* SPDX-License-Identifier: BSD-3-Clause */
/* What a far end that sends reports. See message_report.h. */
#include "sluice/cp/message_report.h"

#include <string.h>

#include "base/bytes.h"

#define UNKNOWN       255 /* instead of a limit */
#define SUMMARY_TEXTS 3   /* peer's address, peer's name, why the grant is what it is */
#define SUMMARY_TEXT  63  /* bytes of each */

/* Puts a text, at most max bytes of it. Returns how many. */
static size_t put_text(uint8_t *out, const char *text, size_t max)
{
    size_t len = strnlen(text, max);

    memcpy(out, text, len);
    return len;
}

/* Takes a text of len bytes, for which there is room. False: it has a zero byte. */
static bool take_text(char *out, const uint8_t *from, size_t len)
{
    memcpy(out, from, len);
    out[len] = 0;
    return memchr(from, 0, len) == NULL;
}

/* ---- PROGRESS: 0 done  8 total  16 repeats  24 limit  25 name ------------------------------- */

size_t message_progress_encode(uint8_t out[MESSAGE_DATA_MAX], const struct message_progress *p)
{
    bytes_put_u64(out, p->done_bytes);
    bytes_put_u64(out + 8, p->total_bytes);
    bytes_put_u64(out + 16, p->repeats);
    out[24] = p->limit < LIMITS ? (uint8_t)p->limit : UNKNOWN;
    return MESSAGE_PROGRESS_MIN +
           put_text(out + MESSAGE_PROGRESS_MIN, p->name, MESSAGE_CURRENT_MAX);
}

const char *message_progress_decode(struct message_progress *p, const struct message *m)
{
    p->done_bytes = bytes_get_u64(m->data);
    p->total_bytes = bytes_get_u64(m->data + 8);
    p->repeats = bytes_get_u64(m->data + 16);
    if (p->done_bytes > INT64_MAX || p->total_bytes > INT64_MAX || p->repeats > INT64_MAX)
        return "a number out of range";
    if (m->data[24] >= LIMITS && m->data[24] != UNKNOWN)
        return "unknown limit";
    p->limit = m->data[24] == UNKNOWN ? LIMITS : (enum limit)m->data[24];
    return take_text(p->name, m->data + MESSAGE_PROGRESS_MIN, m->len_bytes - MESSAGE_PROGRESS_MIN)
               ? NULL
               : "a zero byte in a text";
}

/* ---- FILE: 0 bytes  8 name ------------------------------------------------------------------ */

size_t message_file_encode(uint8_t out[MESSAGE_DATA_MAX], const char *name, uint64_t bytes)
{
    bytes_put_u64(out, bytes);
    return 8 + put_text(out + 8, name, RECORD_NAME_MAX);
}

const char *message_file_decode(struct message_file *f, const struct message *m)
{
    f->bytes = bytes_get_u64(m->data);
    if (f->bytes > INT64_MAX)
        return "a number out of range";
    return take_text(f->name, m->data + 8, m->len_bytes - 8u) ? NULL : "a zero byte in a text";
}

/* ---- FAILED: 0 code  1 length of the name  3 name, cause ------------------------------------ */

size_t message_failed_encode(uint8_t out[MESSAGE_DATA_MAX], uint8_t code, const char *name,
                             const char *cause)
{
    size_t len = put_text(out + 3, name, RECORD_NAME_MAX);

    out[0] = code;
    bytes_put_u16(out + 1, (uint16_t)len);
    return 3 + len + put_text(out + 3 + len, cause, RECORD_MESSAGE_MAX);
}

const char *message_failed_decode(struct message_failed *f, const struct message *m)
{
    size_t len = bytes_get_u16(m->data + 1), rest = m->len_bytes - 3u;

    f->code = m->data[0];
    if (f->code >= RECORD_CODES)
        return "unknown code";
    if (len < 1 || len > RECORD_NAME_MAX || rest < len + 1 || rest - len > RECORD_MESSAGE_MAX)
        return "length out of range";
    return take_text(f->name, m->data + 3, len) &&
                   take_text(f->cause, m->data + 3 + len, rest - len)
               ? NULL
               : "a zero byte in a text";
}

/* ---- SUMMARY: 0 numbers  104 streams  106 unit_bytes  108 hash  124 limits, then texts ------- */

#define SUMMARY_STREAMS 104
#define SUMMARY_UNIT    106
#define SUMMARY_HASH    108
#define SUMMARY_LIMITS  124
#define SUMMARY_FIXED   (SUMMARY_LIMITS + 8 * LIMITS)

/* Where the numbers of a summary are, in the order of the message. */
static void summary_numbers(struct summary *s, uint64_t *list[SUMMARY_STREAMS / 8])
{
    uint64_t *all[] = {&s->files,          &s->failed,           &s->bytes,
                       &s->hole_bytes,     &s->kept_bytes,       &s->there_files,
                       &s->there_bytes,    &s->end_ns,           &s->cpu_ns,
                       &s->stats.tx_units, &s->stats.tx_repeats, &s->stats.tx_rate_Bps,
                       &s->stats.rtt_ns};

    memcpy(list, all, sizeof all);
}

size_t message_summary_encode(uint8_t out[MESSAGE_DATA_MAX], const struct summary *s)
{
    const char *texts[SUMMARY_TEXTS] = {s->stats.peer, s->peer, s->stats.tx_why};
    struct summary told = *s;
    uint64_t *numbers[SUMMARY_STREAMS / 8];
    uint8_t *at = out + SUMMARY_FIXED;
    unsigned i;

    told.end_ns = s->end_ns > s->start_ns ? s->end_ns - s->start_ns : 0;
    told.cpu_ns = summary_cpu(s);
    summary_numbers(&told, numbers);
    for (i = 0; i < SUMMARY_STREAMS / 8; i++)
        bytes_put_u64(out + (size_t)8 * i, *numbers[i] & INT64_MAX);
    bytes_put_u16(out + SUMMARY_STREAMS, (uint16_t)s->streams);
    bytes_put_u16(out + SUMMARY_UNIT, (uint16_t)s->stats.unit_bytes);
    memcpy(out + SUMMARY_HASH, s->hash, RECORD_HASH_BYTES);
    for (i = 0; i < LIMITS; i++)
        bytes_put_u64(out + SUMMARY_LIMITS + (size_t)8 * i, s->limit_ns[i] & INT64_MAX);
    for (i = 0; i < SUMMARY_TEXTS; i++) {
        *at = (uint8_t)put_text(at + 1, texts[i], SUMMARY_TEXT);
        at += 1 + *at;
    }
    return (size_t)(at - out);
}

/* Takes the next text, of at most out_len - 1 bytes; moves *at behind it. NULL, or what is wrong.
 */
static const char *summary_text(char *out, size_t out_len, const uint8_t **at, const uint8_t *end)
{
    size_t len = *at < end ? **at : SIZE_MAX;

    if (len >= out_len || len > (size_t)(end - *at) - 1)
        return "length out of range";
    if (!take_text(out, *at + 1, len))
        return "a zero byte in a text";
    *at += 1 + len;
    return NULL;
}

const char *message_summary_decode(struct summary *s, const struct message *m)
{
    const uint8_t *at = m->data + SUMMARY_FIXED, *end = m->data + m->len_bytes;
    uint64_t *numbers[SUMMARY_STREAMS / 8];
    const char *why;
    unsigned i;

    summary_numbers(s, numbers);
    s->start_ns = 0;
    for (i = 0; i < SUMMARY_STREAMS / 8; i++) {
        *numbers[i] = bytes_get_u64(m->data + (size_t)8 * i);
        if (*numbers[i] > INT64_MAX)
            return "a number out of range";
    }
    s->streams = bytes_get_u16(m->data + SUMMARY_STREAMS);
    if (s->streams > RECORD_STREAMS_MAX)
        return "number of connections out of range";
    s->stats.unit_bytes = bytes_get_u16(m->data + SUMMARY_UNIT);
    memcpy(s->hash, m->data + SUMMARY_HASH, RECORD_HASH_BYTES);
    for (i = 0; i < LIMITS; i++) {
        s->limit_ns[i] = bytes_get_u64(m->data + SUMMARY_LIMITS + (size_t)8 * i);
        if (s->limit_ns[i] > INT64_MAX)
            return "a number out of range";
    }
    why = summary_text(s->stats.peer, sizeof s->stats.peer, &at, end);
    if (why == NULL)
        why = summary_text(s->peer, sizeof s->peer, &at, end);
    if (why == NULL)
        why = summary_text(s->stats.tx_why, sizeof s->stats.tx_why, &at, end);
    return why == NULL && at != end ? "length out of range" : why;
}
