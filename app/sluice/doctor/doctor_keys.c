/* SPDX-License-Identifier: BSD-3-Clause */
/* Key files, the time of day, and which ports are secured. See doctor.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sluice/doctor/doctor.h"
#include "sluice/key/key_file.h"
#include "sluice/key/memory_port.h"

#define UNKNOWN ((uid_t)-1)

/* The user that the running daemon runs as, or UNKNOWN. */
static uid_t daemon_user(const struct doctor *d)
{
    char status[4096];
    const char *uid;
    unsigned int real, effective;

    if (d->pid == 0 || !doctor_read(d, status, sizeof status, "/proc/%d/status", d->pid) ||
        (uid = doctor_value(status, "\nUid")) == NULL ||
        sscanf(uid, "%u %u", &real, &effective) != 2)
        return UNKNOWN;
    return effective;
}

/* Can other users put another file in its place, because they may write into its folder? */
static bool replaceable(const struct doctor *d, const char *file)
{
    char path[DOCTOR_PATH], folder[DOCTOR_PATH], *slash;
    struct stat st;

    snprintf(folder, sizeof folder, "%s", file);
    slash = strrchr(folder, '/');
    if (slash == NULL || slash == folder)
        return false;
    *slash = 0;
    if (stat(doctor_path(d, path, "%s", folder), &st) != 0 || (st.st_mode & S_ISVTX) != 0 ||
        (st.st_mode & (S_IWGRP | S_IWOTH)) == 0)
        return false;
    doctor_tell(d, "keys", DOCTOR_BAD,
                "%s: the mode %04o of its folder lets other users replace it\nchmod go-w %s", file,
                (unsigned int)(st.st_mode & 07777), folder);
    return true;
}

static void check_owner(const struct doctor *d, const char *file, uid_t owner)
{
    uid_t user = daemon_user(d);
    char theirs[64], ours[64];

    key_file_user(owner, theirs, sizeof theirs);
    if (user == UNKNOWN || user == owner) {
        doctor_tell(d, "keys", DOCTOR_GOOD, "%s: only user %s may read it", file, theirs);
        return;
    }
    key_file_user(user, ours, sizeof ours);
    if (user != 0)
        doctor_tell(d, "keys", DOCTOR_BAD,
                    "%s: belongs to user %s, and the daemon runs as %s, which cannot read it\n"
                    "chown %s %s",
                    file, theirs, ours, ours, file);
    else
        doctor_tell(d, "keys", DOCTOR_BAD,
                    "%s: belongs to user %s, and the daemon of %s takes only keys of its own\n"
                    "chown %s %s",
                    file, theirs, ours, ours, file);
}

/* make: the command that makes such a file. */
static void check_file(const struct doctor *d, const char *file, const char *make)
{
    char path[DOCTOR_PATH], why[DOCTOR_TEXT], *cure;
    struct stat st;

    if (stat(doctor_path(d, path, "%s", file), &st) != 0) {
        if (errno == EACCES)
            doctor_tell(d, "keys", DOCTOR_WARNING,
                        "%s: this user may not look at it\nsudo sluice doctor", file);
        else
            doctor_tell(d, "keys", DOCTOR_BAD, "%s: %s\n%s %s", file, strerror(errno), make, file);
    } else if (key_file_judge(&st, file, KEY_FILE_ANYONE, why, sizeof why) != 0) {
        cure = strstr(why, "; ");
        if (cure != NULL) {
            *cure = 0;
            cure += strlen("; ");
        }
        doctor_tell(d, "keys", DOCTOR_BAD, "%s\n%s", why, cure != NULL ? cure : make);
    } else if (!replaceable(d, file)) {
        check_owner(d, file, st.st_uid);
    }
}

/* Keys in a file: for a while, on purpose, or forgotten. */
static void check_log(const struct doctor *d, const char *file)
{
    char path[DOCTOR_PATH];
    struct stat st;

    doctor_tell(d, "keys", DOCTOR_WARNING,
                "%s: keys are logged there: anyone with this file can read the packets\n"
                "remove key_log_file from %s, systemctl restart sluiced, shred -u %s",
                file, d->config, file);
    if (lstat(doctor_path(d, path, "%s", file), &st) != 0 || replaceable(d, file))
        return;
    if (!S_ISREG(st.st_mode))
        doctor_tell(d, "keys", DOCTOR_BAD,
                    "%s: is no regular file, so the daemon refuses it\n"
                    "write another file as key_log_file in %s",
                    file, d->config);
    else if ((st.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        doctor_tell(d, "keys", DOCTOR_BAD,
                    "%s: its mode %04o lets other users at the keys\nchmod 600 %s", file,
                    (unsigned int)(st.st_mode & 07777), file);
}

void doctor_keys(struct doctor *d)
{
    if (d->conf.private_key_file[0] != 0)
        check_file(d, d->conf.private_key_file, "sluice key generate");
    for (uint32_t i = 0; i < d->conf.n_shared; i++)
        check_file(d, d->conf.shared_key_file[i], "sluice key shared");
    if (d->conf.key_log_file[0] != 0)
        check_log(d, d->conf.key_log_file);
}

/* Handshakes carry the time of day, so that nobody can send an old one again. */
void doctor_time(struct doctor *d)
{
    int state =
        d->conf.private_key_file[0] != 0 && d->synchronised != NULL ? d->synchronised() : -1;

    if (state > 0)
        doctor_tell(d, "time", DOCTOR_GOOD, "the system's clock is synchronised");
    else if (state == 0)
        doctor_tell(d, "time", DOCTOR_WARNING,
                    "the system's clock is not synchronised: after it was set back, the next "
                    "handshake with each peer takes a round trip more\n"
                    "timedatectl set-ntp true   # or start chrony");
}

/* key: this host has one. */
static void tell_plain(const struct doctor *d, const struct doctor_port *p, bool key)
{
    char cure[DOCTOR_TEXT];

    if (key)
        snprintf(cure, sizeof cure, "security = required in [port %s] of %s", p->name, d->config);
    else
        snprintf(cure, sizeof cure,
                 "sluice key generate /etc/sluice/private.key, then private_key_file in [daemon] "
                 "of %s, and public_key in [peer NAME] (doc/security.md)",
                 d->config);
    doctor_tell(d, "security", DOCTOR_WARNING,
                "%s: plain: any host on its network can read and forge packets\n%s", p->name, cure);
}

void doctor_security(struct doctor *d)
{
    bool key = d->conf.private_key_file[0] != 0;

    for (uint32_t i = 0; i < d->conf.n_ports; i++) {
        const struct doctor_port *p = &d->conf.ports[i];
        bool memory = memory_port(p->name, p->vdev);
        const char *security = p->security[0] != 0 ? p->security
                               : key && !memory    ? "required"
                                                   : "none";

        if (strcmp(security, "required") == 0)
            doctor_tell(d, "security", DOCTOR_GOOD, "%s: only peers with a key may connect",
                        p->name);
        else if (strcmp(security, "offered") == 0)
            doctor_tell(d, "security", DOCTOR_WARNING,
                        "%s: plain to hosts that have no public_key in %s\n"
                        "once all have one: security = required in [port %s]",
                        p->name, d->config, p->name);
        else if (memory)
            doctor_tell(d, "security", DOCTOR_GOOD,
                        "%s: plain; its other end is memory of this machine", p->name);
        else
            tell_plain(d, p, key);
    }
}
