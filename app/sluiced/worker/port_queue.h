/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A port queue: one RX and one TX queue of a port, with the host and the client channels that its
 * worker serves. A worker runs one or more port queues. All of it is owned by its worker, except
 * that control reads the counters and writes `active`.
 *
 * Invariant: kept[kept_first .. kept_first + kept_n) are frames of the host and the kernel that the
 * port has not taken yet. Host and kernel are asked for more only when kept_n is 0.
 */
#ifndef SLUICED_PORT_QUEUE_H
#define SLUICED_PORT_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_common.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "drivers/cable.h"
#include "host/host.h"
#include "sluiced/port/exception.h"
#include "sluiced/port/nic_clock.h"
#include "sluiced/port/port.h"
#include "sluiced/session/session.h"
#include "sluiced/worker/capture.h"

/* Written by the worker, read by control; frames unless said otherwise. */
struct port_queue_counters {
    uint64_t rx_frames;
    uint64_t rx_bursts, rx_full_bursts; /* full: PORT_BURST frames, so more may wait */
    uint64_t tx_frames;
    uint64_t tx_refused; /* bursts of which the port did not take all */
    uint64_t tx_dropped; /* dropped: the port took nothing for PORT_QUEUE_KEEP_MS */
    uint64_t foreign_out, foreign_in;
    uint64_t foreign_dropped; /* the other worker's ring was full, or no buffer for a copy */
    uint64_t client_events;   /* sum of what channels_poll() returned */
};

#define PORT_QUEUE_KEEP_MS      20
/* A port that was given frames, and then none, is asked to let go of them: first after
 * PORT_QUEUE_CLEAN_US, then in pauses that double, up to PORT_QUEUE_CLEAN_MAX_MS. So frames that
 * took the port a time t to send come back within t + PORT_QUEUE_CLEAN_US after that, and within
 * PORT_QUEUE_CLEAN_MAX_MS in any case. */
#define PORT_QUEUE_CLEAN_US     20
#define PORT_QUEUE_CLEAN_MAX_MS 10

struct port_queue {
    struct host *host;
    struct cable *cable;       /* emulated wire to the device; NULL: port_id is the device */
    struct channels *channels; /* NULL until there are sessions */
    uint16_t port_id, queue;
    uint8_t workers; /* number of the port's workers */
    bool active;     /* the port may be polled; written by control, atomic */
    bool done_cleanup;
    uint64_t clean_first, clean_max; /* cycles: PORT_QUEUE_CLEAN_US, PORT_QUEUE_CLEAN_MAX_MS */
    uint64_t clean_due, clean_wait;  /* time of the next request to let go; the pause before it */
    uint64_t keep_cycles;            /* PORT_QUEUE_KEEP_MS */
    uint64_t kept_since;             /* when the port last took a frame, or had none to take */
    bool timed;                      /* the port sends frames at set times, by `clock` */
    struct nic_clock clock;
    uint64_t looked_at;             /* when the port was last found empty */
    struct capture_queue *captures; /* a list; NULL: nobody captures. Written by control, atomic */
    uint16_t kept_first, kept_n;
    /* kept[0 .. kept_own) are the host's frames, the others the kernel's. */
    uint16_t kept_own;
    struct rte_mbuf *kept[PORT_BURST + EXCEPTION_BURST];
    struct rte_mempool *copies;             /* for copies of frames that concern every worker */
    struct rte_ring *in[HOST_WORKERS_MAX];  /* [i]: frames from worker i of the port; SPSC */
    struct rte_ring *out[HOST_WORKERS_MAX]; /* [i]: to worker i, which has the ring in in[] */
    struct exception_queue exception; /* frames that are not Sluice's, from and to the kernel */
    struct port_queue_counters counters __rte_cache_aligned;
    struct port *port;
    uint32_t number; /* index in queues[] of struct daemon, and number of its channel */
} __rte_cache_aligned;

/* Any thread may call this. Stops or resumes the use of the port. The worker notices at its next
 * iteration (worker_pass()). Host and clients are served all the while. */
void port_queue_set_active(struct port_queue *q, bool active);

/* Runs one iteration at `now`. Returns how many things it did; 0: idle. */
uint32_t port_queue_run(struct port_queue *q, uint64_t now);
/* When port_queue_run() must be called again, if nothing arrives and no client asks. */
uint64_t port_queue_next(const struct port_queue *q, uint64_t now);
/* host_moderation() of the queue's host. There is no nap while frames wait for the port or for the
 * kernel, nor beside a wire (cable.h), which keeps times of its own. */
void port_queue_moderation(struct port_queue *q, uint64_t now, struct moderation_nap *nap);
/* Sets the queue's waiting times, which are in cycles. */
void port_queue_set_hz(struct port_queue *q, uint64_t hz);
/* Frees kept frames, and frames from other workers in the queue's rings. To call after the workers
 * stopped. */
void port_queue_drain(struct port_queue *q);
/* Makes the rings between the n queues of one port (queues[0] is worker 0). 0, or -ENOMEM with a
 * line in err. */
int port_queue_join(struct port_queue *queues, uint32_t n, char *err, size_t err_len);
void port_queue_part(struct port_queue *queues, uint32_t n);

#endif
