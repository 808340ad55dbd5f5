/* SPDX-License-Identifier: BSD-3-Clause */
/* The daemon, running or not: its socket, the memory that it may lock, its rights, the addresses of
 * its ports. See doctor.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console/text.h"
#include "sluice/doctor/doctor.h"
#include "sluice/ping/path_size.h"
#include "sluice/ping/probe.h"
#include "sluice/remote/daemon_pid.h"

#define LOCK_BYTES   (1ull << 30) /* enough for a few applications with some hundred MB each */
#define CAP_IPC_LOCK 14

/* Without socket_group the socket belongs to the group root. The cure must not put a user into that
 * group. */
static void socket_closed(struct doctor *d, const char *path)
{
    if (d->conf.group[0] != '\0')
        doctor_tell(d, "socket", DOCTOR_BAD,
                    "%s: you may not open it\nusermod -aG %s $USER   # then log in again", path,
                    d->conf.group);
    else
        doctor_tell(d, "socket", DOCTOR_BAD,
                    "%s: you may not open it, and no socket_group is configured\n"
                    "groupadd --system sluice; write socket_group = sluice below [daemon] in %s; "
                    "systemctl restart sluiced; usermod -aG sluice $USER   # then log in again",
                    path, d->config);
}

void doctor_socket(struct doctor *d)
{
    const char *path = d->socket != NULL ? d->socket : d->conf.socket;
    char below[DOCTOR_PATH];
    int pid = daemon_pid(doctor_path(d, below, "%s", path));

    d->pid = pid > 0 ? pid : 0;
    switch (pid < 0 ? -pid : 0) {
    case 0:
        doctor_tell(d, "socket", DOCTOR_GOOD, "%s: process %d answers there", path, pid);
        return;
    case ENAMETOOLONG:
        doctor_tell(d, "socket", DOCTOR_BAD, "%s: the path is too long\nshorten socket in %s", path,
                    d->config);
        return;
    case EAGAIN:
        doctor_tell(d, "socket", DOCTOR_BAD,
                    "%s: the daemon does not accept new applications\nsystemctl restart sluiced   "
                    "# its messages: journalctl -u sluiced",
                    path);
        return;
    case EACCES:
    case EPERM:
        socket_closed(d, path);
        return;
    case ECONNREFUSED:
        doctor_tell(d, "socket", DOCTOR_WARNING,
                    "%s: left behind by a daemon that is dead\n"
                    "systemctl start sluiced   # replaces it",
                    path);
        return;
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case ENOBUFS:
        doctor_tell(d, "socket", DOCTOR_BAD,
                    "%s: cannot connect: %s\nulimit -n 1024   # or end other programs", path,
                    strerror(-pid));
        return;
    default:
        doctor_tell(d, "socket", DOCTOR_WARNING,
                    "%s: no daemon runs\nsystemctl start sluiced   # or: sluiced -l 0,1 -- -c %s",
                    path, d->config);
    }
}

/* Checks how much memory the daemon may lock if one answers, else a process started from here. */
void doctor_locking(struct doctor *d)
{
    char who[24] = "self", limits[4096], status[4096];
    const char *soft, *caps;
    uint64_t limit;

    if (d->pid > 0 && doctor_there(d, "/proc/%d/limits", d->pid))
        snprintf(who, sizeof who, "%d", d->pid);
    if (!doctor_read(d, limits, sizeof limits, "/proc/%s/limits", who) ||
        !doctor_read(d, status, sizeof status, "/proc/%s/status", who) ||
        (soft = doctor_value(limits, "Max locked memory")) == NULL)
        return;
    caps = doctor_value(status, "CapEff");
    limit = strncmp(soft, "unlimited", 9) == 0 ? UINT64_MAX : strtoull(soft, NULL, 10);
    if (caps != NULL && (strtoull(caps, NULL, 16) >> CAP_IPC_LOCK & 1) != 0)
        doctor_tell(d, "locking", DOCTOR_GOOD,
                    "memory may be locked without a limit (CAP_IPC_LOCK)");
    else if (limit == UINT64_MAX)
        doctor_tell(d, "locking", DOCTOR_GOOD, "memory may be locked without a limit");
    else if (!d->conf.lock)
        doctor_tell(d, "locking", DOCTOR_GOOD,
                    "lock = no: memory is not locked, and can be paged out");
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
        (uid = doctor_value(status, "\nUid")) == NULL ||
        sscanf(uid, "%u %u", &real, &effective) != 2)
        return;
    if (effective == 0)
        doctor_tell(d, "rights", DOCTOR_GOOD,
                    "root may use ports, hugepages and the socket's folder");
    else
        doctor_tell(
            d, "rights", DOCTOR_WARNING,
            "user %u cannot use NICs, AF_PACKET, AF_XDP and, on most systems, hugepages\nsudo "
            "sluiced ...   # or systemctl start sluiced; memif with --no-huge needs none of them",
            effective);
}

/* Reports each station that has an address of ours. The daemon finds such stations when a port's
 * link comes up, or later. */
void doctor_addresses(struct doctor *d)
{
    const char *path = d->socket != NULL ? d->socket : d->conf.socket;
    json_t *ports = d->pid > 0 && d->ports != NULL ? d->ports(path) : NULL, *port;
    size_t i, disputed = 0;

    json_array_foreach(ports, i, port)
    {
        const char *name = json_string_value(json_object_get(port, "name")),
                   *conflict = json_string_value(json_object_get(port, "conflict"));

        if (name == NULL || conflict == NULL || *conflict == 0)
            continue;
        disputed++;
        doctor_tell(d, "addresses",
                    strstr(conflict, "not used") != NULL ? DOCTOR_BAD : DOCTOR_WARNING,
                    "%s: another station has an address of ours: %s\nchange one of the two: "
                    "address in [port %s] of %s, then systemctl restart sluiced; the daemon uses "
                    "its address 10 s after the other station has left",
                    name, conflict, name, d->config);
    }
    if (json_array_size(ports) > 0 && disputed == 0)
        doctor_tell(d, "addresses", DOCTOR_GOOD, "no other station has an address of the ports");
    json_decref(ports);
}

/* Asks the host of --peer. */
void doctor_reach(struct doctor *d)
{
    const char *path = d->socket != NULL ? d->socket : d->conf.socket;
    struct probe_finding finding;
    struct path_size size;
    struct probe result;
    char time[32];

    if (d->peer == NULL || d->probe == NULL)
        return;
    if (d->pid == 0 || d->probe(path, d->peer, &result, &size) != 0) {
        doctor_tell(d, "peer", DOCTOR_BAD,
                    "%s cannot be asked, because no daemon runs here\nsystemctl start sluiced",
                    d->peer);
        return;
    }
    if (result.status == 0) {
        doctor_tell(d, "peer", DOCTOR_GOOD, "%s: a daemon answers, after %s", d->peer,
                    text_time(time, sizeof time, result.round_trip_ns));
        path_size_explain(&size, &finding);
        doctor_tell(d, "path", finding.cure[0] != '\0' ? DOCTOR_WARNING : DOCTOR_GOOD, "%s: %s%s%s",
                    d->peer, finding.text, finding.cure[0] != '\0' ? "\n" : "", finding.cure);
        return;
    }
    probe_explain(&result, &finding);
    doctor_tell(d, "peer", DOCTOR_BAD, "%s: no answer: %s%s%s", d->peer, finding.text,
                finding.cure[0] != '\0' ? "\n" : "", finding.cure);
}
