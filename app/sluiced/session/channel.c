/* SPDX-License-Identifier: BSD-3-Clause */
/* See channel.h: creation, control's messages, and the worker's round over its sessions. */
#include "sluiced/session/channel.h"

#include <errno.h>
#include <stdio.h>

#include <rte_common.h>
#include <rte_malloc.h>
#include <rte_ring_elem.h>

#include "base/check.h"
#include "sluiced/session/session.h"
#include "sluiced/worker/wakeup.h"

/* ---- control side ----------------------------------------------------------------------- */

static struct rte_ring *channel_ring(const struct channels *c, const char *way, uint32_t sessions)
{
    char name[RTE_RING_NAMESIZE];

    /* 4 places per session: it has at most one request, one DETACH and one fault under way. One
     * CHANNEL_ACCESS has room in those. */
    snprintf(name, sizeof name, "ch%s%p", way, (const void *)c);
    return rte_ring_create_elem(name, sizeof(struct channel_message),
                                rte_align32pow2(4 * sessions + 1), SOCKET_ID_ANY,
                                RING_F_SP_ENQ | RING_F_SC_DEQ);
}

struct channels *channels_create(struct host *h, uint32_t max_sessions)
{
    struct channels *c = rte_zmalloc(NULL, sizeof *c, RTE_CACHE_LINE_SIZE);

    if (c == NULL)
        return NULL;
    c->host = h;
    c->clock.hz = host_get_config(h)->hz;
    c->max_sessions = max_sessions;
    c->attached = rte_zmalloc(NULL, max_sessions * sizeof(void *), RTE_CACHE_LINE_SIZE);
    c->slots = rte_zmalloc(NULL, max_sessions * sizeof(void *), RTE_CACHE_LINE_SIZE);
    c->in = channel_ring(c, "in", max_sessions);
    c->out = channel_ring(c, "out", max_sessions);
    if (c->attached == NULL || c->slots == NULL || c->in == NULL || c->out == NULL) {
        channels_destroy(c);
        return NULL;
    }
    return c;
}

void channels_destroy(struct channels *c)
{
    if (c == NULL)
        return;
    rte_ring_free(c->in);
    rte_ring_free(c->out);
    rte_free(c->attached);
    rte_free(c->slots);
    rte_free(c);
}

void channels_tell(struct channels *c, const struct channel_message *m)
{
    struct channel_message copy = *m;

    CHECK(rte_ring_sp_enqueue_elem(c->in, &copy, sizeof copy) == 0);
    channels_ring(c);
}

void channels_ring(struct channels *c)
{
    if (c->wakeup != NULL)
        wakeup_signal(c->wakeup);
}

void channels_set_wakeup(struct channels *c, const struct wakeup *wakeup)
{
    c->wakeup = wakeup;
}

bool channels_hear(struct channels *c, struct channel_message *m)
{
    return rte_ring_sc_dequeue_elem(c->out, m, sizeof *m) == 0;
}

/* ---- worker side: messages -------------------------------------------------------------- */

static void channel_attach(struct channels *c, const struct channel_message *m)
{
    struct channel_session *cs = m->data;

    CHECK(m->slot < c->max_sessions && c->slots[m->slot] == NULL);
    c->slots[m->slot] = cs;
    c->attached[c->n_attached++] = cs;
    channel_answer(c, m, 0);
}

static int channel_listen(struct channels *c, struct channel_session *cs, uint16_t service)
{
    int err;

    if (cs->n_services == PROTOCOL_SERVICES_MAX)
        return -ENOSPC;
    err = host_listen(c->host, service);
    if (err == 0)
        cs->services[cs->n_services++] = service;
    return err;
}

static int channel_unlisten(struct channels *c, struct channel_session *cs, uint16_t service)
{
    uint8_t i;

    for (i = 0; i < cs->n_services; i++) {
        if (cs->services[i] == service) {
            host_unlisten(c->host, service);
            cs->services[i] = cs->services[--cs->n_services];
            return 0;
        }
    }
    return -ENOENT;
}

/* Refuses with -EBUSY while an operation uses the region, or a port may still read from it. */
static int channel_region_drop(struct channels *c, struct channel_session *cs, uint32_t id)
{
    uint32_t i;

    if (cs->regions[id].refs > 0 || cs->n_closing > 0)
        return -EBUSY;
    for (i = 0; i < cs->n_active; i++) {
        const struct channel_handle *h = &cs->handles[cs->active[i]];

        if (h->failed && !channel_handle_gone(c, h))
            return -EBUSY;
    }
    cs->regions[id].base = NULL;
    cs->regions[id].len_bytes = 0;
    return 0;
}

/* channel_finish() answers DETACH, when everything is closed. */
static void channel_detach(struct channels *c, struct channel_session *cs, enum wire_end end)
{
    cs->ending = true;
    cs->end = (uint8_t)end;
    while (cs->n_services > 0)
        channel_unlisten(c, cs, cs->services[0]);
}

static void channel_access(struct channels *c, const struct channel_message *m, uint64_t now)
{
    c->access = m->data;
    for (uint32_t i = 0; i < c->n_attached; i++)
        channel_deny(c, c->attached[i], now);
    channel_answer(c, m, 0);
}

static void channel_obey(struct channels *c, const struct channel_message *m, uint64_t now)
{
    struct channel_session *cs;
    int status = 0;

    if (m->type == CHANNEL_ATTACH) {
        channel_attach(c, m);
        return;
    }
    if (m->type == CHANNEL_ACCESS) {
        channel_access(c, m, now);
        return;
    }
    CHECK(m->slot < c->max_sessions);
    cs = c->slots[m->slot];
    CHECK(cs != NULL);
    switch (m->type) {
    case CHANNEL_DETACH:
        channel_detach(c, cs, (enum wire_end)m->id);
        return;
    case CHANNEL_REGION_ADD:
        CHECK(m->id < PROTOCOL_REGIONS_MAX);
        cs->regions[m->id].base = m->data;
        cs->regions[m->id].len_bytes = m->len_bytes;
        break;
    case CHANNEL_REGION_DROP:
        CHECK(m->id < PROTOCOL_REGIONS_MAX);
        status = channel_region_drop(c, cs, m->id);
        break;
    case CHANNEL_LISTEN:
        status = channel_listen(c, cs, (uint16_t)m->id);
        break;
    case CHANNEL_UNLISTEN:
        status = channel_unlisten(c, cs, (uint16_t)m->id);
        break;
    default:
        CHECK(false);
    }
    channel_answer(c, m, status);
}

static uint32_t channel_messages(struct channels *c, uint64_t now)
{
    struct channel_message m;
    uint32_t n = 0;

    while (n < CHANNEL_MESSAGES && rte_ring_sc_dequeue_elem(c->in, &m, sizeof m) == 0) {
        channel_obey(c, &m, now);
        n++;
    }
    return n;
}

/* Returns an ending session to control when all its handles are free. True if it did. */
static bool channel_finish(struct channels *c, struct channel_session *cs, uint32_t index)
{
    struct channel_message m = {.type = CHANNEL_DETACH, .slot = cs->slot};

    if (!cs->ending || cs->n_active > 0)
        return false;
    CHECK(cs->owed == 0);
    c->attached[index] = c->attached[--c->n_attached];
    c->slots[cs->slot] = NULL;
    channel_answer(c, &m, 0);
    return true;
}

bool channels_sleep(struct channels *c)
{
    bool may = true;

    for (uint32_t i = 0; i < c->n_attached; i++) {
        struct channel_session *cs = c->attached[i];

        may = protocol_sleep(cs->ring, cs->sq_head) && cs->n_closing == 0 && !cs->ending && may;
    }
    return may;
}

void channels_awake(struct channels *c)
{
    for (uint32_t i = 0; i < c->n_attached; i++)
        __atomic_store_n(&c->attached[i]->ring->asleep, 0, __ATOMIC_RELAXED);
}

uint32_t channels_poll(struct channels *c, uint64_t now)
{
    uint32_t done = channel_messages(c, now), i = 0;

    done += channel_completions(c);
    while (i < c->n_attached) {
        struct channel_session *cs = c->attached[i];

        if (cs->n_closing > 0 || cs->ending)
            done += channel_reap(c, cs, now);
        if (!cs->faulted && !cs->ending) {
            done += channel_submit(c, cs, now);
            channel_status(c, cs, now);
        }
        if (cs->dirty)
            channel_publish(cs);
        if (!channel_finish(c, cs, i))
            i++;
    }
    return done;
}
