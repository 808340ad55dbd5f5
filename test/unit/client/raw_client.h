/* SPDX-License-Identifier: BSD-3-Clause */
/* A client without the library. It can say and write anything. */
#ifndef TEST_CLIENT_RAW_CLIENT_H
#define TEST_CLIENT_RAW_CLIENT_H

#include <cstdint>
#include <string>

#include "client/protocol.h"

int raw_memfd(uint64_t len_bytes, unsigned int flags);

class RawClient
{
  public:
    ~RawClient();
    bool connect(const std::string &path);
    void hang_up();
    /* Sends one message with up to 4 descriptors. */
    bool send(const void *data, size_t len, const int *fds = nullptr, int n_fds = 0);
    bool receive(struct protocol_reply *a, int timeout_ms = 10000, int *fd = nullptr);
    /* Sends a request of this type and waits for the answer. */
    struct protocol_reply ask(struct protocol_request q, int fd = -1, int *got = nullptr);
    struct protocol_reply ask(uint16_t type);
    /* HELLO and SESSION with small rings. */
    bool open(const std::string &path, uint32_t entries = 64);
    struct protocol_reply region(int fd, uint64_t len_bytes);
    /* Writes an entry and publishes it. */
    void submit(uint32_t channel, const struct protocol_submission &e);
    bool take(uint32_t channel, struct protocol_completion *e);

    struct protocol_channel *ring(uint32_t channel);
    struct protocol_submission *sq(uint32_t channel);
    struct protocol_completion *cq(uint32_t channel);

    int sock = -1, wake_fd = -1, session_fd = -1;
    uint8_t *memory = nullptr;
    struct protocol_limits limits = {};
    struct protocol_layout layout = {};
    uint32_t entries = 0;
};

#endif
