/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A load: one connection between two hosts of a world, and what their users do on it. The sender
 * has data without end. It sends in requests (bulk), perhaps only for a while and then not for a
 * while (on, off); or it writes one request after the other and waits for each (synchronous). With
 * partial copy the last `tail` bytes of each request are copied, and the request is over for the
 * writer when the peer has the rest ([VT]). The receiver's user keeps `posted` receive requests
 * posted, and does not look at the data.
 *
 * Invariant: under_way <= depth; tails_used <= tails.
 */
#ifndef LAB_LOAD_H
#define LAB_LOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "host/host.h"
#include "lab/result.h"
#include "lab/text.h"

struct load_config {
    const char *name;
    uint32_t from, to; /* numbers of hosts */
    struct addr peer;
    uint16_t service;
    uint64_t start_ns, stop_ns, on_ns, off_ns; /* off_ns 0: always on */
    uint64_t request_bytes, tail_bytes, requests;
    uint32_t depth, posted, tails;
    bool synchronous, go_back_n;
};

/* The counters of both ends at one time. */
struct load_state {
    struct host_conn_info tx, rx;
    /* of requests that are over for the writer; of tails of all requests sent */
    uint64_t bytes, copied;
};

struct load {
    struct load_config cfg;
    struct host *sender, *receiver;
    uint32_t own, peer; /* connection numbers */
    bool begun, ended;
    int status;    /* the first error; 0: none */
    uint64_t next; /* number of the request to be sent next */
    uint32_t under_way, tails_used;
    bool writing; /* synchronous: the writer waits for request next - 1 */
    uint64_t written_bytes, copied_bytes, read_bytes;
    uint8_t *data;
    struct load_state before, last; /* when observation began; at the last sample */
    json_t *rate, *grant, *burst, *lost;
};

/* Reads the section. hosts: their names, to look up `from` and `to`. */
void load_read(struct load *l, struct text *t, const char *section, const char *const *hosts,
               uint32_t n_hosts, uint64_t until_ns);
/* To be called when both hosts exist. False: no memory for a request. */
bool load_open(struct load *l, struct host *sender, struct host *receiver);
void load_free(struct load *l);
/* A completion of this load's connection, at either host. */
void load_done(struct load *l, struct host *h, const struct host_completion *c, uint64_t now);
/* Does what the sender's user has to do now. Returns when it must be called again. */
uint64_t load_turn(struct load *l, uint64_t now);

/* To be called when observation begins (scenario.h). */
void load_begin(struct load *l);
/* Adds a sample, span_ns after the one before. */
void load_sample(struct load *l, struct result *r, uint64_t now, uint64_t span_ns);
/* Adds the load's figures since observation began. */
void load_tell(const struct load *l, struct result *r, uint64_t span_ns);

#endif
