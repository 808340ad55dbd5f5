/* SPDX-License-Identifier: BSD-3-Clause */
/* Hugepages, the clock and the CPUs. See doctor.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/doctor/doctor.h"
#include "sluice/storage/ring.h"

#define HUGE "/sys/kernel/mm/hugepages"

static const char *after(const char *path, const char *part)
{
    const char *at = strstr(path, part);

    return at != NULL ? at + strlen(part) : "";
}

/* ---- hugepages --------------------------------------------------------------------------- */

/* On a machine with several NUMA nodes, each needs hugepages: a NIC's memory is on its own node. */
static void hugepage_nodes(const struct doctor *d)
{
    glob_t g, sizes;
    size_t n = doctor_glob(d, &g, "/sys/devices/system/node/node[0-9]*"), n_sizes, i, k;

    for (i = 0; n > 1 && i < n; i++) {
        const char *node = after(g.gl_pathv[i], "/system/node/");
        long pages = 0;

        n_sizes =
            doctor_glob(d, &sizes, "/sys/devices/system/node/%s/hugepages/hugepages-*kB", node);
        for (k = 0; k < n_sizes; k++)
            pages += doctor_number(d, "/sys/devices/system/node/%.32s/hugepages/%s/nr_hugepages",
                                   node, after(sizes.gl_pathv[k], "/hugepages/"));
        globfree(&sizes);
        if (pages <= 0)
            doctor_tell(d, "hugepages", DOCTOR_WARNING,
                        "%s has none, so its ports use memory of another node\necho 512 > "
                        "/sys/devices/system/node/%s/hugepages/hugepages-2048kB/nr_hugepages",
                        node, node);
    }
    globfree(&g);
}

void doctor_hugepages(struct doctor *d)
{
    glob_t g;
    size_t n = doctor_glob(d, &g, HUGE "/hugepages-*kB"), i;
    unsigned long long have = 0, unused = 0;

    for (i = 0; i < n; i++) {
        const char *size = after(g.gl_pathv[i], HUGE "/");
        unsigned long long kB = strtoull(size + strlen("hugepages-"), NULL, 10);
        long all = doctor_number(d, HUGE "/%s/nr_hugepages", size);
        long some = doctor_number(d, HUGE "/%s/free_hugepages", size);

        have += all > 0 ? (unsigned long long)all * kB : 0;
        unused += some > 0 ? (unsigned long long)some * kB : 0;
    }
    globfree(&g);
    if (n == 0)
        doctor_tell(d, "hugepages", DOCTOR_BAD,
                    "this kernel has none\nstart sluiced with --no-huge --no-shconf -m 512, or use "
                    "a kernel with CONFIG_HUGETLBFS");
    else if (have == 0)
        doctor_tell(d, "hugepages", DOCTOR_BAD,
                    "none are reserved\nsysctl -w vm.nr_hugepages=512   # and in /etc/sysctl.d, "
                    "for the next boot; or --no-huge --no-shconf -m 512");
    else if (unused < 128 * 1024 && d->pid == 0)
        doctor_tell(
            d, "hugepages", DOCTOR_BAD,
            "%llu of %llu MB are free, a daemon needs 128 or more\nsysctl -w vm.nr_hugepages=%llu  "
            " # or end the processes that use them: grep -l huge /proc/*/maps",
            unused / 1024, have / 1024, have / 2048 + 512);
    else
        doctor_tell(d, "hugepages", DOCTOR_GOOD, "%llu of %llu MB are free", unused / 1024,
                    have / 1024);
    if (have > 0)
        hugepage_nodes(d);
}

/* ---- clock ------------------------------------------------------------------------------- */

/* True if a line of /proc/cpuinfo contains the word. */
static bool has_word(const char *line, const char *word)
{
    size_t len = strlen(word);
    const char *at = line;

    while ((at = strstr(at, word)) != NULL) {
        if (at > line && at[-1] == ' ' && (at[len] == ' ' || at[len] == 0))
            return true;
        at += len;
    }
    return false;
}

void doctor_clock(struct doctor *d)
{
    char info[8192], source[64], *flags, *end;

    if (!doctor_read(d, info, sizeof info, "/proc/cpuinfo") ||
        (flags = strstr(info, "\nflags")) == NULL) {
        doctor_tell(d, "clock", DOCTOR_GOOD, "not an x86 CPU: its counter is assumed to be steady");
        return;
    }
    end = strchr(flags + 1, '\n');
    if (end != NULL)
        *end = 0;
    if (!has_word(flags, "constant_tsc"))
        doctor_tell(d, "clock", DOCTOR_BAD,
                    "the TSC changes its speed with the CPU's (no constant_tsc): rates will be "
                    "wrong\ncpupower frequency-set -g performance   # or give a virtual machine "
                    "the host's CPU model");
    else if (!has_word(flags, "nonstop_tsc"))
        doctor_tell(d, "clock", DOCTOR_WARNING,
                    "the TSC may stop in deep sleep (no nonstop_tsc)\n"
                    "add processor.max_cstate=1 to the kernel's command line");
    else if (doctor_read(d, source, sizeof source,
                         "/sys/devices/system/clocksource/clocksource0/current_clocksource") &&
             (strcmp(source, "hpet") == 0 || strcmp(source, "acpi_pm") == 0))
        doctor_tell(d, "clock", DOCTOR_WARNING,
                    "the kernel does not trust the TSC (its clock source is %s)\n"
                    "dmesg | grep -i tsc   # says why; tsc=reliable if you know better",
                    source);
    else
        doctor_tell(d, "clock", DOCTOR_GOOD, "the TSC is constant and never stops");
}

/* ---- CPUs -------------------------------------------------------------------------------- */

static unsigned list_count(const char *list)
{
    cpu_set_t cpus;

    doctor_cpu_list(list, &cpus);
    return (unsigned)CPU_COUNT(&cpus);
}

static void cpu_governor(const struct doctor *d)
{
    glob_t g;
    size_t n = doctor_glob(d, &g, "/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor"), i;
    unsigned slow = 0;
    char name[64] = "", last[64] = "";

    for (i = 0; i < n; i++) {
        if (!doctor_read(d, name, sizeof name, "%s", g.gl_pathv[i] + strlen(d->root)) ||
            strcmp(name, "performance") == 0)
            continue;
        slow++;
        snprintf(last, sizeof last, "%s", name);
    }
    globfree(&g);
    if (slow > 0)
        doctor_tell(d, "cpus", DOCTOR_WARNING,
                    "%u of %zu change their speed (governor %s): pacing is late after an idle "
                    "time\ncpupower frequency-set -g performance",
                    slow, n, last);
    else if (n > 0)
        doctor_tell(d, "cpus", DOCTOR_GOOD, "all run at full speed (governor performance)");
}

void doctor_cpus(struct doctor *d)
{
    char online[256], isolated[256] = "";
    char apart[32];
    unsigned n;

    if (!doctor_read(d, online, sizeof online, "/sys/devices/system/cpu/online"))
        snprintf(online, sizeof online, "0");
    n = list_count(online);
    doctor_read(d, isolated, sizeof isolated, "/sys/devices/system/cpu/isolated");
    snprintf(apart, sizeof apart, n > 3 ? "2-%u" : "%u", n - 1);
    if (d->conf.poll && n < 2)
        doctor_tell(d, "cpus", DOCTOR_BAD,
                    "there is only one, and a worker that polls takes all of it\nwrite idle = "
                    "sleep into [daemon] of %s",
                    d->config);
    else if (d->conf.poll && list_count(isolated) == 0)
        doctor_tell(d, "cpus", DOCTOR_WARNING,
                    "none of %u is isolated for workers, which poll: other processes interrupt "
                    "them\nadd isolcpus=%s nohz_full=%s to the kernel's command line, start with "
                    "-l 0,%s; or write idle = sleep into [daemon]",
                    n, apart, apart, apart);
    else
        doctor_tell(d, "cpus", DOCTOR_GOOD, "%u, of which %u are isolated; workers %s", n,
                    list_count(isolated),
                    d->conf.poll ? "poll" : "sleep when there is nothing to do");
    cpu_governor(d);
}

/* ---- files ------------------------------------------------------------------------------- */

/* How --direct reads and writes files. Without io_uring it does so as well, only slower. */
void doctor_files(struct doctor *d)
{
    long disabled = doctor_number(d, "/proc/sys/kernel/io_uring_disabled");
    struct ring *r = NULL;
    int err = disabled > 0 ? -EPERM : 0;

    if (err == 0 && d->root[0] == 0)
        r = ring_open(&err);
    ring_close(r);
    if (err == 0)
        doctor_tell(d, "files", DOCTOR_GOOD, "--direct has several pieces under way, by io_uring");
    else
        doctor_tell(d, "files", DOCTOR_GOOD, "--direct moves one piece after the other: %s",
                    err == -ENOSYS ? "no io_uring in this kernel, or in this build"
                    : disabled > 0 ? "kernel.io_uring_disabled forbids io_uring"
                                   : strerror(-err));
}
