/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Has the daemon copy the frames of a port into memory of the session (capture_ring.h). It is for
 * `sluice capture`, which links the static library; it is no part of libsluice.
 */
#ifndef SLUICE_CLIENT_CAPTURE_H
#define SLUICE_CLIENT_CAPTURE_H

#include <stdint.h>

#include "client/capture_ring.h"
#include "client/sluice.h"

struct client_capture {
    uint32_t port;       /* its index in the daemon's list "ports" */
    uint32_t interface;  /* what the blocks say */
    uint32_t snap_bytes; /* of each frame, at most so many bytes are copied */
    void *memory;        /* whole, from sluice_alloc() */
    /* What the daemon made of it: ring i begins at memory + i ring_bytes. */
    uint32_t rings;      /* at most PROTOCOL_CHANNELS_MAX */
    uint64_t ring_bytes; /* whole PROTOCOL_LINEs */
};

/* Begins a capture, which ends with the session; its memory cannot be freed before. Returns 0,
 * -EPERM if the user is neither root nor the daemon's own, or another negative errno;
 * sluice_error() says why. */
int client_capture_begin(struct sluice *s, struct client_capture *c);

#endif
