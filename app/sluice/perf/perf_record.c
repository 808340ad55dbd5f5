/* SPDX-License-Identifier: BSD-3-Clause */
/* The records that client and server of `sluice perf` exchange. */
#include "sluice/perf/perf_record.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "client/sluice.h"

static_assert(sizeof(struct perf_start) <= 8 * PERF_WORDS, "fits");
static_assert(sizeof(struct perf_report) <= 8 * PERF_WORDS, "fits");

void perf_encode(uint8_t bytes[PERF_RECORD_BYTES], const struct perf_record *r)
{
    int i;

    memset(bytes, 0, 8);
    bytes_put_u32(bytes, PERF_MAGIC);
    bytes[4] = PERF_VERSION;
    bytes[5] = (uint8_t)r->type;
    for (i = 0; i < PERF_WORDS; i++)
        bytes_put_u64(bytes + 8 + 8 * i, r->u.words[i]);
}

static const char *perf_start_fault(const struct perf_start *s)
{
    if (s->streams == 0 || s->streams > PERF_STREAMS_MAX || s->stream >= s->streams)
        return "number of streams out of range";
    if ((s->flags & ~(uint64_t)PERF_FLAGS) != 0 ||
        (s->flags & (PERF_CLIENT_SENDS | PERF_SERVER_SENDS)) == 0)
        return "unknown flags";
    if (s->request_bytes > SLUICE_REQUEST_MAX)
        return "request out of range";
    if (s->outstanding == 0 || s->outstanding > PERF_OUTSTANDING_MAX)
        return "outstanding requests out of range";
    if (s->duration_ns == 0 && s->limit_bytes == 0)
        return "no end";
    if (s->limit_bytes != 0 && s->request_bytes == 0)
        return "an amount of data, but requests of 0 bytes";
    if (s->memory_bytes > PERF_MEMORY_MAX)
        return "memory out of range";
    if (s->slices == 0 && (s->flags & PERF_CLIENT_SENDS) != 0)
        return "no memory to send from";
    return NULL;
}

int perf_decode(const uint8_t *bytes, uint64_t len, enum perf_type type, struct perf_record *r,
                const char **why)
{
    int i;

    *why = "not `sluice perf`";
    if (len != PERF_RECORD_BYTES)
        return -EINVAL;
    if (bytes_get_u32(bytes) != PERF_MAGIC)
        return -EINVAL;
    *why = "another version of `sluice perf`";
    if (bytes[4] != PERF_VERSION)
        return -EINVAL;
    *why = "out of order";
    if (bytes[5] != type || bytes[6] != 0 || bytes[7] != 0)
        return -EINVAL;
    r->type = type;
    for (i = 0; i < PERF_WORDS; i++)
        r->u.words[i] = bytes_get_u64(bytes + 8 + 8 * i);
    *why = NULL;
    if (type == PERF_START)
        *why = perf_start_fault(&r->u.start);
    if (type == PERF_READY && r->u.ready.slices == 0)
        *why = "no memory there";
    return *why == NULL ? 0 : -EINVAL;
}
