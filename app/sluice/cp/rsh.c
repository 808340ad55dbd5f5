/* SPDX-License-Identifier: BSD-3-Clause */
/* The remote shell. See rsh.h. */
#include "sluice/cp/rsh.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sluice/loop.h"

#define LOOK_US 5000
#define KILL_NS 2000000000u /* SIGKILL follows SIGTERM after so long */

/* Moves the word at *from to `to`, without its quotes. False: a quote is not closed. */
static bool rsh_word(char **from, char *to)
{
    char quote = 0, *at;

    for (at = *from; *at != 0 && (quote != 0 || strchr(" \t\n", *at) == NULL); at++) {
        if (quote != 0 && *at == quote)
            quote = 0;
        else if (quote == 0 && (*at == '\'' || *at == '"'))
            quote = *at;
        else
            *to++ = *at;
    }
    *from = *at == 0 ? at : at + 1;
    *to = 0;
    return quote == 0;
}

int rsh_split(char *command, char *words[RSH_WORDS_MAX])
{
    int n = 0;

    for (;;) {
        command += strspn(command, " \t\n");
        if (*command == 0)
            return n > 0 ? n : -EINVAL;
        if (n == RSH_WORDS_MAX)
            return -EINVAL;
        words[n++] = command;
        if (!rsh_word(&command, words[n - 1]))
            return -EINVAL;
    }
}

/* Spawns the program with these descriptors as its standard input and output. */
static int rsh_spawn(pid_t *pid, char *const *words, int in_fd, int out_fd)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t defaults;
    int err;

    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE); /* which this process ignores */
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, in_fd, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, out_fd, STDOUT_FILENO);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    err = posix_spawnp(pid, words[0], &files, &attributes, words, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return -err;
}

pid_t rsh_start(char *const *words, int *in_fd, int *out_fd)
{
    int in[2], out[2], err;
    pid_t pid = 0;

    if (pipe2(in, O_CLOEXEC) < 0)
        return -errno;
    if (pipe2(out, O_CLOEXEC) < 0) {
        err = -errno;
        close(in[0]);
        close(in[1]);
        return err;
    }
    err = rsh_spawn(&pid, words, out[0], in[1]);
    close(out[0]);
    close(in[1]);
    *in_fd = in[0];
    *out_fd = out[1];
    if (err == 0)
        return pid;
    close(in[0]);
    close(out[1]);
    return err;
}

int rsh_end(pid_t pid, uint64_t wait_ns)
{
    uint64_t end = loop_now() + wait_ns;
    bool asked = false;
    int status;

    for (;;) {
        pid_t done = waitpid(pid, &status, WNOHANG);

        if (done == pid)
            return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        if (done < 0 && errno != EINTR)
            return -errno;
        if (loop_now() > end) {
            kill(pid, asked ? SIGKILL : SIGTERM);
            asked = true;
            end = loop_now() + KILL_NS;
        }
        usleep(LOOK_US);
    }
}
