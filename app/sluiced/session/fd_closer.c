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

#include "client/fds.h"

#ifndef SCM_PIDFD
#define SCM_PIDFD 4 /* Linux 6.5 */
#endif

#define FD_CLOSER_STACK 65536
#define LABEL_MAX       1024 /* bytes that a security module may add to a message */

struct fd_closer {
    struct fd_closer *next;
    uid_t uid;
    uint32_t threads, waiting, room;
    int *fds; /* descriptors that wait to be closed; capacity: `room` */
};

static struct {
    pthread_mutex_t lock;
    struct fd_closer *all;
} closers = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Called under closers.lock. False: no memory. */
static bool fd_closer_push(struct fd_closer *c, int fd)
{
    if (c->waiting == c->room) {
        uint32_t room = c->room > 0 ? 2 * c->room : 16;
        int *fds = realloc(c->fds, room * sizeof *fds);

        if (fds == NULL)
            return false;
        c->fds = fds;
        c->room = room;
    }
    c->fds[c->waiting++] = fd;
    return true;
}

static bool is_unix(int fd)
{
    int domain = 0;
    socklen_t len = sizeof domain;

    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 && domain == AF_UNIX;
}

/* Closes the descriptor of its sender that the kernel adds to a message, if the client has asked
 * the socket for it (SO_PASSPIDFD). */
static void sender_close(struct msghdr *m)
{
    struct cmsghdr *h;
    int fd;

    for (h = CMSG_FIRSTHDR(m); h != NULL; h = CMSG_NXTHDR(m, h)) {
        if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_PIDFD)
            continue;
        memcpy(&fd, CMSG_DATA(h), sizeof fd);
        if (fd >= 0) /* else the kernel's reason for having none */
            close(fd);
    }
}

/* Closes the descriptors in one unread message, and returns how many it had. Sockets that may hold
 * such messages themselves are queued instead. */
static uint32_t message_empty(struct fd_closer *c, struct msghdr *m)
{
    static const struct linger none = {0};
    struct fds fds = fds_of(m);
    uint32_t n;
    int fd;

    sender_close(m);
    for (n = 0; (fd = fds_next(&fds)) >= 0; n++) {
        bool kept = false;

        if (is_unix(fd)) {
            pthread_mutex_lock(&closers.lock);
            kept = fd_closer_push(c, fd);
            pthread_mutex_unlock(&closers.lock);
        }
        if (kept)
            continue;
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
        close(fd);
    }
    return n;
}

/* Empties a socket: its unread messages hold descriptors, which the kernel would close within
 * close(). If the peer closed its end while a message of ours was unread, recvmsg() returns
 * ECONNRESET before the messages that still wait. A stream delivers the next message's descriptors
 * only when the bytes before them have been read. The client may have asked the socket to tell the
 * sender with each message, and at the end once more for each call (SO_PASSCRED). */
static void socket_empty(struct fd_closer *c, int fd)
{
    union {
        char bytes[CMSG_SPACE(FDS_MAX * sizeof(int)) + CMSG_SPACE(3 * sizeof(int)) +
                   CMSG_SPACE(sizeof(int)) + CMSG_SPACE(LABEL_MAX)];
        struct cmsghdr align;
    } control;
    char bytes[4096];
    struct iovec v = {.iov_base = bytes, .iov_len = sizeof bytes};
    struct msghdr m;
    uint32_t taken;
    ssize_t n;

    shutdown(fd, SHUT_RD); /* no more can come */
    do {
        m = (struct msghdr){.msg_iov = &v,
                            .msg_iovlen = 1,
                            .msg_control = control.bytes,
                            .msg_controllen = sizeof control.bytes};
        n = recvmsg(fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        taken = n >= 0 ? message_empty(c, &m) : 0;
    } while (n > 0 || taken > 0 || (n < 0 && errno == ECONNRESET));
}

static void descriptor_close(struct fd_closer *c, int fd)
{
    static const struct linger none = {0};

    if (is_unix(fd))
        socket_empty(c, fd);
    else
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    close(fd);
}

/* Closes the waiting descriptors, then ends. */
static void *fd_closer_main(void *closer)
{
    struct fd_closer *c = closer;

    pthread_mutex_lock(&closers.lock);
    while (c->waiting > 0) {
        int fd = c->fds[--c->waiting];

        pthread_mutex_unlock(&closers.lock);
        descriptor_close(c, fd);
        pthread_mutex_lock(&closers.lock);
    }
    c->threads--;
    pthread_mutex_unlock(&closers.lock);
    return NULL;
}

/* Called under closers.lock. Starts one more thread if descriptors wait and the limit allows it. If
 * that fails, fd_closer_tend() tries again. */
static void fd_closer_start(struct fd_closer *c)
{
    pthread_attr_t apart;
    pthread_t t;

    if (c->waiting == 0 || c->threads == FD_CLOSER_THREADS)
        return;
    pthread_attr_init(&apart);
    pthread_attr_setdetachstate(&apart, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&apart, FD_CLOSER_STACK);
    if (pthread_create(&t, &apart, fd_closer_main, c) == 0)
        c->threads++;
    pthread_attr_destroy(&apart);
}

/* Called under closers.lock. */
static struct fd_closer *fd_closer_find(uid_t uid)
{
    struct fd_closer *c = closers.all;

    while (c != NULL && c->uid != uid)
        c = c->next;
    return c;
}

void fd_closer_add(int fd, uid_t uid)
{
    struct fd_closer *c;

    pthread_mutex_lock(&closers.lock);
    c = fd_closer_find(uid);
    if (c == NULL) {
        c = calloc(1, sizeof *c);
        if (c != NULL) {
            *c = (struct fd_closer){.next = closers.all, .uid = uid};
            closers.all = c;
        }
    }
    /* Without memory to queue fd, it stays open: better than a stalled daemon. */
    if (c != NULL && fd_closer_push(c, fd))
        fd_closer_start(c);
    pthread_mutex_unlock(&closers.lock);
}

bool fd_closer_crowded(uid_t uid)
{
    const struct fd_closer *c;
    bool crowded;

    pthread_mutex_lock(&closers.lock);
    c = fd_closer_find(uid);
    crowded = c != NULL && c->waiting >= FD_CLOSER_CROWD;
    pthread_mutex_unlock(&closers.lock);
    return crowded;
}

void fd_closer_tend(void)
{
    struct fd_closer **at = &closers.all, *c;

    if (__atomic_load_n(&closers.all, __ATOMIC_RELAXED) == NULL)
        return;
    pthread_mutex_lock(&closers.lock);
    while ((c = *at) != NULL) {
        fd_closer_start(c);
        if (c->waiting > 0 || c->threads > 0) {
            at = &c->next;
            continue;
        }
        *at = c->next;
        free(c->fds);
        free(c);
    }
    pthread_mutex_unlock(&closers.lock);
}
