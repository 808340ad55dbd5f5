/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target for the rings that clients share with workers: two clients of one worker's channels,
 * which run with a fake host, write what the input says (fuzz_rings.h). The memory of each region
 * ends where its bytes end, and is freed once it is dropped. A client that keeps to the protocol
 * gets each completion once. There is always room for the completions that are owed. Once the
 * clients are detached, the host has no connection, and no region is in use.
 */
#include "fuzz_rings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "fuzz_eal.h"
#include "fuzz_input.h"
#include "sluiced/session/channel.h"
#include "sluiced/session/session.h"
#include "unit/client/fake_host.h"

#define CLIENTS   2u
#define ENTRIES   16u
#define HANDLES   4u
#define REGIONS   3u
#define STEPS_MAX 300
#define USERS_MAX 512u

struct fuzz_rings_counts fuzz_rings_counts;

struct client {
    struct channel_session *cs;
    uint8_t *memory; /* of the session; exact */
    uint8_t *regions[REGIONS];
    uint32_t sq_tail, cq_head;
    bool pending;  /* control has asked, and waits for the answer */
    bool attached; /* the worker has it */
    bool honest;   /* it has written nothing but submissions */
    uint32_t users;
    uint8_t due[USERS_MAX]; /* completions that submission `user` may still get */
    struct channel_message asked;
};

struct run {
    struct fuzz_input in;
    struct host *host;
    struct channels *channels;
    struct client clients[CLIENTS];
    uint64_t now;
};

static const uint32_t region_bytes[REGIONS] = {1, 100, 5000};

/* ---- control ----------------------------------------------------------------------------- */

static void tell(struct run *r, struct client *c, struct channel_message m)
{
    m.slot = (uint16_t)(c - r->clients);
    c->asked = m;
    c->pending = true;
    channels_tell(r->channels, &m);
}

static void heard(struct client *c, const struct channel_message *m)
{
    if (m->type == CHANNEL_FAULT) {
        CHECK(m->status > CHANNEL_FAULT_NONE && m->status <= CHANNEL_FAULT_FLOOD && c->attached);
        CHECK(!c->honest || m->status == CHANNEL_FAULT_FLOOD);
        fuzz_rings_counts.faults[m->status]++;
        return;
    }
    CHECK(c->pending && m->type == c->asked.type && m->status <= 0);
    c->pending = false;
    if (m->type == CHANNEL_ATTACH)
        c->attached = true;
    if (m->type == CHANNEL_DETACH)
        c->attached = false;
    if (m->type == CHANNEL_LISTEN || m->type == CHANNEL_UNLISTEN)
        fuzz_rings_counts.told[m->type == CHANNEL_LISTEN ? RINGS_LISTEN : RINGS_UNLISTEN] +=
            m->status == 0;
    if (m->type == CHANNEL_REGION_ADD)
        fuzz_rings_counts.told[RINGS_ADD]++;
    if (m->type != CHANNEL_REGION_DROP)
        return;
    fuzz_rings_counts.busy += m->status == -EBUSY;
    if (m->status != 0)
        return;
    CHECK(c->cs->regions[m->id].refs == 0);
    free(c->regions[m->id]);
    c->regions[m->id] = NULL;
    fuzz_rings_counts.told[RINGS_DROP]++;
}

static void poll_once(struct run *r)
{
    struct channel_message m;

    r->now += 1000000;
    channels_poll(r->channels, r->now);
    while (channels_hear(r->channels, &m)) {
        CHECK(m.slot < CLIENTS);
        heard(&r->clients[m.slot], &m);
    }
    for (uint32_t i = 0; i < CLIENTS; i++) {
        const struct channel_session *cs = r->clients[i].cs;

        CHECK(cs->cq_tail - cs->cq_head + cs->owed <= cs->cq_mask + 1 || cs->faulted || cs->ending);
        CHECK(cs->n_active <= HANDLES && cs->n_closing <= cs->n_active);
    }
}

static void tell_step(struct run *r, struct client *c, enum rings_tell what)
{
    uint8_t which = input_u8(&r->in);
    struct channel_message m = {.id = which % 8};

    if (c->pending)
        return;
    switch (what) {
    case RINGS_LISTEN:
    case RINGS_UNLISTEN:
        m.type = what == RINGS_LISTEN ? CHANNEL_LISTEN : CHANNEL_UNLISTEN;
        tell(r, c, m);
        return;
    case RINGS_ADD:
        m.id = which % REGIONS;
        if (c->regions[m.id] != NULL)
            return;
        c->regions[m.id] = calloc(1, region_bytes[m.id]);
        CHECK(c->regions[m.id] != NULL);
        m.type = CHANNEL_REGION_ADD;
        m.data = c->regions[m.id];
        m.len_bytes = region_bytes[m.id];
        tell(r, c, m);
        return;
    case RINGS_DROP:
        m.id = which % REGIONS;
        m.type = CHANNEL_REGION_DROP;
        if (c->regions[m.id] != NULL)
            tell(r, c, m);
    }
}

static void client_attach(struct run *r, struct client *c, int wake_fd)
{
    struct protocol_layout l = protocol_layout_for(1, ENTRIES, ENTRIES, HANDLES);

    c->memory = calloc(1, l.status_offset + HANDLES * sizeof(struct protocol_status));
    c->cs = calloc(1, sizeof *c->cs);
    CHECK(c->memory != NULL && c->cs != NULL);
    c->cs->ring = (struct protocol_channel *)c->memory;
    c->cs->sq = (struct protocol_submission *)(c->memory + l.sq_offset);
    c->cs->cq = (struct protocol_completion *)(c->memory + l.cq_offset);
    c->cs->statuses = (struct protocol_status *)(c->memory + l.status_offset);
    c->cs->sq_mask = c->cs->cq_mask = ENTRIES - 1;
    c->cs->handle_limit = HANDLES;
    c->cs->wake_fd = wake_fd;
    c->cs->slot = (uint16_t)(c - r->clients);
    c->cs->user = (struct access_user){.uid = c->cs->slot}; /* root, and a user */
    c->honest = true;
    tell(r, c, (struct channel_message){.type = CHANNEL_ATTACH, .data = c->cs});
}

/* ---- a client ---------------------------------------------------------------------------- */

static void submission_fill(struct fuzz_input *in, struct protocol_submission *e)
{
    e->op = input_u8(in);
    e->flags = input_u8(in);
    e->handle = input_u8(in);
    if (e->op == PROTOCOL_CONNECT || e->op == PROTOCOL_ACCEPT) {
        e->u.connect.service = (uint16_t)input_number(in);
        if (e->op == PROTOCOL_CONNECT)
            e->u.connect.peer[15] = 1;
        return;
    }
    for (int i = 0; i < 2 && e->op == (i == 0 ? e->op : PROTOCOL_SEND); i++) {
        e->u.pieces[i].region = input_u8(in);
        e->u.pieces[i].offset = input_number(in);
        e->u.pieces[i].len = input_number(in);
    }
}

static void submit_step(struct run *r, struct client *c, bool patched)
{
    struct protocol_submission e = {.user = c->users};

    submission_fill(&r->in, &e);
    if (patched) {
        input_patch(&r->in, (uint8_t *)&e, sizeof e);
        c->honest = false;
    }
    if (c->honest && c->sq_tail - c->cs->ring->sq_head >= ENTRIES)
        return; /* no room */
    memcpy(&c->cs->sq[c->sq_tail % ENTRIES], &e, sizeof e);
    if (c->users < USERS_MAX)
        c->due[c->users++] = e.op == PROTOCOL_SEND && e.flags & PROTOCOL_PROVISIONAL ? 2 : 1;
    else
        c->honest = false;
    protocol_submit(c->cs->ring, ++c->sq_tail);
    if (e.op < PROTOCOL_OPS)
        fuzz_rings_counts.submissions[e.op]++;
}

static void completion_check(struct client *c, const struct protocol_completion *e)
{
    CHECK(e->user < c->users && c->due[e->user] > 0 && e->zero == 0);
    CHECK(e->status <= 0 && e->len <= 5000 * 2);
    CHECK((e->flags & ~PROTOCOL_PROVISIONAL) == 0);
    c->due[e->user]--;
    if (e->op < PROTOCOL_OPS && e->status == 0)
        fuzz_rings_counts.done[e->op]++;
    fuzz_rings_counts.refused += e->status < 0;
    fuzz_rings_counts.malformed += e->status == -EBADMSG;
}

static void take_step(struct client *c)
{
    uint32_t tail = __atomic_load_n(&c->cs->ring->cq_tail, __ATOMIC_ACQUIRE);

    if (c->honest)
        CHECK(tail - c->cq_head <= ENTRIES);
    for (; c->honest && c->cq_head != tail; c->cq_head++)
        completion_check(c, &c->cs->cq[c->cq_head % ENTRIES]);
    c->cq_head = tail;
    protocol_arm(c->cs->ring, tail);
    __atomic_store_n(&c->cs->ring->cq_head, tail, __ATOMIC_RELEASE);
}

static void write_step(struct run *r, struct client *c)
{
    struct protocol_layout l = protocol_layout_for(1, ENTRIES, ENTRIES, HANDLES);
    uint32_t at = input_u16(&r->in), len = input_u8(&r->in);

    c->honest = false;
    for (uint32_t i = 0; i < len; i++)
        c->memory[(at + i) % (l.status_offset + HANDLES * sizeof(struct protocol_status))] =
            input_u8(&r->in);
}

static void index_step(struct run *r, struct client *c, uint8_t step)
{
    uint32_t *index = step & 16 ? &c->cs->ring->cq_head : &c->cs->ring->sq_tail;
    uint32_t by = input_u8(&r->in);

    c->honest = false;
    *index += step & 32 ? 0u - by : by;
    c->sq_tail = c->cs->ring->sq_tail;
}

static void step_run(struct run *r, uint8_t step)
{
    struct client *c = &r->clients[step >> 3 & 1];

    switch ((enum rings_step)(step & 7)) {
    case RINGS_STEP_POLL:
        for (int i = step >> 4; i >= 0; i--)
            poll_once(r);
        return;
    case RINGS_STEP_SUBMIT:
        submit_step(r, c, step & 16);
        return;
    case RINGS_STEP_WRITE:
        write_step(r, c);
        return;
    case RINGS_STEP_INDEX:
        index_step(r, c, step);
        return;
    case RINGS_STEP_TELL:
        tell_step(r, c, (enum rings_tell)(step >> 4 & 3));
        return;
    case RINGS_STEP_TAKE:
        take_step(c);
        return;
    case RINGS_STEP_SLEEP:
        channels_sleep(r->channels);
        channels_awake(r->channels);
    }
}

static void client_free(struct client *c)
{
    CHECK(c->cs->owed == 0 && c->cs->n_active == 0);
    for (uint32_t i = 0; i < REGIONS; i++) {
        CHECK(c->cs->regions[i].refs == 0);
        free(c->regions[i]);
    }
    free(c->cs);
    free(c->memory);
}

/* Detaches the clients, as control does when they have gone. */
static void clients_end(struct run *r)
{
    struct fake_counts counts;

    for (int i = 0; i < 10 && (r->clients[0].pending || r->clients[1].pending); i++)
        poll_once(r);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        CHECK(!r->clients[i].pending && r->clients[i].attached);
        tell(r, &r->clients[i],
             (struct channel_message){.type = CHANNEL_DETACH, .id = WIRE_END_ABORT});
    }
    for (int i = 0; i < 200 && (r->clients[0].attached || r->clients[1].attached); i++)
        poll_once(r);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        CHECK(!r->clients[i].attached);
        client_free(&r->clients[i]);
    }
    fake_host_counts(r->host, &counts);
    CHECK(counts.conns == 0 && counts.services == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct fake_host_config cfg = {
        .conns = 6, .depth = 4, .seed = 1, .linger = 3, .services_max = 4};
    struct run r = {.in = {data, data + size}, .now = 1000};
    static int wake_fd = -1;

    fuzz_eal_start();
    if (wake_fd < 0)
        wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    r.host = fake_host_create(&cfg);
    r.channels = channels_create(r.host, CLIENTS);
    CHECK(r.channels != NULL && wake_fd >= 0);
    for (uint32_t i = 0; i < CLIENTS; i++)
        client_attach(&r, &r.clients[i], wake_fd);
    poll_once(&r);
    for (int i = 0; i < STEPS_MAX && input_left(&r.in); i++)
        step_run(&r, input_u8(&r.in));
    clients_end(&r);
    channels_destroy(r.channels);
    fake_host_destroy(r.host);
    return 0;
}
