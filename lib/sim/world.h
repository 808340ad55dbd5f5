/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A world in virtual time: hosts around a switch, each on two paths of its own (to the switch and
 * from it) or on a plain link, with a port that can be in trouble. The same calls in the same order
 * give the same world, bit for bit.
 *
 * Time: cycles at WORLD_HZ (1 GHz: a cycle is a nanosecond). A host is polled when it asks
 * (host_next), when frames are in its ring, or when world_wake() asked for it, but never sooner
 * after the last poll than its port allows. Events of the same time come in this order: frames,
 * troubles, control, polls; each kind by number. Frames are copied onto the wire, so a sender's
 * memory is free once its frame has left.
 *
 *   host_tx -> made() -> port -> fate() -> link or path up -> switch -> path down -> ring -> rx()
 */
#ifndef SLUICE_SIM_WORLD_H
#define SLUICE_SIM_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "crypto/aead.h"
#include "host/host.h"
#include "sim/rss.h"

#define WORLD_HZ        1000000000ull
#define WORLD_HOSTS_MAX 256u

struct path;
struct world;

/* What becomes of one frame. */
struct world_fate {
    uint32_t copies;      /* 0: lost; 1: as usual; 2: delivered twice */
    uint64_t extra_ns[2]; /* further delay of each copy */
};

/* Troubles that a port may have now and then. */
enum world_trouble {
    WORLD_STALL,         /* the worker does not run */
    WORLD_TX_REFUSED,    /* the port takes no frames */
    WORLD_RX_NO_MBUF,    /* arriving frames are lost: the port has no mbufs for them */
    WORLD_HEADS_OUT,     /* the host's pool of heads is empty */
    WORLD_BODIES_OUT,    /* the host's pool for payload, attached or copied, is empty */
    WORLD_CONTROL_STALL, /* the host's control core does not run */
    WORLD_CUT,           /* the cable is unplugged: frames are lost in both directions */
    WORLD_TROUBLES
};

/* A trouble comes in spells of 1 to 2 * spell_ns, with gaps of 1 to 2 * gap_ns between them. gap_ns
 * 0: never. */
struct world_spell {
    uint64_t gap_ns, spell_ns;
};

struct world_port {
    const char *up, *down;   /* specs of paths (path/path.h); NULL: the world's plain link */
    uint32_t ring;           /* frames that wait for the host at most; 0: no limit */
    bool uncounted;          /* the port does not count frames that its ring refuses, as net_tap */
    uint16_t burst;          /* frames of a poll, at most, 1 .. 32; 0: 32 */
    uint64_t poll_ns;        /* least time between polls; 0: the world's */
    uint64_t poll_spread_ns; /* up to so much is added to poll_ns, drawn at random */
    uint64_t nap_max_ns; /* after a poll with work, the host is left alone for as long as it allows
                            (host_moderation), for so long at most */
    /* How many bytes of frames, taken or given, the host works through in a second. It is not
     * polled while at work. 0: work takes no time. */
    uint64_t service_Bps;
    /* What a frame beyond its sender's grant costs of service_Bps: the host reads its headers and
     * drops it. 0: as much as any other frame. */
    uint32_t drop_bytes;
    /* A frame that finds the ring empty stops the host for so long before it is taken: the host
     * turns from sending to receiving. */
    uint64_t turn_ns;
    uint64_t keep_ns; /* frames refused for so long are given up */
    uint64_t seed;    /* of the random numbers of the port and its paths */
    bool caught;      /* a stall may begin between making frames and offering them */
    /* Assigns frames to queues; NULL: all to the first. Must outlive the world. */
    const struct rss *rss;
    struct world_spell spell[WORLD_TROUBLES];
};

struct world_config {
    uint64_t delay_ns;   /* one way, of plain links */
    uint64_t rate_Bps;   /* of each host's link, wire bytes; 0: infinitely fast */
    uint64_t queue_ns;   /* frames that would wait longer for the link are dropped; 0: no limit */
    uint64_t poll_ns;    /* least time between polls, > 0 */
    uint64_t control_ns; /* control interval; 0: no control core */
    uint32_t frames_max; /* in flight on plain links at once; more are dropped */
    struct rte_mempool *pool; /* for frames on the wire, one mbuf or more each; empty: lost */
    /* Decides each frame's fate, in the order of sending; NULL: all arrive. It may read the frame
     * (linear) and, once fate->copies is decided, change its bytes. Extra delay applies on plain
     * links only. */
    void (*fate)(void *ctx, uint32_t from, struct rte_mbuf *m, uint64_t now,
                 struct world_fate *fate);
    /* Shows the frames that host_tx() has just given, as chains of mbufs; not to be changed. */
    void (*made)(void *ctx, uint32_t i, struct rte_mbuf *const *m, uint16_t n, uint64_t now);
    /* Called when host i is about to get these frames (linear), and with n 0 when it has taken
     * them. */
    void (*rx)(void *ctx, uint32_t i, struct rte_mbuf *const *m, uint16_t n, uint64_t now);
    /* The host's application: called after each poll of host i. */
    void (*app)(void *ctx, uint32_t i, struct host *h, uint64_t now);
    void *ctx;
};

/* Secrets that follow from a seed, for a host of a world: nothing is secret there, and the same
 * seed must give the same packets. */
static inline struct host_secrets world_secrets(uint64_t seed, uint8_t worker)
{
    return (struct host_secrets){{seed, worker}, {~seed, worker}, seed};
}

struct world *world_create(const struct world_config *cfg);
void world_destroy(struct world *w); /* destroys its hosts, too */

/* Adds a host. Sets cfg->hz to WORLD_HZ and cfg->control_ns to the world's. Its port sends a frame
 * that carries a time (cfg->tx_lead_ns) at that time, no matter when it got the frame. port NULL:
 * a plain link, and no troubles. Returns the host's number, or -1 with a message in err. */
int world_add(struct world *w, struct host_config *cfg, const struct world_port *port, char *err,
              size_t err_len);
/* Adds another worker, with a queue of its own, to the port of the newest host: the next one of
 * cfg->workers. cfg is as for that host except cfg->worker. Workers hand frames over as
 * app/sluiced's port queues do. fate() and the links are the port's, and go by the number of its
 * first host; all else is by worker. */
int world_add_worker(struct world *w, struct host_config *cfg, char *err, size_t err_len);
/* Host i, the first of its port, forgets all associations, as after a restart. seed: as given to
 * world_secure(). */
void world_forget(struct world *w, uint32_t i, uint64_t seed);
/* From now on, host i, the first of its port, has these rights for all its peers. seed: as given to
 * world_secure(). */
void world_permit(struct world *w, uint32_t i, uint64_t seed, const struct assoc_rights *rights);
/* The public key of host i, the first of its port. seed: as given to world_secure(). */
void world_public_key(const struct world *w, uint32_t i, uint64_t seed, uint8_t key[DH_BYTES]);
struct host *world_host(struct world *w, uint32_t i);
/* Gives each port whose hosts have security a key of its own, which follows from the seed, and
 * makes all of them known to each other. To be called once, after all hosts have been added.
 * cipher: the one that all prefer. */
void world_secure(struct world *w, uint64_t seed, enum aead_cipher cipher);
/* The control of the host's port; NULL without a control core. */
struct host_control *world_control(struct world *w, uint32_t i);

uint64_t world_now(const struct world *w);
/* Runs until the time `until`; first polls every host. False if nothing can happen any more. */
bool world_run(struct world *w, uint64_t until);
/* Host i is polled, and app() called, no later than `when` if its port allows. */
void world_wake(struct world *w, uint32_t i, uint64_t when);
/* Ends all troubles, for good, and makes all paths plain links. Packets on the paths are lost. */
void world_calm(struct world *w);
/* Makes host i faster or slower. */
void world_service(struct world *w, uint32_t i, uint64_t service_Bps);
/* Sends a frame as if host i had sent it: fate() and the delay of its link or path apply. Frees the
 * mbuf, since the wire carries a copy. Must not be called within fate(). */
void world_emit(struct world *w, uint32_t i, struct rte_mbuf *m);
/* Puts a frame on the wire towards host i, arriving now. Takes the mbuf. */
void world_inject(struct world *w, uint32_t i, struct rte_mbuf *m);

/* Counts so far. */
struct world_counts {
    uint64_t sent;       /* frames that ports took */
    uint64_t delivered;  /* frames that came to a host's port */
    uint64_t overflowed; /* dropped: a full link queue, or too many in flight */
    uint64_t cut;        /* lost with a cable */
    uint64_t refused;    /* polls whose frames were not taken */
    uint64_t given_up;   /* frames that were refused for too long */
    uint64_t polls;
    uint64_t spells[WORLD_TROUBLES];
    uint64_t stalled_ns; /* time in stalls, of all hosts together */
    uint64_t napped_ns;  /* time in naps, likewise */
};
const struct world_counts *world_counts(const struct world *w);
/* The path of host i up to the switch or down from it; NULL on a plain link. */
const struct path *world_path(const struct world *w, uint32_t i, bool up);
/* What the port of host i lost, and how busy its loop was. */
const struct host_port_counters *world_port_counters(const struct world *w, uint32_t i);

#endif
