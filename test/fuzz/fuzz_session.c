/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target for the daemon's socket: clients of the session code, which runs with fake hosts in
 * this thread, say what the input says (fuzz_session.h), send descriptors, and write into session
 * memory. Each answer is whole and has an end, there are no more answers than requests, and once
 * the clients have gone nothing of them is left: no session, service, connection, mapping or
 * descriptor. Descriptors are closed at once here, not by the threads of fd_closer.h.
 */
#include "fuzz_session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "client/fds.h"
#include "client/protocol.h"
#include "fuzz_eal.h"
#include "fuzz_folder.h"
#include "fuzz_input.h"
#include "sluiced/session/channel.h"
#include "sluiced/session/session.h"
#include "unit/client/fake_host.h"

#define CLIENTS      3u
#define CHANNELS     2u
#define STEPS_MAX    80
#define MESSAGE_MAX  4096u
#define FD_MAX       100 /* no input opens so many descriptors */
#define PART_ANSWERS (sizeof(struct protocol_reply) + PROTOCOL_PART_MAX)

struct fuzz_session_counts fuzz_session_counts;

struct client {
    int fd; /* -1: not connected */
    uint64_t requests, answers;
    uint8_t *memory; /* of the session that it asked for; NULL: none */
    uint64_t len_bytes;
    struct protocol_layout layout;
    uint32_t sq_entries, sq_tail[CHANNELS];
};

struct run {
    struct fuzz_input in;
    struct sessions *sessions;
    struct host *hosts[CHANNELS];
    struct client clients[CLIENTS];
    uint64_t now, mapped_bytes;
    uint32_t captures;
};

static char socket_path[FUZZ_FOLDER_MAX + 2];

void __wrap_fd_closer_add(int fd, uid_t uid);

void __wrap_fd_closer_add(int fd, uid_t uid)
{
    CHECK(close(fd) == 0);
}

static uint32_t descriptors_open(void)
{
    uint32_t n = 0;

    for (int fd = 0; fd < FD_MAX; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

/* ---- the daemon -------------------------------------------------------------------------- */

static int daemon_route(void *ctx, const struct addr *peer)
{
    return addr_is_v4(peer) ? (int)(addr_to_v4(peer) % CHANNELS) : -EHOSTUNREACH;
}

static char *daemon_show(void *ctx, const char *what, const struct access_user *viewer)
{
    char *text;

    if (strcmp(what, "conns") != 0)
        return NULL;
    text = malloc(3 * PROTOCOL_PART_MAX);
    CHECK(text != NULL);
    memset(text, 'c', 3 * PROTOCOL_PART_MAX - 1);
    text[3 * PROTOCOL_PART_MAX - 1] = 0;
    return text;
}

static int daemon_command(void *ctx, const char *line, char *text, size_t text_len)
{
    CHECK(strlen(line) <= PROTOCOL_COMMAND_MAX);
    snprintf(text, text_len, "%.100s", line);
    return 0;
}

static int daemon_map(void *ctx, void *memory, uint64_t len_bytes)
{
    struct run *r = ctx;

    if (len_bytes == 3 * PROTOCOL_PAGE)
        return -ENOMEM;
    r->mapped_bytes += len_bytes;
    return 0;
}

static void daemon_unmap(void *ctx, void *memory, uint64_t len_bytes)
{
    struct run *r = ctx;

    CHECK(r->mapped_bytes >= len_bytes);
    r->mapped_bytes -= len_bytes;
}

struct capture {
    uint8_t *memory;
    uint64_t len_bytes;
    bool ended;
};

static int daemon_capture(void *ctx, struct session_capture *what, struct capture **made,
                          char *text, size_t text_len)
{
    struct run *r = ctx;
    struct capture *c;

    if (what->port > 1) {
        snprintf(text, text_len, "no port %u", what->port);
        return -ENODEV;
    }
    c = calloc(1, sizeof *c);
    CHECK(c != NULL && what->snap_bytes > 0);
    c->memory = what->memory;
    c->len_bytes = what->len_bytes;
    what->rings = 1;
    what->ring_bytes = what->len_bytes;
    r->captures++;
    *made = c;
    return 0;
}

static void daemon_capture_end(void *ctx, struct capture *c)
{
    CHECK(!c->ended);
    c->ended = true;
}

/* All of the memory is there until now. */
static void daemon_capture_free(void *ctx, struct capture *c)
{
    struct run *r = ctx;

    CHECK(c->ended && r->captures-- > 0);
    memset(c->memory, 0, c->len_bytes);
    free(c);
}

static void socket_remove(void)
{
    *strrchr(socket_path, '/') = 0;
    rmdir(socket_path);
}

static void socket_name(void)
{
    fuzz_folder_make(socket_path);
    strcat(socket_path, "/s");
    atexit(socket_remove);
}

static void daemon_start(struct run *r)
{
    struct sessions_config cfg = {.socket_path = socket_path,
                                  .max_sessions = CLIENTS - 1,
                                  .quota_bytes = 40 * PROTOCOL_PAGE,
                                  .quota_total_bytes = 60 * PROTOCOL_PAGE,
                                  .unlocked = true,
                                  .hosts = r->hosts,
                                  .n_hosts = CHANNELS,
                                  .route = daemon_route,
                                  .show = daemon_show,
                                  .command = daemon_command,
                                  .map = daemon_map,
                                  .unmap = daemon_unmap,
                                  .capture = daemon_capture,
                                  .capture_end = daemon_capture_end,
                                  .capture_free = daemon_capture_free,
                                  .ctx = r};
    struct fake_host_config host = {.conns = 4, .depth = 4, .linger = 3, .services_max = 2};
    char err[256];

    for (uint32_t i = 0; i < CHANNELS; i++) {
        host.seed = i;
        host.services_max = 3 - i; /* one refuses what the other accepts */
        r->hosts[i] = fake_host_create(&host);
    }
    r->sessions = sessions_create(&cfg, err, sizeof err);
    CHECK(r->sessions != NULL);
}

static void daemon_poll(struct run *r)
{
    r->now += 1000000;
    sessions_poll(r->sessions);
    for (uint32_t i = 0; i < CHANNELS; i++)
        channels_poll(sessions_channels(r->sessions, i), r->now);
}

static void daemon_stop(struct run *r)
{
    struct fake_counts c;

    for (int i = 0; i < 2000 && !sessions_idle(r->sessions); i++)
        daemon_poll(r);
    CHECK(sessions_idle(r->sessions));
    for (uint32_t i = 0; i < CHANNELS; i++) {
        fake_host_counts(r->hosts[i], &c);
        CHECK(c.conns == 0 && c.services == 0);
    }
    CHECK(r->mapped_bytes == 0 && r->captures == 0);
    sessions_destroy(r->sessions);
    for (uint32_t i = 0; i < CHANNELS; i++)
        fake_host_destroy(r->hosts[i]);
}

/* ---- a client ---------------------------------------------------------------------------- */

static int memory_make(uint64_t len_bytes, unsigned int flags)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC | flags);

    CHECK(fd >= 0 && ftruncate(fd, (off_t)len_bytes) == 0);
    return fd;
}

/* Up to two descriptors for a message. Returns how many. */
static int fds_make(enum session_fd kind, uint64_t len_bytes, int fds[2])
{
    char name[32];
    int pair[2];

    switch (kind) {
    case SESSION_FD_NONE:
        return 0;
    case SESSION_FD_RIGHT:
        fds[0] = memory_make(len_bytes, MFD_ALLOW_SEALING);
        return 1;
    case SESSION_FD_SHORT:
        fds[0] = memory_make(PROTOCOL_PAGE, MFD_ALLOW_SEALING);
        return 1;
    case SESSION_FD_UNSEALABLE:
        fds[0] = memory_make(len_bytes, 0);
        return 1;
    case SESSION_FD_READ_ONLY:
        fds[1] = memory_make(len_bytes, MFD_ALLOW_SEALING);
        snprintf(name, sizeof name, "/proc/self/fd/%d", fds[1]);
        fds[0] = open(name, O_RDONLY | O_CLOEXEC);
        close(fds[1]);
        return 1;
    case SESSION_FD_DEVICE:
        fds[0] = open("/dev/null", O_RDWR | O_CLOEXEC);
        return 1;
    case SESSION_FD_SOCKET:
        CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
        fds[0] = pair[0];
        close(pair[1]);
        return 1;
    default:
        fds[0] = memory_make(len_bytes, MFD_ALLOW_SEALING);
        fds[1] = memory_make(len_bytes, MFD_ALLOW_SEALING);
        return 2;
    }
}

static void message_send(struct client *c, const void *bytes, size_t len, const int *fds, int n)
{
    union {
        char bytes[CMSG_SPACE(2 * sizeof(int))];
        struct cmsghdr align;
    } control = {0};
    struct iovec io = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = len};
    struct msghdr m = {.msg_iov = &io, .msg_iovlen = 1};

    if (n > 0) {
        m.msg_control = control.bytes;
        m.msg_controllen = CMSG_SPACE((size_t)n * sizeof(int));
        CMSG_FIRSTHDR(&m)->cmsg_level = SOL_SOCKET;
        CMSG_FIRSTHDR(&m)->cmsg_type = SCM_RIGHTS;
        CMSG_FIRSTHDR(&m)->cmsg_len = CMSG_LEN((size_t)n * sizeof(int));
        memcpy(CMSG_DATA(CMSG_FIRSTHDR(&m)), fds, (size_t)n * sizeof(int));
    }
    if (c->fd >= 0 && sendmsg(c->fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
        c->requests++;
}

static void answer_check(struct client *c, const uint8_t *bytes, size_t len, bool fd)
{
    struct protocol_reply a;

    CHECK(len >= sizeof a);
    memcpy(&a, bytes, sizeof a);
    CHECK(a.magic == PROTOCOL_MAGIC && a.version == PROTOCOL_VERSION && a.zero == 0);
    CHECK(a.type >= PROTOCOL_HELLO && a.type <= PROTOCOL_CAPTURE && a.type != PROTOCOL_RING &&
          a.status <= 0);
    CHECK(memchr(a.text, 0, sizeof a.text) != NULL && (a.status == 0 || a.text[0] != 0));
    CHECK(fd == (a.type == PROTOCOL_SESSION && a.status == 0));
    CHECK(len == sizeof a + (a.type == PROTOCOL_SHOW && a.status == 0 ? a.u.part.len_bytes : 0));
    if (a.type == PROTOCOL_BYE) {
        fuzz_session_counts.byes++;
        return;
    }
    CHECK(++c->answers <= c->requests);
    if (a.status == 0)
        fuzz_session_counts.answers[a.type]++;
    else
        fuzz_session_counts.refused++;
}

static void answers_read(struct client *c)
{
    static uint8_t bytes[PART_ANSWERS];
    union fds_control control;
    struct fds taken;
    ssize_t len;

    while (c->fd >= 0) {
        struct iovec io = {.iov_base = bytes, .iov_len = sizeof bytes};
        struct msghdr m = {.msg_iov = &io,
                           .msg_iovlen = 1,
                           .msg_control = &control,
                           .msg_controllen = sizeof control};
        int fd, n = 0;

        len = recvmsg(c->fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        if (len <= 0)
            return;
        taken = fds_of(&m);
        while ((fd = fds_next(&taken)) >= 0) {
            close(fd);
            n++;
        }
        answer_check(c, bytes, (size_t)len, n > 0);
    }
}

static void memory_forget(struct client *c)
{
    if (c->memory != NULL)
        munmap(c->memory, c->len_bytes);
    c->memory = NULL;
}

/* The client keeps a mapping of what it offers as session memory. */
static void memory_keep(struct client *c, const struct protocol_session *q, int fd)
{
    void *at = mmap(NULL, q->len_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (at == MAP_FAILED || c->memory != NULL) {
        if (at != MAP_FAILED)
            munmap(at, q->len_bytes);
        return;
    }
    c->memory = at;
    c->len_bytes = q->len_bytes;
    c->sq_entries = q->sq_entries;
    memset(c->sq_tail, 0, sizeof c->sq_tail);
    c->layout = protocol_layout_for(CHANNELS, q->sq_entries, q->cq_entries, q->handles);
}

/* Fills in what a right client would send. Returns the length of the memory that goes along. */
static uint64_t request_fill(struct fuzz_input *in, struct protocol_request *q)
{
    uint32_t v;

    switch (q->type) {
    case PROTOCOL_SESSION:
        v = input_u8(in);
        q->u.session = (struct protocol_session){CHANNELS, 16u << (v & 1), 16u << (v >> 1 & 1),
                                                 1 + (v >> 2 & 3), 0};
        q->u.session.len_bytes = protocol_layout_for(CHANNELS, q->u.session.sq_entries,
                                                     q->u.session.cq_entries, q->u.session.handles)
                                     .total_bytes;
        return q->u.session.len_bytes;
    case PROTOCOL_REGION:
        q->u.region_bytes = PROTOCOL_PAGE * (1ull + input_u8(in) % 32);
        return q->u.region_bytes;
    case PROTOCOL_UNREGION:
        q->u.region_id = (uint32_t)input_number(in);
        return PROTOCOL_PAGE;
    case PROTOCOL_LISTEN:
    case PROTOCOL_UNLISTEN:
        q->u.service = (uint32_t)input_number(in);
        return PROTOCOL_PAGE;
    case PROTOCOL_ROUTE:
        input_bytes(in, q->u.peer, sizeof q->u.peer);
        return PROTOCOL_PAGE;
    case PROTOCOL_SHOW:
        strcpy(q->u.show.what, "conns");
        q->u.show.offset = input_number(in) * 256;
        return PROTOCOL_PAGE;
    case PROTOCOL_COMMAND:
        q->u.command_bytes = (uint32_t)input_number(in);
        return PROTOCOL_PAGE;
    case PROTOCOL_CAPTURE:
        q->u.capture.region_id = input_u8(in);
        q->u.capture.port = input_u8(in);
        q->u.capture.snap_bytes = (uint32_t)input_number(in);
        return PROTOCOL_PAGE;
    default:
        q->u.channel = (uint32_t)input_number(in);
        return PROTOCOL_PAGE;
    }
}

static void request_step(struct run *r, struct client *c, uint16_t type, uint8_t how)
{
    struct protocol_request q = {
        .magic = PROTOCOL_MAGIC, .version = PROTOCOL_VERSION, .type = type};
    uint8_t bytes[MESSAGE_MAX] = {0};
    uint64_t memory = request_fill(&r->in, &q);
    int fds[2], n = fds_make((enum session_fd)(how & 7), memory, fds);
    size_t len = sizeof q;

    if (type == PROTOCOL_SESSION && (how & 7) == SESSION_FD_RIGHT)
        memory_keep(c, &q.u.session, fds[0]);
    memcpy(bytes, &q, sizeof q);
    if (how & SESSION_PATCHED)
        input_patch(&r->in, bytes, sizeof q);
    if (how & SESSION_LONGER)
        len += input_number(&r->in) % (MESSAGE_MAX - len);
    message_send(c, bytes, len, fds, n);
    while (n > 0)
        close(fds[--n]);
    if (type < 13)
        fuzz_session_counts.requests[type]++;
}

static void raw_step(struct run *r, struct client *c)
{
    int fds[2], n = fds_make((enum session_fd)(input_u8(&r->in) & 7), PROTOCOL_PAGE, fds);
    uint8_t bytes[UINT8_MAX];
    uint8_t len = input_u8(&r->in);

    input_bytes(&r->in, bytes, len);
    message_send(c, bytes, len, fds, n);
    while (n > 0)
        close(fds[--n]);
}

/* What is in the rings, unless the client has overwritten that. */
static void completions_count(const struct client *c)
{
    for (uint32_t k = 0; k < CHANNELS && c->memory != NULL; k++) {
        const uint8_t *base = c->memory + k * c->layout.channel_bytes;
        uint32_t tail = ((const struct protocol_channel *)base)->cq_tail;

        if (tail <= STEPS_MAX)
            fuzz_session_counts.completions += tail;
    }
}

static void client_close(struct client *c)
{
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
    memory_forget(c);
}

static void connect_step(struct run *r, struct client *c, uint8_t step)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};

    if (c->fd < 0) {
        *c = (struct client){.fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)};
        strcpy(a.sun_path, socket_path);
        CHECK(c->fd >= 0);
        if (connect(c->fd, (struct sockaddr *)&a, sizeof a) != 0)
            client_close(c);
    }
    if (step & 0x20)
        request_step(r, c, PROTOCOL_HELLO, SESSION_FD_NONE);
    if (step & 0x40)
        request_step(r, c, PROTOCOL_SESSION, SESSION_FD_RIGHT);
}

static void write_step(struct run *r, struct client *c)
{
    uint32_t at = input_u16(&r->in), len = input_u8(&r->in);

    for (uint32_t i = 0; i < len; i++) {
        uint8_t byte = input_u8(&r->in);

        if (c->memory != NULL)
            c->memory[(at + i) % c->len_bytes] = byte;
    }
}

static void submit_step(struct run *r, struct client *c, uint32_t channel)
{
    struct protocol_submission e = {.op = input_u8(&r->in)};
    struct protocol_channel *ring;
    uint8_t *base;

    e.flags = input_u8(&r->in);
    e.handle = input_u8(&r->in);
    if (e.op == PROTOCOL_CONNECT || e.op == PROTOCOL_ACCEPT) {
        e.u.connect.service = (uint16_t)input_number(&r->in);
        if (e.op == PROTOCOL_CONNECT)
            e.u.connect.peer[15] = 1;
    } else if (e.op == PROTOCOL_SEND || e.op == PROTOCOL_RECV) {
        e.u.pieces[0].region = input_u8(&r->in);
        e.u.pieces[0].offset = input_number(&r->in);
        e.u.pieces[0].len = input_number(&r->in);
    }
    if (c->memory == NULL)
        return;
    base = c->memory + channel * c->layout.channel_bytes;
    ring = (struct protocol_channel *)base;
    memcpy(base + c->layout.sq_offset + (c->sq_tail[channel] & (c->sq_entries - 1)) * sizeof e, &e,
           sizeof e);
    protocol_submit(ring, ++c->sq_tail[channel]);
    fuzz_session_counts.submissions++;
}

static void step_run(struct run *r, uint8_t step)
{
    struct client *c = &r->clients[(step >> 3 & 3) % CLIENTS];
    uint8_t type;

    switch ((enum session_step)(step & 7)) {
    case SESSION_STEP_POLL:
        for (int i = step >> 5; i >= 0; i--)
            daemon_poll(r);
        return;
    case SESSION_STEP_CONNECT:
        connect_step(r, c, step);
        return;
    case SESSION_STEP_CLOSE:
        client_close(c);
        return;
    case SESSION_STEP_REQUEST:
        type = input_u8(&r->in);
        request_step(r, c, type, input_u8(&r->in));
        return;
    case SESSION_STEP_RAW:
        raw_step(r, c);
        return;
    case SESSION_STEP_READ:
        answers_read(c);
        return;
    case SESSION_STEP_WRITE:
        write_step(r, c);
        return;
    case SESSION_STEP_SUBMIT:
        submit_step(r, c, step >> 5 & 1);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct run r = {.in = {data, data + size}, .now = 1000};
    uint32_t descriptors;

    if (socket_path[0] == 0) {
        fuzz_eal_start();
        socket_name();
    }
    for (uint32_t i = 0; i < CLIENTS; i++)
        r.clients[i].fd = -1;
    descriptors = descriptors_open();
    daemon_start(&r);
    for (int i = 0; i < STEPS_MAX && input_left(&r.in); i++)
        step_run(&r, input_u8(&r.in));
    daemon_poll(&r);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        answers_read(&r.clients[i]);
        completions_count(&r.clients[i]);
        client_close(&r.clients[i]);
    }
    daemon_stop(&r);
    CHECK(descriptors_open() == descriptors);
    return 0;
}
