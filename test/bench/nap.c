/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What waking up costs on this machine: one thread that only naps, as long as an idle worker's
 * longest nap. Prints naps a second and the CPU they take, in per cent of a core.
 *
 * Usage: nap SECONDS
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

#define NAP_NS 1700000

static double now_s(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
    const struct timespec nap = {0, NAP_NS};
    double seconds = argc == 2 ? strtod(argv[1], NULL) : 0, begin, cpu, took;
    unsigned long n = 0;

    if (seconds <= 0) {
        fputs("usage: nap SECONDS\n", stderr);
        return 2;
    }
    prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);
    begin = now_s(CLOCK_MONOTONIC);
    cpu = now_s(CLOCK_PROCESS_CPUTIME_ID);
    do {
        clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
        n++;
        took = now_s(CLOCK_MONOTONIC) - begin;
    } while (took < seconds);
    cpu = now_s(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    printf("%.0f %.3f\n", (double)n / took, 100 * cpu / took);
    return 0;
}
