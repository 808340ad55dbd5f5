/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The daemon's configuration as the doctor needs it. Only some keys are read here; all others are
 * ignored. Whether the file is right is checked by sluiced itself.
 */
#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/value.h"
#include "sluice/doctor/doctor.h"

static struct doctor_port *conf_section(struct doctor_conf *c, char *name)
{
    struct doctor_port *p;

    name[strcspn(name, "]")] = 0;
    name = value_strip(name);
    if (strncmp(name, "port", 4) != 0 || !isspace((unsigned char)name[4]) ||
        c->n_ports == DOCTOR_PORTS)
        return NULL;
    p = &c->ports[c->n_ports++];
    *p = (struct doctor_port){.mtu_bytes = 1500};
    snprintf(p->name, sizeof p->name, "%s", value_strip(name + 4));
    return p;
}

static void conf_key(struct doctor_conf *c, struct doctor_port *p, const char *key,
                     const char *value)
{
    uint64_t n;

    if (p == NULL && strcmp(key, "socket") == 0)
        snprintf(c->socket, sizeof c->socket, "%s", value);
    else if (p == NULL && strcmp(key, "socket_group") == 0)
        snprintf(c->group, sizeof c->group, "%s", value);
    else if (p == NULL && strcmp(key, "idle") == 0)
        c->poll = strcmp(value, "sleep") != 0;
    else if (p == NULL && strcmp(key, "lock") == 0)
        c->lock = strcmp(value, "no") != 0;
    else if (p == NULL && strcmp(key, "private_key_file") == 0)
        snprintf(c->private_key_file, sizeof c->private_key_file, "%s", value);
    else if (p == NULL && strcmp(key, "key_log_file") == 0)
        snprintf(c->key_log_file, sizeof c->key_log_file, "%s", value);
    else if (p == NULL && strcmp(key, "shared_key_file") == 0 && c->n_shared < DOCTOR_PEERS)
        snprintf(c->shared_key_file[c->n_shared++], sizeof *c->shared_key_file, "%s", value);
    else if (p != NULL && strcmp(key, "security") == 0)
        snprintf(p->security, sizeof p->security, "%s", value);
    else if (p != NULL && strcmp(key, "vdev") == 0)
        snprintf(p->vdev, sizeof p->vdev, "%s", value);
    else if (p != NULL && strcmp(key, "mtu") == 0 && value_size(value, &n) == NULL && n < 65536)
        p->mtu_bytes = (uint32_t)n;
}

void doctor_conf_read(struct doctor *d)
{
    struct doctor_port *port = NULL;
    char path[DOCTOR_PATH], line[512];
    FILE *f;

    d->conf = (struct doctor_conf){.poll = true, .lock = true};
    snprintf(d->conf.socket, sizeof d->conf.socket, "/run/sluice/sluiced.sock");
    f = fopen(doctor_path(d, path, "%s", d->config), "re");
    d->conf_there = f != NULL;
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        char *text, *equal;

        text = value_line(line);
        equal = strchr(text, '=');
        if (*text == '[') {
            port = conf_section(&d->conf, text + 1);
        } else if (equal != NULL) {
            *equal = 0;
            conf_key(&d->conf, port, value_strip(text), value_strip(equal + 1));
        }
    }
    if (f != NULL)
        fclose(f);
}

/* ---- what sluiced says of the configuration ------------------------------------------------ */

/* Reads all that comes, so that the writer never blocks; keeps only the first bytes. */
static void pipe_take(int fd, char *said, size_t said_len)
{
    char more[512];
    size_t n = 0;
    ssize_t got;

    while ((got = read(fd, more, sizeof more)) > 0 || (got < 0 && errno == EINTR)) {
        size_t fits = got < 0 ? 0 : (size_t)got < said_len - 1 - n ? (size_t)got : said_len - 1 - n;

        memcpy(said + n, more, fits);
        n += fits;
    }
    said[n] = 0;
}

/* Runs sluiced --check. Returns its exit status, or -1 if it cannot be run; said: the beginning of
 * its stderr. */
static int conf_check(const char *program, char *path, char *said, size_t said_len)
{
    char *args[] = {(char *)(uintptr_t)program,
                    (char *)(uintptr_t) "--check",
                    path,
                    (char *)(uintptr_t) "--log-format",
                    (char *)(uintptr_t) "text", /* whatever the file says */
                    NULL};
    posix_spawn_file_actions_t actions;
    int out[2], status = -1;
    pid_t pid;

    *said = 0;
    if (pipe(out) != 0)
        return -1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDERR_FILENO);
    posix_spawn_file_actions_addclose(&actions, out[0]);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", 1, 0);
    if (posix_spawnp(&pid, program, &actions, NULL, args, environ) != 0)
        pid = -1;
    posix_spawn_file_actions_destroy(&actions);
    close(out[1]);
    if (pid > 0)
        pipe_take(out[0], said, said_len);
    close(out[0]);
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}

void doctor_config(struct doctor *d)
{
    char path[DOCTOR_PATH], said[DOCTOR_TEXT], *text;
    int status;

    if (!d->conf_there) {
        doctor_tell(d, "config", DOCTOR_BAD,
                    "%s cannot be read\nmkdir -p /etc/sluice; write it (doc/configuration.md, "
                    "examples in config/), or name yours: sluice doctor --config FILE",
                    d->config);
        return;
    }
    if (d->daemon == NULL)
        return;
    doctor_path(d, path, "%s", d->config);
    status = conf_check(d->daemon, path, said, sizeof said);
    text = strncmp(said, "sluiced: ", 9) == 0 ? said + 9 : said;
    text += strncmp(text, "error: ", 7) == 0 ? 7 : 0;
    text[strcspn(text, "\n")] = 0;
    if (status == 0)
        doctor_tell(d, "config", DOCTOR_GOOD, "%s is good", d->config);
    else if (status == 3)
        doctor_tell(d, "config", DOCTOR_BAD, "%s\ncorrect it, then: sluiced --check %s", text,
                    d->config);
    else
        doctor_tell(d, "config", DOCTOR_WARNING,
                    "%s could not be checked: %s does not run\ninstall sluiced, or name it: sluice "
                    "doctor --daemon PROGRAM",
                    d->config, d->daemon);
}
