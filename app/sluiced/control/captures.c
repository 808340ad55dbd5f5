/* SPDX-License-Identifier: BSD-3-Clause */
/* See captures.h. */
#include "sluiced/control/captures.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/say.h"
#include "sluiced/daemon.h"

struct capture {
    uint32_t port, n_queues;
    pid_t pid;
    struct capture_queue queues[];
};

static uint32_t captures_of(const struct daemon *d, uint32_t port)
{
    uint32_t n = 0;

    for (const struct capture_queue *c = d->queues[d->first_queue[port]].captures; c != NULL;
         c = c->next)
        n++;
    return n;
}

/* Divides the memory among the queues. 0, or negative errno with the reason in text. */
static int memory_divide(const struct daemon *d, struct session_capture *what, char *text,
                         size_t text_len)
{
    if (what->port >= d->n_ports) {
        snprintf(text, text_len, "no port has number %u", what->port);
        return -ENODEV;
    }
    what->rings = d->ports[what->port].queues;
    what->ring_bytes =
        RTE_MIN(what->len_bytes / what->rings, CAPTURE_RING_MAX) & ~(uint64_t)(PROTOCOL_PAGE - 1);
    if (what->ring_bytes < CAPTURE_RING_MIN) {
        snprintf(text, text_len, "%" PRIu64 " bytes are too few for %u queues: give %u for each",
                 what->len_bytes, what->rings, CAPTURE_RING_MIN);
        return -EINVAL;
    }
    if (captures_of(d, what->port) == CAPTURES_PORT_MAX) {
        snprintf(text, text_len, "port %.64s has %u captures already: end one of them",
                 d->ports[what->port].cfg->name, CAPTURES_PORT_MAX);
        return -EBUSY;
    }
    return 0;
}

int captures_begin(void *daemon, struct session_capture *what, struct capture **made, char *text,
                   size_t text_len)
{
    struct daemon *d = daemon;
    int status = memory_divide(d, what, text, text_len);
    struct capture *c;

    if (status != 0)
        return status;
    c = calloc(1, sizeof *c + what->rings * sizeof c->queues[0]);
    if (c == NULL) {
        snprintf(text, text_len, "sluiced has no memory for a capture");
        return -ENOMEM;
    }
    c->port = what->port;
    c->pid = what->pid;
    c->n_queues = what->rings;
    d->n_captures++;
    capture_clock_set(&d->capture_clock);
    for (uint32_t i = 0; i < c->n_queues; i++) {
        struct capture_queue *q = &c->queues[i];

        q->clock = &d->capture_clock;
        q->interface = what->interface;
        q->queue = i;
        q->snap_bytes = what->snap_bytes;
        capture_queue_init(q, what->memory + i * what->ring_bytes, what->ring_bytes);
        capture_add(&d->queues[d->first_queue[c->port] + i].captures, q);
    }
    say_port(SAY_NOTICE, d->ports[c->port].cfg->name,
             "captured from now on, by process %d of user %u", (int)what->pid, what->uid);
    *made = c;
    return 0;
}

void captures_end(void *daemon, struct capture *c)
{
    struct daemon *d = daemon;

    for (uint32_t i = 0; i < c->n_queues; i++)
        capture_remove(&d->queues[d->first_queue[c->port] + i].captures, &c->queues[i]);
}

void captures_free(void *daemon, struct capture *c)
{
    struct daemon *d = daemon;
    uint64_t frames = 0, dropped = 0;

    for (uint32_t i = 0; i < c->n_queues; i++) {
        frames += c->queues[i].frames;
        dropped += c->queues[i].end.dropped;
    }
    say_port(SAY_NOTICE, d->ports[c->port].cfg->name,
             "the capture of process %d has ended: %" PRIu64 " frames, of which it had no room for "
             "%" PRIu64,
             (int)c->pid, frames, dropped);
    d->n_captures--;
    free(c);
}

void captures_tick(struct daemon *d)
{
    if (d->n_captures > 0)
        capture_clock_set(&d->capture_clock);
}
