/* SPDX-License-Identifier: BSD-3-Clause */
/* See daemon_pid.h. */
#include "sluice/remote/daemon_pid.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int daemon_pid(const char *path)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    struct ucred who = {.pid = 0};
    socklen_t len = sizeof who;
    int fd, rc = 0;

    if (strlen(path) >= sizeof a.sun_path)
        return -ENAMETOOLONG;
    memcpy(a.sun_path, path, strlen(path) + 1);
    fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    if (connect(fd, (struct sockaddr *)&a, sizeof a) != 0 ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) != 0)
        rc = -errno;
    close(fd);
    return rc < 0 ? rc : (int)who.pid;
}
