/* SPDX-License-Identifier: BSD-3-Clause */
/* The near end of `sluice cp`: starts the far end, and does its own half of the transfer. */
#ifndef SLUICE_COMMAND_NEAR_H
#define SLUICE_COMMAND_NEAR_H

#include <stdbool.h>
#include <stdint.h>

#include "sluice/cp/address.h"
#include "sluice/cp/message.h"
#include "sluice/options.h"
#include "sluice/rate/allowance.h"
#include "sluice/sync/sync.h"

struct near_options {
    struct options common;
    char *const *words; /* of the remote shell, up to the host; then the far end's own command */
    const char *host;   /* for messages */
    /* The same of the host that sends, for a copy between two other hosts (between.h), of which
     * `host` then receives. NULL: one of the ends is here. */
    char *const *from_words;
    const char *from_host;
    bool pull;            /* the far end sends; else it receives */
    char *const *sources; /* paths, of the far host if pull */
    int n_sources;
    const char *target;            /* a path, of this host if pull */
    const struct address *address; /* of the receiver, which the sender takes; NULL: it chooses */
    const char *name;              /* of standard input */
    uint16_t service;              /* of the receiver; 0: any free one */
    uint32_t buffers;
    uint32_t streams; /* connections; 0: as the sender chooses */
    struct allowance_options allowance;
    uint64_t max_bytes; /* of a file; 0: as the receiver decides */
    uint32_t keep_s;    /* how long the receiver keeps part files; 0: not at all */
    bool recursive, go_back_n, overwrite, fsync;
    bool direct;                     /* both ends: large files go past the page cache */
    bool resume;                     /* the sender sends only what the receiver does not have */
    const struct sync_options *sync; /* NULL: this is no sync */
    const char *manifest;            /* path of the one to be written; NULL: none */
};

/* What a far end that receives is told. directory: its target must be one. */
struct message_start near_start_receiver(const struct near_options *o,
                                         const uint8_t token[RECORD_TOKEN_BYTES], bool directory);
/* What a far end that sends is told. one_file: the target is no directory. service: the receiver's.
 */
struct message_start near_start_sender(const struct near_options *o,
                                       const uint8_t token[RECORD_TOKEN_BYTES], bool one_file,
                                       uint16_t service);
/* Whether the user has written the target as a directory. */
bool near_names_directory(const struct near_options *o);
/* Copies, with one of the ends here. Returns an exit code; errors are printed. */
int near_run(const struct near_options *o);

#endif
