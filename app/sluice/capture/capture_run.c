/* SPDX-License-Identifier: BSD-3-Clause */
/* See capture_run.h. */
#include "sluice/capture/capture_run.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "sluice/say.h"

#define NAP_MIN_NS 1000000u
/* The default buffer holds what a port carries meanwhile at 25 Gb/s. */
#define NAP_MAX_NS 5000000u
#define BUSY       256u /* frames at once, after which there is no nap */

static uint64_t time_of_day_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * CLOCK_NS_PER_S + (uint64_t)t.tv_nsec;
}

/* ---- the rings --------------------------------------------------------------------------- */

static int port_begin(struct capture *c, struct capture_port *p, uint64_t buffer_bytes)
{
    int status;

    p->rings.memory = sluice_alloc(c->loop.session, buffer_bytes);
    if (p->rings.memory == NULL)
        return say_error(SAY_RESOURCE, "%s", sluice_error(c->loop.session));
    status = client_capture_begin(c->loop.session, &p->rings);
    if (status == -ENOTCONN || status == -EPROTO)
        return say_error(SAY_DAEMON, "%s: is this daemon older than this command?",
                         sluice_error(c->loop.session));
    if (status != 0)
        return say_error(say_code(status, false), "%s", sluice_error(c->loop.session));
    p->first_reader = c->n_readers;
    for (uint32_t i = 0; i < p->rings.rings; i++) {
        c->reader_ports[c->n_readers] = p->rings.interface;
        capture_reader_init(&c->readers[c->n_readers++],
                            (uint8_t *)p->rings.memory + i * p->rings.ring_bytes,
                            p->rings.ring_bytes);
    }
    return SAY_OK;
}

int capture_begin(struct capture *c, uint64_t buffer_bytes, uint32_t snap_bytes)
{
    int code = SAY_OK;

    c->begin_ns = time_of_day_ns();
    for (uint32_t i = 0; code == SAY_OK && i < c->n_ports; i++) {
        c->ports[i].rings.interface = i;
        c->ports[i].rings.snap_bytes = snap_bytes;
        code = port_begin(c, &c->ports[i], buffer_bytes);
    }
    return code;
}

uint64_t capture_port_dropped(const struct capture *c, uint32_t port)
{
    const struct capture_port *p = &c->ports[port];
    uint64_t dropped = 0;

    for (uint32_t i = 0; i < p->rings.rings; i++)
        dropped += c->readers[p->first_reader + i].dropped;
    return dropped;
}

/* Frames from the future are due, too: the time of day was set back since. Otherwise they would
 * wait until it comes again, and their ring would be full meanwhile. */
static bool frame_due(uint64_t time_ns, uint64_t until_ns)
{
    return time_ns <= until_ns || time_ns - until_ns > 2 * CAPTURE_LATE_NS;
}

/* The ring whose next frame is the oldest of those that are due; NULL: none. */
static struct capture_reader *reader_oldest(struct capture *c, uint64_t until_ns)
{
    struct capture_reader *oldest = NULL;
    uint64_t oldest_ns = UINT64_MAX;

    for (uint32_t i = 0; i < c->n_readers; i++) {
        const struct capture_block *b = capture_reader_next(&c->readers[i]);
        uint64_t time_ns = b != NULL ? capture_block_time_ns(b) : 0;

        if (b == NULL || !frame_due(time_ns, until_ns) || time_ns >= oldest_ns)
            continue;
        oldest_ns = time_ns;
        oldest = &c->readers[i];
    }
    return oldest;
}

uint64_t capture_until_ns(const struct capture *c, bool last, uint64_t now_ns)
{
    return last || c->n_readers == 1 ? UINT64_MAX : now_ns - CAPTURE_LATE_NS;
}

uint64_t capture_move(struct capture *c, uint64_t until_ns)
{
    struct capture_reader *r;
    uint64_t before = c->count;

    for (uint32_t i = 0; i < c->n_readers; i++)
        capture_reader_look(&c->readers[i]);
    while (c->count < c->count_max && c->file.error == 0 &&
           (r = reader_oldest(c, until_ns)) != NULL) {
        const struct capture_block *b = capture_reader_next(r);

        if (b == NULL) /* the daemon has changed it */
            continue;
        capture_file_frame(&c->file, b, r->block_bytes, c->reader_ports[r - c->readers]);
        c->count++;
        capture_reader_take(r);
        capture_reader_give(r);
    }
    for (uint32_t i = 0; i < c->n_readers; i++)
        c->broken = c->broken || c->readers[i].broken;
    return c->count - before;
}

/* ---- the run ----------------------------------------------------------------------------- */

static void file_begin(struct capture *c, uint32_t snap_bytes)
{
    char names[300] = "", description[200];
    size_t len = 0;

    for (uint32_t i = 0; i < c->n_ports && len < sizeof names; i++)
        len += (size_t)snprintf(names + len, sizeof names - len, "%s%s", i > 0 ? ", " : "",
                                c->ports[i].name);
    capture_file_begin(&c->file, names);
    for (uint32_t i = 0; i < c->n_ports; i++) {
        const struct capture_port *p = &c->ports[i];

        snprintf(description, sizeof description, "port of sluiced: %.60s, %u queue%s", p->driver,
                 p->rings.rings, p->rings.rings == 1 ? "" : "s");
        capture_file_interface(&c->file, p->name, description, snap_bytes);
    }
    capture_file_flush(&c->file);
}

static void file_end(struct capture *c)
{
    for (uint32_t i = 0; i < c->n_ports; i++) {
        struct capture_stats s = {.interface = i,
                                  .begin_ns = c->begin_ns,
                                  .end_ns = time_of_day_ns(),
                                  .dropped = capture_port_dropped(c, i),
                                  .written = c->file.interface_frames[i]};

        capture_file_stats(&c->file, &s);
    }
}

/* Has the time come to end, but for what the rings hold? */
static bool capture_over(struct capture *c)
{
    struct sluice_completion none;

    /* Nothing completes here. The poll notices a daemon that died, and lets loop_wait() sleep. */
    c->daemon_gone = sluice_poll(c->loop.session, &none, 1, 0) < 0;
    return c->daemon_gone || loop_signal() != 0 || loop_now() >= c->end_ns;
}

/* How long to sleep after so many frames, if the last nap was that long. */
static uint64_t nap_after(uint64_t frames, uint64_t last_ns)
{
    if (frames > 0)
        return frames < BUSY ? NAP_MIN_NS : 0;
    return last_ns < NAP_MIN_NS ? NAP_MIN_NS : last_ns < NAP_MAX_NS / 2 ? 2 * last_ns : NAP_MAX_NS;
}

void capture_run(struct capture *c, uint32_t snap_bytes)
{
    uint64_t nap = 0, now;
    bool over = false;

    file_begin(c, snap_bytes);
    while (!over && !c->broken && !c->reader_gone && c->count < c->count_max &&
           c->file.error == 0) {
        over = capture_over(c);
        nap = nap_after(capture_move(c, capture_until_ns(c, over, time_of_day_ns())), nap);
        capture_file_flush(&c->file);
        now = loop_now();
        if (!over && now < c->end_ns)
            c->reader_gone = loop_wait(&c->loop, c->file.is_pipe ? c->file.fd : -1,
                                       nap < c->end_ns - now ? nap : c->end_ns - now);
    }
    file_end(c);
}
