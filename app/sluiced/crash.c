/* SPDX-License-Identifier: BSD-3-Clause */
/* See crash.h. Between the signal and its end only what a signal handler may call is called. */
#include "sluiced/crash.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_cycles.h>

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
    pid_t thread; /* that dies, atomic; 0: none */
} crash;

/* ---- text -------------------------------------------------------------------------------- */

static size_t put(char *line, size_t at, const char *text)
{
    while (*text != '\0' && at < LINE_BYTES - 1)
        line[at++] = *text++;
    return at;
}

/* At least `width` digits. */
static size_t put_number(char *line, size_t at, uint64_t n, int width)
{
    char digits[24], *d = digits + sizeof digits - 1;

    *d = '\0';
    for (; n > 0 || width > 0 || *d == '\0'; n /= 10, width--)
        *--d = (char)('0' + n % 10);
    return put(line, at, d);
}

static void say_bytes(int fd, const char *text, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, text, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return;
        text += n;
        len -= (size_t)n;
    }
}

/* "sluiced: trace net_memif0/0: 1.000123456 s ago: conn 3 opened ..." */
static void say_event(int fd, const struct crash_ring *r, const struct trace_event *e, uint64_t now)
{
    uint64_t ago = now > e->time ? now - e->time : 0;
    char line[LINE_BYTES];
    size_t at = put(line, 0, "sluiced: trace ");

    at = put(line, at, r->name);
    at = put(line, at, ": ");
    at = put_number(line, at, ago / crash.hz, 1);
    at = put(line, at, ".");
    at = put_number(line, at,
                    (uint64_t)((unsigned __int128)(ago % crash.hz) * 1000000000u / crash.hz), 9);
    at = put(line, at, " s ago: ");
    at += trace_text(e, line + at, LINE_BYTES - at - 1);
    line[at++] = '\n';
    say_bytes(fd, line, at);
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

/* An empty file of ours alone, or -1: where others may write, the name may be a pipe that nobody
 * reads, or another name of a file that is worth something. */
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
    uint64_t now = rte_rdtsc();
    char line[LINE_BYTES];
    size_t at = put(line, 0, "sluiced: killed by signal ");

    at = put_number(line, at, (uint64_t)signal_number, 1);
    at = put(line, at,
             fd >= 0 ? "; what happened before is in " : "; what happened before, but not in ");
    at = put(line, at, crash.path);
    line[at++] = '\n';
    say_bytes(STDERR_FILENO, line, at);
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
            pause(); /* the other one ends us all */
    signal(number, SIG_DFL);
    raise(number); /* once this handler has returned */
}

/* Leaves alone who else handles a signal: a sanitizer. */
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
