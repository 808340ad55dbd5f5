/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tester: its ports, and the senders, receivers or reflectors that its workers run.
 *
 * Direction 0 is from the first port to the second (or back to the first, if there is one port),
 * direction 1 the other way. Queue q of a port is served by sender q and receiver q of it. Streams
 * are numbered over all senders.
 *
 * Without worker lcores, the calling thread does all of it. With one, that worker does. With more,
 * senders and receivers have lcores of their own.
 */
#ifndef LOAD_TESTER_H
#define LOAD_TESTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_lcore.h>
#include <rte_mempool.h>

#include "common/port.h"
#include "load/options.h"
#include "load/receiver.h"
#include "load/reflector.h"
#include "load/result.h"
#include "load/sender.h"

/* What one lcore runs. */
struct tester_worker {
    struct sender *sender[STAMP_STREAMS];
    struct receiver *receiver[STAMP_STREAMS];
    struct reflector *reflector[STAMP_STREAMS];
    unsigned int senders, receivers, reflectors;
    uint64_t turns; /* atomic: that it has begun */
    bool running;   /* atomic */
};

struct tester {
    const struct options *opt;
    struct window window;
    struct port port[2];
    bool started[2];
    struct rte_mempool *rx_pool, *tx_pool;
    unsigned int ports, directions;
    unsigned int senders, receivers, reflectors, workers;
    struct sender *sender;       /* [senders]; direction i has those from i * queues on */
    struct receiver *receiver;   /* [receivers], likewise */
    struct reflector *reflector; /* [reflectors] */
    struct tester_worker worker[RTE_MAX_LCORE];
    struct tally *tally; /* [receivers * STAMP_STREAMS]; those in use have storage */
    void *tally_storage;
    struct result sum, direction[2]; /* of the last window */
    uint16_t next_window;
};

/* Opens and starts the ports, and waits for their links. 0, or negative errno with a line in err.
 * After an error, tester_close() frees what is there. */
int tester_open(struct tester *t, const struct options *opt, char *err, size_t err_len);
void tester_close(struct tester *t);

/* Runs a window. 0, or negative errno with a line in err. */
int tester_run(struct tester *t, const struct plan *plan, char *err, size_t err_len);

/* Sends back what comes, until the window ends. */
void tester_reflect(struct tester *t, double seconds);

/* Ends the window early; also from a signal handler. */
void tester_stop(struct tester *t);

#endif
