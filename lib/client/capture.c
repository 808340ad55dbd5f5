/* SPDX-License-Identifier: BSD-3-Clause */
#include "client/capture.h"

#include <errno.h>

#include "client/state.h"

int client_capture_begin(struct sluice *s, struct client_capture *c)
{
    struct protocol_request q = {.type = PROTOCOL_CAPTURE};
    const struct client_region *r = client_region_find(s, c->memory, 1);
    struct protocol_reply a;
    int err;

    if (r == NULL || r->base != c->memory)
        return client_fail(s, -EINVAL, "%p was not allocated by sluice_alloc()", c->memory);
    q.u.capture = (struct protocol_capture){.region_id = r->id,
                                            .port = c->port,
                                            .interface = c->interface,
                                            .snap_bytes = c->snap_bytes};
    err = client_ask(s, &q, -1, &a, NULL, NULL);
    if (err < 0)
        return err;
    if (a.u.captured.rings == 0 || a.u.captured.rings > PROTOCOL_CHANNELS_MAX ||
        a.u.captured.ring_bytes < CAPTURE_RING_MIN ||
        a.u.captured.ring_bytes % PROTOCOL_LINE != 0 ||
        a.u.captured.ring_bytes > r->len_bytes / a.u.captured.rings)
        return client_fail(s, -EPROTO, "invalid rings from the daemon: do versions differ?");
    c->rings = a.u.captured.rings;
    c->ring_bytes = a.u.captured.ring_bytes;
    return 0;
}
