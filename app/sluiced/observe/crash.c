/* SPDX-License-Identifier: BSD-3-Clause */
/* See crash.h. After the signal, only functions that a signal handler may call are called. */
#include "sluiced/observe/crash.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rte_common.h>

#include "base/clock.h"
#include "base/line.h"
#include "common/clock.h"
#include "common/say.h"

#define RINGS_MAX      160
#define NAME_MAX_BYTES 96
#define LINE_BYTES     (TRACE_TEXT_MAX + NAME_MAX_BYTES + 64)

static const int fatal[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS, SIGTRAP};

static struct crash {
    struct crash_ring {
        char name[NAME_MAX_BYTES];
        const struct trace *trace;
    } rings[RINGS_MAX];
    uint32_t n;
    char path[256];
    uint64_t hz;
    pid_t thread; /* atomic: the one that dies; 0: none */
} crash;

/* "trace net_memif0/0: 1.000123456 s ago: conn 3 opened ...": a line of the file, or of the log if
 * fd is stderr. */
static void say_event(int fd, const struct crash_ring *r, const struct trace_event *e, uint64_t now)
{
    struct clock clock = {crash.hz};
    uint64_t ago_ns = clock_ns(&clock, now > e->time ? now - e->time : 0);
    static const char name[] = "sluiced: ";
    char text[LINE_BYTES];
    struct line l = {text, text + sizeof text - 2};

    line_put(&l, name);
    line_put(&l, "trace ");
    line_put(&l, r->name);
    line_put(&l, ": ");
    line_number(&l, ago_ns / CLOCK_NS_PER_S, 1);
    line_put(&l, ".");
    line_number(&l, ago_ns % CLOCK_NS_PER_S, 9);
    line_put(&l, " s ago: ");
    l.at += trace_text(e, l.at, (size_t)(l.end - l.at));
    *l.at = '\0';
    if (fd == STDERR_FILENO) {
        say_text(SAY_INFO, NULL, text + sizeof name - 1);
        return;
    }
    *l.at++ = '\n';
    say_bytes(fd, text, (size_t)(l.at - text));
}

static void say_ring(int fd, const struct crash_ring *r, uint64_t most, uint64_t now)
{
    uint64_t count = trace_count(r->trace), n = trace_first(r->trace);
    struct trace_event e;

    if (count > most && n < count - most)
        n = count - most;
    for (; n < count; n++)
        if (trace_read(r->trace, n, &e))
            say_event(fd, r, &e, now);
}

/* Opens an empty regular file that is ours alone, or returns -1. In a folder where others may
 * write, the path may lead to a pipe that nobody reads, or be a hard link to a file that must be
 * kept. */
static int file_open(void)
{
    int fd = open(crash.path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    struct stat st;

    if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
                    st.st_nlink != 1 || ftruncate(fd, 0) != 0)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static void say_all(int signal_number)
{
    int fd = file_open();
    uint64_t now = clock_now();
    char text[LINE_BYTES + sizeof crash.path];
    struct line l = {text, text + sizeof text - 1};

    line_put(&l, "killed by signal ");
    line_number(&l, (uint64_t)signal_number, 1);
    line_put(&l, fd >= 0 ? "; the latest events are in "
                         : "; the latest events could not be written to ");
    line_put(&l, crash.path);
    *l.at = '\0';
    say_text(SAY_ERROR, NULL, text);
    for (uint32_t i = 0; i < crash.n; i++) {
        if (fd >= 0)
            say_ring(fd, &crash.rings[i], TRACE_EVENTS, now);
        say_ring(STDERR_FILENO, &crash.rings[i], CRASH_SAID, now);
    }
}

/* ---- signals ------------------------------------------------------------------------------- */

static void on_fatal(int number)
{
    pid_t me = (pid_t)syscall(SYS_gettid), none = 0;

    if (__atomic_compare_exchange_n(&crash.thread, &none, me, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
        say_all(number);
    else if (none != me)
        for (;;)
            pause(); /* the other thread ends the process */
    signal(number, SIG_DFL);
    raise(number); /* takes effect once this handler has returned */
}

/* Changes the handlers of fatal signals from `from` to `to`. Leaves other handlers alone, such as a
 * sanitizer's. */
static void handlers_change(void (*from)(int), void (*to)(int))
{
    struct sigaction act = {.sa_handler = to}, old;

    sigemptyset(&act.sa_mask);
    for (size_t i = 0; i < RTE_DIM(fatal); i++)
        if (sigaction(fatal[i], NULL, &old) == 0 && old.sa_handler == from)
            sigaction(fatal[i], &act, NULL);
}

void crash_add(const char *name, const struct trace *t)
{
    if (crash.n == RINGS_MAX)
        return;
    snprintf(crash.rings[crash.n].name, NAME_MAX_BYTES, "%s", name);
    crash.rings[crash.n++].trace = t;
}

void crash_start(const char *path, uint64_t hz)
{
    snprintf(crash.path, sizeof crash.path, "%s", path);
    crash.hz = hz;
    handlers_change(SIG_DFL, on_fatal);
}

void crash_stop(void)
{
    handlers_change(on_fatal, SIG_DFL);
    crash.n = 0;
}
