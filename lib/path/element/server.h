/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A server handles one packet at a time while the others wait in a queue: what rate, trace and
 * receiver have in common. The packet being served counts as queued in the element's counters, and
 * against limits only if limit_served.
 */
#ifndef SLUICE_PATH_SERVER_H
#define SLUICE_PATH_SERVER_H

#include "path/element/queue.h"

/* The params of rate, trace and receiver begin with this struct. */
struct server_params {
    struct queue_params queue;
    bool limit_served;
};

struct server {
    struct element e;
    struct queue queue;
    struct path_packet packet; /* being served */
    bool busy;
    /* Begins to serve `packet` at `start`; sets e.due to when the packet is done. fresh: the server
     * was idle until `start`. */
    void (*begin)(struct server *sv, uint64_t start, bool fresh);
    /* Called when a packet was dropped at `at` while another is served; may be NULL. */
    void (*overrun)(struct server *sv, uint64_t at);
    uint64_t (*rate_Bps)(const struct server *sv); /* approximate, for RED */
};

int server_init(struct element *e);
void server_fini(struct element *e);
void server_arrive(struct element *e, struct path_packet *packet);
void server_run(struct element *e, uint64_t until);

#endif
