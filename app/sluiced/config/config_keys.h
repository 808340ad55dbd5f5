/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The keys that a configuration names: reads them from their files, at start and at each reload,
 * and checks what depends on them. A private key stays as it was read at start until the daemon
 * starts again; peers' keys change with each reload.
 *
 * Invariant: what the files hold is in struct config_secrets and nowhere else: in memory that is
 * left out of core dumps, and wiped when it is freed. No message, log line or telemetry has it.
 */
#ifndef SLUICED_CONFIG_KEYS_H
#define SLUICED_CONFIG_KEYS_H

#include <stddef.h>
#include <stdint.h>

#include "assoc/assoc.h"
#include "crypto/noise.h"
#include "sluiced/config/config.h"

struct config_secrets {
    struct noise_self self;
    /* The peers that have a public key, in the order of the file: for assoc_set_peers(). peers[i]
     * is that of the section config.peers[section[i]]. */
    uint32_t n_peers;
    struct assoc_peer peers[CONFIG_PEERS_MAX];
    uint32_t section[CONFIG_PEERS_MAX];
};

/* What the keys are read for. */
enum config_keys_use {
    CONFIG_KEYS_START,
    /* Ports may require security although no peer has a key: the last one was revoked. This is no
     * error, but err has the line then. */
    CONFIG_KEYS_RELOAD,
    /* By any user: the files may belong to the user that the daemon will run as. */
    CONFIG_KEYS_CHECK,
};

/*
 * Reads the keys that *c names, which config_load() has filled from `path`, into c->secrets; NULL
 * if there is no private key. Returns 0, or a negative errno with a line "FILE:LINE: [SECTION] KEY:
 * CAUSE; CURE" in err; -EACCES: this user cannot read one of the files. On an error c->secrets is
 * NULL.
 */
int config_keys_load(struct config *c, const char *path, enum config_keys_use use, char *err,
                     size_t err_len);
/* Can the peers of *next, read from `path`, be taken while *now runs? Its private key is in force
 * until it restarts, so no peer may have that, whatever the file has now. Else -EINVAL, and a line
 * in err. */
int config_keys_check(const struct config *now, const struct config *next, const char *path,
                      char *err, size_t err_len);
/* Takes the keys of the peers of *next, if both have keys. To be called before the sections of
 * peers are taken. */
void config_keys_take(struct config *now, const struct config *next);
/* Wipes and frees c->secrets. */
void config_keys_free(struct config *c);

/* The key that this peer of *c shares with us; NULL: it was not read, or there is none. */
const uint8_t *config_keys_shared(const struct config *c, uint32_t peer);
/* How many peers have a public key. */
uint32_t config_keys_count(const struct config *c);

#endif
