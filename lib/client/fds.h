/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Descriptors in messages on a unix socket (SCM_RIGHTS, unix(7)): putting one into a message that
 * is to be sent, and taking all out of a message that was received. The library and the daemon both
 * use this file. Nothing is closed here: each descriptor that fds_next() returns is the caller's.
 */
#ifndef SLUICE_CLIENT_FDS_H
#define SLUICE_CLIENT_FDS_H

#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#define FDS_MAX 253 /* the kernel's SCM_MAX_FD: descriptors that one message can carry */

/* Control data of a message with one descriptor; must live until the message is sent. */
union fds_control {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr align;
};

static inline void fds_put(struct msghdr *m, union fds_control *control, int fd)
{
    struct cmsghdr *h;

    memset(control, 0, sizeof *control);
    m->msg_control = control->bytes;
    m->msg_controllen = sizeof control->bytes;
    h = CMSG_FIRSTHDR(m);
    h->cmsg_level = SOL_SOCKET;
    h->cmsg_type = SCM_RIGHTS;
    h->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(h), &fd, sizeof fd);
}

/* A place in the control data of a received message. */
struct fds {
    struct msghdr *m;
    struct cmsghdr *h; /* NULL: at the end */
    size_t taken;      /* descriptors that were taken from h */
};

static inline struct fds fds_of(struct msghdr *m)
{
    return (struct fds){m, CMSG_FIRSTHDR(m), 0};
}

/* The next descriptor; -1: there are no more. */
static inline int fds_next(struct fds *f)
{
    for (; f->h != NULL; f->h = CMSG_NXTHDR(f->m, f->h), f->taken = 0) {
        size_t n = (f->h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        int fd;

        if (f->h->cmsg_level != SOL_SOCKET || f->h->cmsg_type != SCM_RIGHTS || f->taken == n)
            continue;
        memcpy(&fd, CMSG_DATA(f->h) + f->taken++ * sizeof fd, sizeof fd);
        return fd;
    }
    return -1;
}

#endif
