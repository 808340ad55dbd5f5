/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures how much time a loop that only reads the TSC loses, to the kernel's tick, to interrupts,
 * and on a virtual machine to the host. Prints one line of JSON: the share of time that was lost,
 * and the 99 % quantile of the delay that the loss alone would cause in an ideal box, at half of
 * its load. Packets that arrive while the core is away wait for it, and as long again passes until
 * the backlog is gone.
 *
 * spin SECONDS     taskset keeps it on one CPU
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <rte_cycles.h>

#define GAPS_MAX 1000000u
#define GAP_NS   1000.0 /* shorter ones do not count */

static uint64_t raw_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Share of the time in which an arrival would wait for longer than wait_ns. */
static double waits(const double *gaps, uint32_t n, double wait_ns, double all_ns)
{
    double sum = 0;

    for (uint32_t i = 0; i < n; i++)
        if (gaps[i] > wait_ns)
            sum += 2 * (gaps[i] - wait_ns);
    return sum / all_ns;
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 2, lost = 0, low = 0, high = 1e9, all, ns;
    double *gaps = calloc(GAPS_MAX, sizeof *gaps);
    uint64_t ns0, tsc0, last, now, end;
    uint32_t n = 0;

    if (gaps == NULL)
        return 1;
    ns0 = raw_ns();
    tsc0 = last = rte_rdtsc();
    end = ns0 + (uint64_t)(seconds * 1e9);
    for (uint32_t rounds = 0; rounds % 1048576 != 0 || raw_ns() < end; rounds++) {
        now = rte_rdtsc();
        if (now - last > 500 && n < GAPS_MAX) /* cycles: their rate is known only at the end */
            gaps[n++] = (double)(now - last);
        last = now;
    }
    all = (double)(raw_ns() - ns0);
    ns = all / (double)(last - tsc0);
    now = n;
    n = 0;
    for (uint32_t i = 0; i < now; i++)
        if (gaps[i] * ns > GAP_NS) {
            gaps[n] = gaps[i] * ns;
            lost += gaps[n++];
        }
    while (high - low > 1) {
        double middle = (low + high) / 2;

        if (waits(gaps, n, middle, all) > 0.01)
            low = middle;
        else
            high = middle;
    }
    printf("{\"seconds\": %.3f, \"gaps\": %u, \"lost_share\": %.6f, \"p99_ns\": %.0f}\n",
           all * 1e-9, n, lost / all, high);
    free(gaps);
    return 0;
}
