/* SPDX-License-Identifier: BSD-3-Clause */
/* See prompt.h. */
#include "sluiced/control/prompt.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "common/say.h"
#include "sluice/remote/remote.h"

#define STOP_WAIT_S 2

static struct prompt {
    bool interactive, runs, failed; /* failed: written by the thread before it ends */
    const char *file, *socket;
    int stop_fd;
    pthread_t thread;
} prompt;

bool prompt_set(bool interactive, const char *file)
{
    struct remote r = {0};
    struct console c;

    prompt.interactive = interactive;
    prompt.file = file;
    remote_console(&r, "sluiced", "sluiced> ", &c);
    return file == NULL || console_load(&c, file, true) == CONSOLE_OK;
}

/* Asks the daemon to stop. */
static void stop_ask(void)
{
    kill(getpid(), SIGTERM);
}

static void *prompt_main(void *arg)
{
    struct prompt *p = arg;
    struct remote r = {.socket = p->socket, .stays = p->interactive};
    struct console c;
    char err[512];
    int code = CONSOLE_OK;

    if (sluice_open(&r.session, p->socket, err, sizeof err) < 0) {
        say(SAY_ERROR, "console: %s", err);
        __atomic_store_n(&p->failed, true, __ATOMIC_RELEASE);
        stop_ask();
        return NULL;
    }
    remote_console(&r, "sluiced", "sluiced> ", &c);
    c.stop_fd = p->stop_fd;
    if (p->file != NULL)
        code = console_load(&c, p->file, false);
    if (p->interactive && !c.quit)
        console_talk(&c);
    else if (code != CONSOLE_OK)
        __atomic_store_n(&p->failed, true, __ATOMIC_RELEASE);
    remote_close(&r);
    sluice_close(r.session);
    if (p->interactive || c.quit || code != CONSOLE_OK)
        stop_ask();
    return NULL;
}

void prompt_start(const char *socket, const cpu_set_t *cpus)
{
    sigset_t ours, before;
    int rc;

    if (!prompt.interactive && prompt.file == NULL)
        return;
    prompt.socket = socket;
    prompt.stop_fd = eventfd(0, EFD_CLOEXEC);
    sigemptyset(&ours); /* signals for control; fatal ones stay unblocked, for crash.c */
    sigaddset(&ours, SIGINT);
    sigaddset(&ours, SIGTERM);
    sigaddset(&ours, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &ours, &before);
    rc = pthread_create(&prompt.thread, NULL, prompt_main, &prompt);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    prompt.runs = rc == 0;
    if (!prompt.runs) {
        say(SAY_ERROR, "no thread for the console: %s; raise the limit of threads (ulimit -u)",
            strerror(rc));
        prompt.failed = true;
        stop_ask();
        return;
    }
    pthread_setaffinity_np(prompt.thread, sizeof *cpus, cpus);
    pthread_setname_np(prompt.thread, "sluiced-console");
}

bool prompt_stop(void)
{
    uint64_t one = 1;
    struct timespec until;

    if (!prompt.runs)
        return !prompt.failed;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += STOP_WAIT_S;
    /* A command that came too late to be served gets no answer: the process ends while the thread
     * waits for the answer. */
    if (write(prompt.stop_fd, &one, sizeof one) == sizeof one)
        pthread_clockjoin_np(prompt.thread, NULL, CLOCK_MONOTONIC, &until);
    prompt.runs = false;
    return !__atomic_load_n(&prompt.failed, __ATOMIC_ACQUIRE);
}
