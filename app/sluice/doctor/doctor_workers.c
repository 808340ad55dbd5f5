/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds workers that must share a CPU, among all daemons and boxes (sluice-emu) of this machine. A
 * worker polls for packets without a pause. If two workers share a CPU, each stalls for
 * milliseconds while the other runs, and both take that time for delay of a path. See doctor.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/doctor/doctor.h"

#define WORKERS_MAX 1024

struct worker {
    unsigned long pid;
    cpu_set_t may; /* CPUs that the worker may run on */
};

struct workers {
    uint32_t n;
    struct worker list[WORKERS_MAX];
};

/* ---- workers --------------------------------------------------------------------------------*/

static void worker_found(const struct doctor *d, struct workers *all, unsigned long pid,
                         unsigned long tid)
{
    struct worker *w = &all->list[all->n];
    char status[8192];
    const char *list;

    if (all->n == WORKERS_MAX ||
        !doctor_read(d, status, sizeof status, "/proc/%lu/task/%lu/status", pid, tid) ||
        (list = doctor_value(status, "\nCpus_allowed_list")) == NULL)
        return;
    w->pid = pid;
    doctor_cpu_list(list, &w->may);
    all->n += CPU_COUNT(&w->may) > 0;
}

/* Workers' threads are named sl-worker-*. The main thread, which has the process's name, is a
 * worker too if control has a thread of its own. */
static void process_look(const struct doctor *d, struct workers *all, unsigned long pid)
{
    glob_t g;
    size_t n = doctor_glob(d, &g, "/proc/%lu/task/[0-9]*", pid), i;

    for (i = 0; i < n; i++) {
        unsigned long tid = strtoul(strrchr(g.gl_pathv[i], '/') + 1, NULL, 10);
        char name[64];

        if (!doctor_read(d, name, sizeof name, "/proc/%lu/task/%lu/comm", pid, tid))
            continue;
        if (strncmp(name, "sl-worker-", 10) == 0)
            worker_found(d, all, pid, tid);
        else if (strcmp(name, "sluiced-control") == 0 || strcmp(name, "emu-control") == 0)
            worker_found(d, all, pid, pid);
    }
    globfree(&g);
}

static void workers_look(const struct doctor *d, struct workers *all)
{
    glob_t g;
    size_t n = doctor_glob(d, &g, "/proc/[0-9]*"), i;

    for (i = 0; i < n; i++) {
        unsigned long pid = strtoul(strrchr(g.gl_pathv[i], '/') + 1, NULL, 10);
        char name[64];

        if (doctor_read(d, name, sizeof name, "/proc/%lu/comm", pid) &&
            (strcmp(name, "sluiced") == 0 || strcmp(name, "sluice-emu") == 0))
            process_look(d, all, pid);
    }
    globfree(&g);
}

/* ---- shared cores ---------------------------------------------------------------------------*/

static bool within(const cpu_set_t *a, const cpu_set_t *b)
{
    cpu_set_t both;

    CPU_AND(&both, a, b);
    return CPU_EQUAL(&both, a);
}

static int cpu_first(const cpu_set_t *cpus)
{
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, cpus))
            return cpu;
    return -1;
}

/* A CPU that a program started from here may use, and that no worker may; -1: there is none. */
static int cpu_free(const struct doctor *d, const struct workers *all)
{
    cpu_set_t left, own;
    char text[8192];
    const char *list;

    if (!doctor_read(d, text, sizeof text, "/sys/devices/system/cpu/online"))
        return -1;
    doctor_cpu_list(text, &left);
    if (doctor_read(d, text, sizeof text, "/proc/self/status") &&
        (list = doctor_value(text, "\nCpus_allowed_list")) != NULL) {
        doctor_cpu_list(list, &own);
        CPU_AND(&left, &left, &own);
    }
    for (uint32_t i = 0; i < all->n; i++) {
        CPU_XOR(&own, &left, &all->list[i].may);
        CPU_AND(&left, &left, &own);
    }
    return cpu_first(&left);
}

/* Writes the CPUs as text, ranges in ascending order: "0-3,7". */
static void cpus_text(const cpu_set_t *cpus, char *out, size_t out_len)
{
    size_t len = 0;

    *out = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE && len < out_len; cpu++) {
        int last = cpu;

        if (!CPU_ISSET(cpu, cpus))
            continue;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, cpus))
            last++;
        len += (size_t)snprintf(out + len, out_len - len, last > cpu ? "%s%d-%d" : "%s%d",
                                len > 0 ? "," : "", cpu, last);
        cpu = last;
    }
}

/* True if worker i has fewer CPUs than there are workers that may run only on these CPUs. *n: the
 * number of these workers; pids: their process IDs, as text. */
static bool crowded(const struct workers *all, uint32_t i, uint32_t *n, char *pids, size_t pids_len)
{
    unsigned long last = 0;
    size_t len = 0;

    *n = 0;
    *pids = 0;
    for (uint32_t k = 0; k < all->n; k++) {
        const struct worker *w = &all->list[k];

        if (!within(&w->may, &all->list[i].may))
            continue;
        ++*n;
        if (w->pid != last && len < pids_len)
            len +=
                (size_t)snprintf(pids + len, pids_len - len, "%s%lu", len > 0 ? ", " : "", w->pid);
        last = w->pid;
    }
    return *n > (uint32_t)CPU_COUNT(&all->list[i].may);
}

static void crowd_tell(const struct doctor *d, const struct workers *all, uint32_t i, uint32_t n,
                       const char *pids)
{
    const cpu_set_t *cpus = &all->list[i].may;
    int spare = cpu_free(d, all), shared = cpu_first(cpus);
    char cure[256], names[128];

    cpus_text(cpus, names, sizeof names);
    if (spare >= 0)
        snprintf(cure, sizeof cure,
                 "start one of them with its worker on another CPU: sluiced --lcores "
                 "0@%d,1@%d ...   # LCORE@CPU, lcore 0 is control",
                 shared, spare);
    else
        snprintf(cure, sizeof cure,
                 "every CPU has a worker: run fewer daemons here, or fewer workers (workers in "
                 "their ports' sections)");
    doctor_tell(d, "workers", DOCTOR_WARNING,
                "%u share CPU %s (process %s): each waits while another runs, and "
                "transfers are slow\n%s",
                n, names, pids, cure);
}

void doctor_workers(struct doctor *d)
{
    struct workers *all = calloc(1, sizeof *all);
    bool good = true;
    uint32_t i, k, n;
    char pids[128];

    if (all == NULL)
        return;
    workers_look(d, all);
    for (i = 0; i < all->n; i++) {
        for (k = 0; k < i && !CPU_EQUAL(&all->list[k].may, &all->list[i].may); k++)
            ;
        if (k < i || !crowded(all, i, &n, pids, sizeof pids))
            continue;
        good = false;
        crowd_tell(d, all, i, n, pids);
    }
    if (good && all->n > 0)
        doctor_tell(d, "workers", DOCTOR_GOOD,
                    "of %u on this machine, none shares its CPU with another", all->n);
    free(all);
}
