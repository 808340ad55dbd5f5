/* SPDX-License-Identifier: BSD-3-Clause */
/* The result of a transfer of files: a line for people, a JSON object for scripts. */
#ifndef SLUICE_COMMAND_SUMMARY_H
#define SLUICE_COMMAND_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "client/sluice.h"
#include "sluice/files/digest.h"
#include "sluice/report/limit.h"

struct summary {
    bool sending;
    bool copy, sync; /* of sluice cp, sluice sync */
    const char *from,
        *to;        /* hosts of a copy between two others, of which the sender tells; or NULL */
    bool stream;    /* summary_json() is the last of several events */
    uint64_t bytes; /* of files that the receiver has whole, holes included */
    uint64_t hole_bytes; /* holes among `bytes`: not on the wire */
    uint64_t kept_bytes; /* among `bytes`, those that an interrupted transfer had left */
    uint64_t files;      /* that the receiver has whole; directories do not count */
    uint64_t there_files, there_bytes; /* that the receiver had whole already; not in `files` */
    uint64_t failed;
    uint64_t start_ns, end_ns;
    uint32_t streams;           /* connections */
    struct sluice_stats stats;  /* of all of them */
    uint64_t cpu_ns;            /* of the process that tells; 0: it is this one */
    uint64_t limit_ns[LIMITS];  /* what limited this end for how long */
    char peer[SLUICE_PEER_MAX]; /* name of the peer whose key proved the connection; "": none */
    uint8_t hash[RECORD_HASH_BYTES]; /* of one file; of several: hash of their hashes, in order */
    bool unhashed;                   /* `hash` is not known */
    struct digest *hashes;
};

int summary_init(struct summary *s, bool sending);
void summary_fini(struct summary *s);
/* Counts one whole file. */
void summary_file(struct summary *s, uint64_t bytes, uint64_t hole_bytes, uint64_t kept_bytes,
                  const uint8_t hash[RECORD_HASH_BYTES]);
/* Adds what another connection of the same transfer has counted. Its peer, its units and the
 * reasons for grants are left out. */
void stats_add(struct sluice_stats *sum, const struct sluice_stats *more);
/* Takes the connection's counters and the name of its peer. */
void summary_take(struct summary *s, const struct sluice_conn *c);
/* The CPU time of the process that tells, until now, ns. */
uint64_t summary_cpu(const struct summary *s);
void summary_say(const struct summary *s);
void summary_json(const struct summary *s, int exit_code, FILE *out);

#endif
