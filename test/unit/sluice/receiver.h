/* SPDX-License-Identifier: BSD-3-Clause */
/* A receiver that has no daemon: requests come to it from the test, which reads its answers. */
#ifndef SLUICE_TEST_RECEIVER_H
#define SLUICE_TEST_RECEIVER_H

#include <cstring>
#include <vector>

#include <gtest/gtest.h>

extern "C" {
#include "sluice/transfer/incoming.h"
}

/* A request has come into this buffer, which buffers_take() gave. */
static inline void receiver_comes(struct incoming *in, int buffer, const void *request,
                                  size_t len_bytes)
{
    uint32_t place = (in->head + in->n_ready) % BUFFERS_MAX;

    memcpy(in->buffers.at[buffer] + PACK_FIRST, request, len_bytes);
    in->buffer[place] = (uint8_t)buffer;
    in->len[place] = len_bytes;
    in->n_ready++;
}

/* The records that are queued for the sender, the newest one last. */
static inline std::vector<struct record> receiver_answers(const struct incoming *in)
{
    const struct result_queue *q = &in->results;
    std::vector<struct record> all;
    const char *why;
    struct record r;

    for (uint32_t at = 0; at < q->len; at += RECORD_HEADER_BYTES + r.len_bytes) {
        int err = record_decode(q->queue + q->head + at, q->len - at, &r, &why);

        EXPECT_EQ(err, 0) << why;
        if (err != 0)
            break;
        all.push_back(r);
    }
    return all;
}

/* The newest one of them; without a type if there is none. */
static inline struct record receiver_answer(const struct incoming *in)
{
    const std::vector<struct record> all = receiver_answers(in);

    return all.empty() ? record{} : all.back();
}

#endif
