/* SPDX-License-Identifier: BSD-3-Clause */
/* What every command's loop needs: the session with the daemon, signals, the clock, sleeping. */
#include "sluice/loop.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "sluice/say.h"

/* Global, since a signal handler gets no context. */
static volatile sig_atomic_t loop_stop;
static int loop_stop_fd = -1;
static int loop_end_code;

static struct {
    int fd; /* -1: none */
    void (*ready)(void *context);
    void *context;
} loop_watched[LOOP_WATCHED_MAX] = {{.fd = -1}, {.fd = -1}};

static void loop_handler(int signal_number)
{
    uint64_t one = 1;
    int saved = errno;

    loop_stop = signal_number;
    if (write(loop_stop_fd, &one, sizeof one) < 0)
        errno = saved;
    errno = saved;
}

void loop_signals(void)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction a = {.sa_handler = loop_handler, .sa_flags = (int)SA_RESETHAND};
    struct sigaction before;
    unsigned i;

    if (loop_stop_fd >= 0)
        return;
    signal(SIGPIPE, SIG_IGN);
    loop_stop_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    for (i = 0; i < sizeof ends / sizeof *ends; i++) {
        /* A signal that is ignored stays ignored, as nohup wants. */
        if (sigaction(ends[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(ends[i], &a, NULL);
    }
}

int loop_refused(int err, const char *why)
{
    return say_error(err == -ENOMEM || err == -EDQUOT ? SAY_RESOURCE : SAY_DAEMON, "%s", why);
}

int loop_open(struct loop *l, const char *socket_path)
{
    char why[512];
    int err;

    loop_signals();
    err = sluice_open(&l->session, socket_path, why, sizeof why);
    if (err < 0)
        return loop_refused(err, why);
    l->fd = sluice_fd(l->session);
    if (l->fd < 0) {
        int code = say_error(SAY_RESOURCE, "%s", sluice_error(l->session));

        loop_close(l);
        return code;
    }
    return SAY_OK;
}

void loop_close(struct loop *l)
{
    if (l->session != NULL)
        sluice_close(l->session);
    l->session = NULL;
}

int loop_signal(void)
{
    return loop_stop;
}

void loop_end(int code)
{
    if (loop_end_code == 0)
        loop_end_code = code;
}

int loop_code(void)
{
    return loop_stop != 0 ? 128 + loop_stop : loop_end_code;
}

void loop_watch(int fd, void (*ready)(void *context), void *context)
{
    unsigned i;

    for (i = 0; i < LOOP_WATCHED_MAX && loop_watched[i].fd >= 0; i++)
        ;
    CHECK(fd >= 0 && i < LOOP_WATCHED_MAX);
    loop_watched[i].fd = fd;
    loop_watched[i].ready = ready;
    loop_watched[i].context = context;
}

void loop_unwatch(int fd)
{
    unsigned i;

    for (i = 0; i < LOOP_WATCHED_MAX && fd >= 0; i++) {
        if (loop_watched[i].fd == fd)
            loop_watched[i].fd = -1;
    }
}

bool loop_wait(struct loop *l, int extra_fd, uint64_t timeout_ns)
{
    struct pollfd p[3 + LOOP_WATCHED_MAX] = {{.fd = l->fd, .events = POLLIN},
                                             {.fd = loop_stop_fd, .events = POLLIN},
                                             {.fd = extra_fd, .events = POLLIN}};
    struct timespec t = {.tv_sec = (time_t)(timeout_ns / 1000000000u),
                         .tv_nsec = (long)(timeout_ns % 1000000000u)};
    uint64_t count;
    unsigned i;

    for (i = 0; i < LOOP_WATCHED_MAX; i++)
        p[3 + i] = (struct pollfd){.fd = loop_watched[i].fd, .events = POLLIN};
    /* ppoll() skips a negative descriptor. */
    if (ppoll(p, 3 + LOOP_WATCHED_MAX, timeout_ns == UINT64_MAX ? NULL : &t, NULL) <= 0)
        return false;
    /* Drain the eventfd: a command that goes on after a signal must be able to sleep here again. */
    if (p[1].revents != 0 && read(loop_stop_fd, &count, sizeof count) < 0)
        return false;
    /* What one hears may end the watch of the other. */
    for (i = 0; i < LOOP_WATCHED_MAX; i++) {
        if (p[3 + i].revents != 0 && loop_watched[i].fd == p[3 + i].fd)
            loop_watched[i].ready(loop_watched[i].context);
    }
    return (p[2].revents & (POLLIN | POLLHUP | POLLERR | POLLNVAL)) != 0;
}

bool loop_wait_until(struct loop *l, int extra_fd, uint64_t end_ns)
{
    uint64_t now = loop_now();

    if (end_ns == UINT64_MAX)
        return loop_wait(l, extra_fd, UINT64_MAX);
    return loop_wait(l, extra_fd, end_ns > now ? end_ns - now : 0);
}
