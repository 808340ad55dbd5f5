/* SPDX-License-Identifier: BSD-3-Clause */
/* See fd_closer.h. */
#include "sluiced/session/fd_closer.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define FD_CLOSER_STACK 65536
#define MESSAGE_FDS     253 /* the kernel's SCM_MAX_FD: descriptors that one message can carry */

struct fd_closer {
    struct fd_closer *next;
    uid_t uid;
    uint32_t threads, waiting, room;
    int *fds; /* the waiting ones; capacity: room */
};

static struct {
    pthread_mutex_t lock;
    struct fd_closer *all;
} closers = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Under the lock. False: no memory. */
static bool fd_closer_push(struct fd_closer *g, int fd)
{
    if (g->waiting == g->room) {
        uint32_t room = g->room > 0 ? 2 * g->room : 16;
        int *fds = realloc(g->fds, room * sizeof *fds);

        if (fds == NULL)
            return false;
        g->fds = fds;
        g->room = room;
    }
    g->fds[g->waiting++] = fd;
    return true;
}

static bool is_unix(int fd)
{
    int domain = 0;
    socklen_t len = sizeof domain;

    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 && domain == AF_UNIX;
}

/* Closes the descriptors in one unread message. Sockets that may hold such messages themselves are
 * queued instead. */
static void message_empty(struct fd_closer *g, struct msghdr *m)
{
    static const struct linger none = {0};

    for (struct cmsghdr *h = CMSG_FIRSTHDR(m); h != NULL; h = CMSG_NXTHDR(m, h)) {
        size_t n = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);

        if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t i = 0; i < n; i++) {
            bool kept = false;
            int fd;

            memcpy(&fd, CMSG_DATA(h) + i * sizeof fd, sizeof fd);
            if (is_unix(fd)) {
                pthread_mutex_lock(&closers.lock);
                kept = fd_closer_push(g, fd);
                pthread_mutex_unlock(&closers.lock);
            }
            if (kept)
                continue;
            setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
            close(fd);
        }
    }
}

/* Empties a socket: its unread messages hold descriptors, which the kernel would close within
 * close(). If the peer closed its end while a message of ours was unread, recvmsg() returns
 * ECONNRESET before the messages that still wait. A stream delivers the next message's descriptors
 * only when the bytes before them have been read. */
static void socket_empty(struct fd_closer *g, int fd)
{
    union {
        char bytes[CMSG_SPACE(MESSAGE_FDS * sizeof(int))];
        struct cmsghdr align;
    } control;
    char bytes[4096];
    struct iovec v = {.iov_base = bytes, .iov_len = sizeof bytes};
    struct msghdr m;
    ssize_t n;

    shutdown(fd, SHUT_RD); /* no more can come */
    do {
        m = (struct msghdr){.msg_iov = &v,
                            .msg_iovlen = 1,
                            .msg_control = control.bytes,
                            .msg_controllen = sizeof control.bytes};
        n = recvmsg(fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        if (n >= 0)
            message_empty(g, &m);
    } while (n > 0 || (n == 0 && m.msg_controllen > 0) || (n < 0 && errno == ECONNRESET));
}

static void descriptor_close(struct fd_closer *g, int fd)
{
    static const struct linger none = {0};

    if (is_unix(fd))
        socket_empty(g, fd);
    else
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    close(fd);
}

/* Closes the waiting descriptors, then ends. */
static void *fd_closer_main(void *closer)
{
    struct fd_closer *g = closer;

    pthread_mutex_lock(&closers.lock);
    while (g->waiting > 0) {
        int fd = g->fds[--g->waiting];

        pthread_mutex_unlock(&closers.lock);
        descriptor_close(g, fd);
        pthread_mutex_lock(&closers.lock);
    }
    g->threads--;
    pthread_mutex_unlock(&closers.lock);
    return NULL;
}

/* Under the lock. Starts one more thread if descriptors wait and the limit allows it. If that
 * fails, fd_closer_tend() tries again. */
static void fd_closer_start(struct fd_closer *g)
{
    pthread_attr_t apart;
    pthread_t t;

    if (g->waiting == 0 || g->threads == FD_CLOSER_THREADS)
        return;
    pthread_attr_init(&apart);
    pthread_attr_setdetachstate(&apart, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&apart, FD_CLOSER_STACK);
    if (pthread_create(&t, &apart, fd_closer_main, g) == 0)
        g->threads++;
    pthread_attr_destroy(&apart);
}

/* Under the lock. */
static struct fd_closer *fd_closer_find(uid_t uid)
{
    struct fd_closer *g = closers.all;

    while (g != NULL && g->uid != uid)
        g = g->next;
    return g;
}

void fd_closer_add(int fd, uid_t uid)
{
    struct fd_closer *g;

    pthread_mutex_lock(&closers.lock);
    g = fd_closer_find(uid);
    if (g == NULL) {
        g = calloc(1, sizeof *g);
        if (g != NULL) {
            *g = (struct fd_closer){.next = closers.all, .uid = uid};
            closers.all = g;
        }
    }
    /* Without memory to queue fd, it stays open: better than a stalled daemon. */
    if (g != NULL && fd_closer_push(g, fd))
        fd_closer_start(g);
    pthread_mutex_unlock(&closers.lock);
}

bool fd_closer_crowded(uid_t uid)
{
    const struct fd_closer *g;
    bool crowded;

    pthread_mutex_lock(&closers.lock);
    g = fd_closer_find(uid);
    crowded = g != NULL && g->waiting >= FD_CLOSER_CROWD;
    pthread_mutex_unlock(&closers.lock);
    return crowded;
}

void fd_closer_tend(void)
{
    struct fd_closer **at = &closers.all, *g;

    if (__atomic_load_n(&closers.all, __ATOMIC_RELAXED) == NULL)
        return;
    pthread_mutex_lock(&closers.lock);
    while ((g = *at) != NULL) {
        fd_closer_start(g);
        if (g->waiting > 0 || g->threads > 0) {
            at = &g->next;
            continue;
        }
        *at = g->next;
        free(g->fds);
        free(g);
    }
    pthread_mutex_unlock(&closers.lock);
}
