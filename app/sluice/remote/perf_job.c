/* SPDX-License-Identifier: BSD-3-Clause */
/* See perf_job.h. The console may be a thread of a process with signal handlers, hugepages and
 * descriptors of its own. So the child is spawned instead of forked, and inherits only the three
 * standard descriptors. */
#include "sluice/remote/perf_job.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "console/text.h"
#include "sluice/loop.h"
#include "sluice/remote/program.h"

#define OPTIONS_MAX 60
#define OWN_MAX     12 /* arguments that we add */
#define LOOK_US     2000

/* ---- arguments ---------------------------------------------------------------------------- */

struct arguments {
    char *list[OPTIONS_MAX + OWN_MAX];
    unsigned n;
};

static void argument_add(struct arguments *a, const char *text)
{
    a->list[a->n++] = (char *)(uintptr_t)text;
}

/* Splits options at blanks. False: there are too many. */
static bool options_split(struct arguments *a, char *options)
{
    char *save = NULL, *word;
    unsigned n = 0;

    for (word = strtok_r(options, " \t", &save); word != NULL; word = strtok_r(NULL, " \t", &save))
        if (n++ < OPTIONS_MAX)
            argument_add(a, word);
    return n <= OPTIONS_MAX;
}

/* ---- the process -------------------------------------------------------------------------- */

static int job_spawn(struct perf_job *j, char *const *args)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    char program[600];
    sigset_t none, all;
    int rc;

    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, j->said_fd, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, j->said_fd, STDERR_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
    posix_spawnattr_init(&attributes);
    /* The child has its own process group: signals from the terminal's keys are for the console. */
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                              POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    rc = posix_spawnp(&j->pid, program_find("sluice", program, sizeof program), &files, &attributes,
                      args, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return -rc;
}

int perf_job_start(struct perf_job *j, const struct perf_job_order *o, char *err, size_t err_len)
{
    bool server = strcmp(o->whom, "server") == 0;
    char *options = strdup(o->options), parent[24];
    struct arguments a = {.n = 0};
    int rc = -ENOMEM;

    *j = (struct perf_job){.said_fd = memfd_create("sluice perf", MFD_CLOEXEC)};
    snprintf(parent, sizeof parent, "%d", (int)getpid());
    text_safe(j->whom, sizeof j->whom, o->whom);
    argument_add(&a, "sluice");
    argument_add(&a, "perf");
    argument_add(&a, server ? "server" : "client");
    if (options != NULL && !options_split(&a, options))
        rc = -E2BIG;
    else if (options != NULL && j->said_fd >= 0)
        rc = 0;
    /* Of equal options the last one counts, so ours come after the user's. */
    argument_add(&a, "--interval=0");
    argument_add(&a, "--parent");
    argument_add(&a, parent);
    argument_add(&a, "--socket");
    argument_add(&a, o->socket != NULL ? o->socket : SLUICE_SOCKET_DEFAULT);
    if (o->json)
        argument_add(&a, "--json");
    if (!server)
        argument_add(&a, o->whom);
    if (rc == 0)
        rc = job_spawn(j, a.list);
    free(options);
    if (rc == -E2BIG)
        snprintf(err, err_len, "more than %d words of options; remove some", OPTIONS_MAX);
    else if (rc != 0)
        snprintf(err, err_len,
                 "sluice perf cannot be started: %s; put sluice beside this program, or into the "
                 "PATH",
                 strerror(-rc));
    if (rc != 0) {
        perf_job_forget(j);
        return rc;
    }
    j->running = true;
    j->begun_ns = loop_now();
    return 0;
}

bool perf_job_ended(struct perf_job *j)
{
    int status;
    pid_t pid;

    if (!j->running)
        return true;
    pid = waitpid(j->pid, &status, WNOHANG);
    if (pid == 0)
        return false;
    if (pid < 0) /* SIGCHLD is ignored in this process: the status is lost */
        status = 0;
    j->running = false;
    j->ended_ns = loop_now();
    j->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return true;
}

void perf_job_stop(struct perf_job *j, uint64_t wait_ns)
{
    uint64_t end = loop_now() + wait_ns;

    if (perf_job_ended(j))
        return;
    j->asked_to = true;
    kill(j->pid, SIGINT);
    while (!perf_job_ended(j)) {
        if (loop_now() > end)
            kill(j->pid, SIGKILL);
        usleep(LOOK_US);
    }
}

char *perf_job_said(const struct perf_job *j)
{
    off_t end = lseek(j->said_fd, 0, SEEK_CUR), from; /* the child writes at this offset */
    char *text = malloc(PERF_JOB_SAID_MAX + 1);
    ssize_t n;

    if (text == NULL)
        return NULL;
    from = end > PERF_JOB_SAID_MAX ? end - PERF_JOB_SAID_MAX : 0;
    n = pread(j->said_fd, text, PERF_JOB_SAID_MAX, from);
    text[n > 0 ? n : 0] = 0;
    return text;
}

void perf_job_forget(struct perf_job *j)
{
    if (j->said_fd >= 0)
        close(j->said_fd);
    *j = (struct perf_job){.said_fd = -1};
}
