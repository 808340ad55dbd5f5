/* SPDX-License-Identifier: BSD-3-Clause */
/* The daemon that runs, or does not: its socket, and how much memory it may lock. See doctor.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "sluice/doctor.h"

#define LOCK_BYTES   (1ull << 30) /* a few applications with some hundred MB each */
#define CAP_IPC_LOCK 14

void doctor_socket(struct doctor *d)
{
    const char *path = d->socket != NULL ? d->socket : d->conf.socket;
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    struct ucred who = {.pid = 0};
    socklen_t len = sizeof who;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err;

    d->pid = 0;
    if (fd < 0 || strlen(d->root) + strlen(path) >= sizeof a.sun_path) {
        doctor_tell(d, "socket", DOCTOR_BAD, "%s: the path is too long\nshorten socket in %s", path,
                    d->config);
        if (fd >= 0)
            close(fd);
        return;
    }
    memcpy(a.sun_path, d->root, strlen(d->root));
    memcpy(a.sun_path + strlen(d->root), path, strlen(path) + 1);
    err = connect(fd, (struct sockaddr *)&a, sizeof a) == 0 ? 0 : errno;
    if (err == 0 && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0)
        d->pid = (int)who.pid;
    close(fd);
    if (err == 0)
        doctor_tell(d, "socket", DOCTOR_GOOD, "%s: process %d answers there", path, d->pid);
    else if (err == EAGAIN)
        doctor_tell(d, "socket", DOCTOR_BAD,
                    "%s: the daemon does not take new applications\n"
                    "systemctl restart sluiced   # and see what it said: journalctl -u sluiced",
                    path);
    else if (err == EACCES || err == EPERM)
        doctor_tell(d, "socket", DOCTOR_BAD,
                    "%s: you may not open it\n"
                    "usermod -aG $(stat -c %%G %s) $USER   # then log in again",
                    path, path);
    else if (err == ECONNREFUSED)
        doctor_tell(d, "socket", DOCTOR_WARNING,
                    "%s: left behind by a daemon that is dead\n"
                    "systemctl start sluiced   # replaces it",
                    path);
    else
        doctor_tell(d, "socket", DOCTOR_WARNING,
                    "%s: no daemon runs\nsystemctl start sluiced   # or: sluiced -l 0,1 -- -c %s",
                    path, d->config);
}

/* Value of "Name: ..." in a file of such lines; NULL: it is not there. */
static const char *line_value(const char *text, const char *name)
{
    const char *at = strstr(text, name);

    if (at == NULL)
        return NULL;
    at += strlen(name);
    return at + strspn(at, ": \t");
}

/* Of the daemon, if one answers; else of a process that is started from here. */
void doctor_locking(struct doctor *d)
{
    char who[24] = "self", limits[4096], status[4096];
    const char *soft, *caps;
    uint64_t limit;

    if (d->pid > 0 && doctor_there(d, "/proc/%d/limits", d->pid))
        snprintf(who, sizeof who, "%d", d->pid);
    if (!doctor_read(d, limits, sizeof limits, "/proc/%s/limits", who) ||
        !doctor_read(d, status, sizeof status, "/proc/%s/status", who) ||
        (soft = line_value(limits, "Max locked memory")) == NULL)
        return;
    caps = line_value(status, "CapEff");
    limit = strncmp(soft, "unlimited", 9) == 0 ? UINT64_MAX : strtoull(soft, NULL, 10);
    if (caps != NULL && (strtoull(caps, NULL, 16) >> CAP_IPC_LOCK & 1) != 0)
        doctor_tell(d, "locking", DOCTOR_GOOD,
                    "memory may be locked without a limit (CAP_IPC_LOCK)");
    else if (limit == UINT64_MAX)
        doctor_tell(d, "locking", DOCTOR_GOOD, "memory may be locked without a limit");
    else if (!d->conf.lock)
        doctor_tell(d, "locking", DOCTOR_GOOD,
                    "lock = no: memory is not locked, and may be paged out");
    else
        doctor_tell(d, "locking", limit < LOCK_BYTES ? DOCTOR_BAD : DOCTOR_WARNING,
                    "%" PRIu64 " MB may be locked, and applications' memory must be\n"
                    "LimitMEMLOCK=infinity in the unit of systemd, or ulimit -l unlimited before "
                    "sluiced; where that cannot be: lock = no in [daemon]",
                    limit >> 20);
}

void doctor_rights(struct doctor *d)
{
    char status[4096];
    const char *uid;
    unsigned real = 0, effective = 0;

    if (d->pid > 0 || !doctor_read(d, status, sizeof status, "/proc/self/status") ||
        (uid = line_value(status, "\nUid")) == NULL || sscanf(uid, "%u %u", &real, &effective) != 2)
        return;
    if (effective == 0)
        doctor_tell(d, "rights", DOCTOR_GOOD,
                    "root may have ports, hugepages and the socket's folder");
    else
        doctor_tell(
            d, "rights", DOCTOR_WARNING,
            "user %u can have no NIC, no AF_PACKET, no AF_XDP and mostly no hugepages\n"
            "sudo sluiced ...   # or systemctl start sluiced; memif with --no-huge needs none",
            effective);
}
