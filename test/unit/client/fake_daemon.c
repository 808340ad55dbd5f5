/* SPDX-License-Identifier: BSD-3-Clause */
/* See fake_daemon.h. */
#include "unit/client/fake_daemon.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/check.h"
#include "client/capture_ring.h"
#include "sluiced/session/session.h"

struct fake_worker {
    pthread_t thread;
    struct fake_daemon *d;
    struct channels *channels;
};

struct fake_daemon {
    struct fake_daemon_config cfg;
    struct sessions *sessions;
    struct host **hosts;
    struct fake_worker *workers;
    pthread_t control;
    int stop; /* 1: the sessions end; 2: the workers return */
    uint64_t mapped_bytes;
    uint32_t captures;     /* atomic */
    uint32_t texts;        /* made for SHOW in this sessions_poll() */
    uint32_t texts_max;    /* atomic: the most of them in any */
    struct access *reload; /* rules that control takes; NULL: none */
};

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int daemon_route(void *ctx, const struct addr *peer)
{
    struct fake_daemon *d = ctx;

    if (!addr_is_v4(peer) || addr_to_v4(peer) >> 16 != 0x0a00)
        return -EHOSTUNREACH;
    return (int)(addr_to_v4(peer) % d->cfg.channels);
}

static char *daemon_show(void *ctx, const char *what, const struct access_user *viewer)
{
    struct fake_daemon *d = ctx;
    uint32_t i, n = d->cfg.show_bytes;
    char *text;

    if (++d->texts > d->texts_max)
        __atomic_store_n(&d->texts_max, d->texts, __ATOMIC_RELAXED);
    if (strcmp(what, "conns") != 0)
        return NULL;
    text = malloc(n + 1);
    CHECK(text != NULL);
    for (i = 0; i < n; i++)
        text[i] = (char)('a' + i % 23);
    text[n] = 0;
    return text;
}

/* "say X" answers X. Anything else is refused. */
static int daemon_command(void *ctx, const char *line, char *text, size_t text_len)
{
    bool said = strncmp(line, "say ", 4) == 0;

    snprintf(text, text_len, said ? "%.150s" : "no: %.150s", said ? line + 4 : line);
    return said ? 0 : -EDOM;
}

static int daemon_map(void *ctx, void *memory, uint64_t len_bytes)
{
    struct fake_daemon *d = ctx;

    __atomic_fetch_add(&d->mapped_bytes, len_bytes, __ATOMIC_RELAXED);
    return 0;
}

static void daemon_unmap(void *ctx, void *memory, uint64_t len_bytes)
{
    struct fake_daemon *d = ctx;

    __atomic_fetch_sub(&d->mapped_bytes, len_bytes, __ATOMIC_RELAXED);
}

struct capture {
    uint8_t *memory, fill;
    uint64_t len_bytes;
    bool ended;
};

/* A hostile client may give memory that it uses for its rings, too, and that workers read
 * meanwhile. ThreadSanitizer does not see what a client in another process writes, and shall not
 * see this. */
__attribute__((noinline, no_sanitize("thread"))) static void capture_fill(struct capture *c)
{
    volatile uint8_t *memory = c->memory;

    for (uint64_t i = 0; i < c->len_bytes; i++)
        memory[i] = c->fill;
}

static int daemon_capture(void *ctx, struct session_capture *what, struct capture **made,
                          char *text, size_t text_len)
{
    struct fake_daemon *d = ctx;
    struct capture *c;

    if (what->port > 1) {
        snprintf(text, text_len, "no port %u", what->port);
        return -ENODEV;
    }
    c = calloc(1, sizeof *c);
    CHECK(c != NULL);
    c->memory = what->memory;
    c->len_bytes = what->len_bytes;
    c->fill = (uint8_t)(what->interface + what->snap_bytes);
    capture_fill(c);
    what->rings = d->cfg.channels;
    what->ring_bytes = what->len_bytes / what->rings;
    if (what->interface >= FAKE_CAPTURE_RINGS) {
        what->rings = what->interface - FAKE_CAPTURE_RINGS;
        what->ring_bytes = (uint64_t)what->snap_bytes * FAKE_CAPTURE_UNIT;
    }
    __atomic_fetch_add(&d->captures, 1, __ATOMIC_RELAXED);
    *made = c;
    return 0;
}

static void daemon_capture_end(void *ctx, struct capture *c)
{
    CHECK(!c->ended);
    c->ended = true;
}

static void daemon_capture_free(void *ctx, struct capture *c)
{
    struct fake_daemon *d = ctx;

    CHECK(c->ended);
    capture_fill(c); /* it is there until now */
    __atomic_fetch_sub(&d->captures, 1, __ATOMIC_RELAXED);
    free(c);
}

uint32_t fake_daemon_texts_max(const struct fake_daemon *d)
{
    return __atomic_load_n(&d->texts_max, __ATOMIC_RELAXED);
}

uint32_t fake_daemon_captures(const struct fake_daemon *d)
{
    return __atomic_load_n(&d->captures, __ATOMIC_RELAXED);
}

static void *daemon_work(void *arg)
{
    struct fake_worker *w = arg;

    while (__atomic_load_n(&w->d->stop, __ATOMIC_ACQUIRE) < 2) {
        if (channels_poll(w->channels, now_ns()) == 0)
            sched_yield();
    }
    return NULL;
}

static void *daemon_control(void *arg)
{
    struct fake_daemon *d = arg;
    struct pollfd p = {.fd = sessions_fd(d->sessions), .events = POLLIN};
    uint64_t end;

    while (__atomic_load_n(&d->stop, __ATOMIC_ACQUIRE) == 0) {
        struct access *a = __atomic_exchange_n(&d->reload, NULL, __ATOMIC_ACQ_REL);

        if (a != NULL)
            sessions_set_access(d->sessions, a);
        poll(&p, 1, 1);
        d->texts = 0;
        sessions_poll(d->sessions);
    }
    end = now_ns() + 20000000000u;
    sessions_stop(d->sessions, WIRE_END_SHUTDOWN);
    while (!sessions_idle(d->sessions)) {
        CHECK(now_ns() < end);
        poll(&p, 1, 1);
        d->texts = 0;
        sessions_poll(d->sessions);
    }
    return NULL;
}

static void daemon_free(struct fake_daemon *d)
{
    uint32_t i;

    for (i = 0; i < d->cfg.channels; i++)
        fake_host_destroy(d->hosts[i]);
    free(d->hosts);
    free(d->workers);
    free(d);
}

struct fake_daemon *fake_daemon_start(const struct fake_daemon_config *cfg, char *err,
                                      size_t err_len)
{
    struct fake_daemon *d = calloc(1, sizeof *d);
    struct sessions_config s = {.socket_path = cfg->socket_path,
                                .max_sessions = cfg->max_sessions,
                                .quota_bytes = cfg->quota_bytes,
                                .quota_total_bytes = cfg->quota_total_bytes,
                                .socket_group = cfg->socket_group,
                                .n_hosts = cfg->channels,
                                .route = daemon_route,
                                .show = daemon_show,
                                .command = daemon_command,
                                .map = daemon_map,
                                .unmap = daemon_unmap,
                                .capture = daemon_capture,
                                .capture_end = daemon_capture_end,
                                .capture_free = daemon_capture_free,
                                .access = cfg->access,
                                .ctx = d};
    uint32_t i;

    CHECK(d != NULL);
    d->cfg = *cfg;
    d->hosts = calloc(cfg->channels, sizeof *d->hosts);
    d->workers = calloc(cfg->channels, sizeof *d->workers);
    CHECK(d->hosts != NULL && d->workers != NULL);
    for (i = 0; i < cfg->channels; i++) {
        struct fake_host_config h = cfg->host;

        h.seed += i;
        if (i + 1 == cfg->channels && cfg->last_services_max > 0)
            h.services_max = cfg->last_services_max;
        d->hosts[i] = fake_host_create(&h);
    }
    s.hosts = d->hosts;
    d->sessions = sessions_create(&s, err, err_len);
    if (d->sessions == NULL) {
        daemon_free(d);
        return NULL;
    }
    for (i = 0; i < cfg->channels; i++) {
        d->workers[i].d = d;
        d->workers[i].channels = sessions_channels(d->sessions, i);
        CHECK(pthread_create(&d->workers[i].thread, NULL, daemon_work, &d->workers[i]) == 0);
    }
    CHECK(pthread_create(&d->control, NULL, daemon_control, d) == 0);
    return d;
}

void fake_daemon_stop(struct fake_daemon *d)
{
    uint32_t i;

    __atomic_store_n(&d->stop, 1, __ATOMIC_RELEASE);
    pthread_join(d->control, NULL);
    __atomic_store_n(&d->stop, 2, __ATOMIC_RELEASE);
    for (i = 0; i < d->cfg.channels; i++)
        pthread_join(d->workers[i].thread, NULL);
    sessions_destroy(d->sessions);
    CHECK(d->mapped_bytes == 0);
    daemon_free(d);
}

void fake_daemon_reload(struct fake_daemon *d, struct access *access)
{
    free(__atomic_exchange_n(&d->reload, access, __ATOMIC_ACQ_REL));
    while (__atomic_load_n(&d->reload, __ATOMIC_ACQUIRE) != NULL)
        sched_yield();
}

void fake_daemon_counts(const struct fake_daemon *d, uint32_t channel, struct fake_counts *out)
{
    fake_host_counts(d->hosts[channel], out);
}

uint64_t fake_daemon_mapped_bytes(const struct fake_daemon *d)
{
    return __atomic_load_n(&d->mapped_bytes, __ATOMIC_RELAXED);
}
