/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The daemon's session code (app/sluiced/session*.c, channel*.c) on fake hosts: one thread per
 * worker, one for control. Peer 10.0.0.N leads to channel N % channels; 10.9.x.x leads nowhere.
 */
#ifndef TEST_CLIENT_FAKE_DAEMON_H
#define TEST_CLIENT_FAKE_DAEMON_H

#include <stddef.h>
#include <stdint.h>

#include "unit/client/fake_host.h"

#ifdef __cplusplus
extern "C" {
#endif

struct access;
struct fake_daemon;

struct fake_daemon_config {
    struct fake_host_config host;
    uint32_t channels;
    uint32_t max_sessions;
    uint64_t quota_bytes, quota_total_bytes;
    const char *socket_group;
    uint32_t show_bytes;        /* length of the text of "conns" */
    uint32_t last_services_max; /* of the last host, if it differs; 0: the same */
    const char *socket_path;
    struct access *access; /* from malloc; the daemon takes it over */
};

/* On failure returns NULL, with the reason in err. */
struct fake_daemon *fake_daemon_start(const struct fake_daemon_config *cfg, char *err,
                                      size_t err_len);
/* Ends all sessions, as a daemon does on SIGTERM. Aborts after 20 s. */
void fake_daemon_stop(struct fake_daemon *d);
/* Replaces the rules, as a reload does; access: as in the configuration. Returns once control has
 * them. */
void fake_daemon_reload(struct fake_daemon *d, struct access *access);
void fake_daemon_counts(const struct fake_daemon *d, uint32_t channel, struct fake_counts *out);
/* The memory that is mapped for the ports now. */
uint64_t fake_daemon_mapped_bytes(const struct fake_daemon *d);
/* The captures that have begun and are not freed. There are ports 0 and 1, and one ring for each
 * channel. A capture fills its memory with its interface + snap_bytes while it runs, and once more
 * when it is freed. With interface FAKE_CAPTURE_RINGS + n, the
 * answer says n rings of snap_bytes * FAKE_CAPTURE_UNIT. */
#define FAKE_CAPTURE_RINGS 1000u
#define FAKE_CAPTURE_UNIT  32u /* bytes, less than a PROTOCOL_LINE */
uint32_t fake_daemon_captures(const struct fake_daemon *d);
/* The most texts that were made for SHOW in one sessions_poll(). */
uint32_t fake_daemon_texts_max(const struct fake_daemon *d);

#ifdef __cplusplus
}
#endif
#endif
