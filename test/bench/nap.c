/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures what resting costs on this machine. First, one thread only naps, each time as long as an
 * idle worker's longest nap when nothing wakes it. Then, one thread waits for a descriptor, and a
 * thread on another CPU writes to it every tenth of a second. Measured is how long the first one
 * takes until it runs. Prints naps a second, their CPU time in per cent of a core, and the median
 * wait in us.
 *
 * Usage: nap SECONDS CPU OTHER_CPU WAKES
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define NAP_NS    1700000
#define WAKES_MAX 50
#define PAUSE_NS  100000000
#define ROUND_NS  10000000 /* longest wait before it waits again, as a worker's */

struct waker {
    int epoll, fd, cpu, wakes;
    double sent_s; /* the descriptor hands it over to the waiter */
    double took_s[WAKES_MAX];
};

static double now_s(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void pin(int cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

static void naps(double seconds)
{
    const struct timespec nap = {0, NAP_NS};
    double begin = now_s(CLOCK_MONOTONIC), cpu = now_s(CLOCK_PROCESS_CPUTIME_ID), took;
    unsigned long n = 0;

    do {
        clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
        n++;
        took = now_s(CLOCK_MONOTONIC) - begin;
    } while (took < seconds);
    cpu = now_s(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    printf("%.0f %.3f ", (double)n / took, 100 * cpu / took);
}

static void *waiter(void *arg)
{
    const struct timespec most = {0, ROUND_NS};
    struct waker *w = arg;
    struct epoll_event event;
    uint64_t count;

    pin(w->cpu);
    for (int n = 0; n < w->wakes;) {
        if (epoll_pwait2(w->epoll, &event, 1, &most, NULL) <= 0)
            continue;
        double now = now_s(CLOCK_MONOTONIC);

        if (read(w->fd, &count, sizeof count) == sizeof count)
            w->took_s[n++] = now - w->sent_s;
    }
    return NULL;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static int wakes(int cpu, int count)
{
    const struct timespec pause = {0, PAUSE_NS};
    struct waker w = {
        .epoll = epoll_create1(0), .fd = eventfd(0, EFD_NONBLOCK), .cpu = cpu, .wakes = count};
    struct epoll_event event = {.events = EPOLLIN};
    uint64_t one = 1;
    pthread_t thread;

    if (epoll_ctl(w.epoll, EPOLL_CTL_ADD, w.fd, &event) != 0 ||
        pthread_create(&thread, NULL, waiter, &w) != 0)
        return 1;
    for (int n = 0; n < count; n++) {
        clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
        w.sent_s = now_s(CLOCK_MONOTONIC);
        if (write(w.fd, &one, sizeof one) != sizeof one)
            return 1;
    }
    pthread_join(thread, NULL);
    qsort(w.took_s, (size_t)count, sizeof *w.took_s, compare);
    printf("%.1f\n", 1e6 * w.took_s[count / 2]);
    return 0;
}

int main(int argc, char **argv)
{
    double seconds = argc == 5 ? strtod(argv[1], NULL) : 0;
    int count = argc == 5 ? atoi(argv[4]) : 0, cpu, other;

    if (seconds <= 0 || count < 1 || count > WAKES_MAX) {
        fputs("usage: nap SECONDS CPU OTHER_CPU WAKES\n", stderr);
        return 2;
    }
    cpu = atoi(argv[2]);
    other = atoi(argv[3]);
    prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);
    pin(cpu);
    naps(seconds);
    pin(other);
    return wakes(cpu, count);
}
