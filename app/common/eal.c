/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * See eal.h. Causes that can be seen beforehand (no hugepages, another process with our file
 * prefix) are checked before rte_eal_init() prints anything. Other causes are derived from its
 * rte_errno.
 */
/* For eal_stop(): DPDK 23.11 made these functions of rte_interrupts.h stable as 21.11 has them. */
#define ALLOW_EXPERIMENTAL_API
#include "common/eal.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_interrupts.h>

#include "common/eal_log.h"
#include "common/rights.h"

struct start {
    const char *const *ports;
    uint32_t n;
    int argc;
    char **argv;
    char *err;
    size_t err_len;
};

static bool has_flag(const struct start *s, const char *flag)
{
    int i;

    for (i = 1; i < s->argc; i++) {
        if (strcmp(s->argv[i], flag) == 0)
            return true;
    }
    return false;
}

/* Value of "--name=VALUE", "--name VALUE" or "-n VALUE"; NULL if the command line has none. */
static const char *flag_value(const struct start *s, const char *flag)
{
    size_t len = strlen(flag);
    const char *value = NULL;
    int i;

    for (i = 1; i < s->argc; i++) {
        const char *arg = s->argv[i];

        if (strcmp(arg, flag) == 0 && i + 1 < s->argc)
            value = s->argv[i + 1];
        else if (strncmp(arg, flag, len) == 0 && arg[len] == '=')
            value = arg + len + 1;
    }
    return value;
}

static uint64_t file_number(const char *path)
{
    unsigned long long n = 0;
    FILE *f = fopen(path, "r");

    if (f == NULL)
        return 0;
    if (fscanf(f, "%llu", &n) != 1)
        n = 0;
    fclose(f);
    return n;
}

static uint64_t free_hugepage_bytes(void)
{
    glob_t g;
    uint64_t sum = 0;
    size_t i;

    if (glob("/sys/kernel/mm/hugepages/hugepages-*kB/free_hugepages", 0, NULL, &g) != 0)
        return 0;
    for (i = 0; i < g.gl_pathc; i++) {
        unsigned long kb = strtoul(strstr(g.gl_pathv[i], "hugepages-") + 10, NULL, 10);

        sum += file_number(g.gl_pathv[i]) * kb * 1024;
    }
    globfree(&g);
    return sum;
}

/* EAL's lock: <run dir>/dpdk/<prefix>/config. True if another process holds it. */
static bool prefix_taken(const char *prefix)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    const char *dir = getenv("RUNTIME_DIRECTORY"); /* set by the service manager */
    char path[256];
    bool taken;
    int fd;

    if (dir == NULL)
        dir = geteuid() == 0 ? "/var/run" : getenv("XDG_RUNTIME_DIR");
    if (dir == NULL)
        dir = "/tmp";
    snprintf(path, sizeof path, "%s/dpdk/%s/config", dir, prefix);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return false;
    taken = fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    close(fd);
    return taken;
}

static int check_hugepages(const struct start *s)
{
    const char *m = flag_value(s, "-m");
    uint64_t have = free_hugepage_bytes(), want = m != NULL ? strtoull(m, NULL, 10) << 20 : 0;

    if (have == 0) {
        snprintf(s->err, s->err_len,
                 "no free hugepages; as root: echo 512 > "
                 "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages, or start with --no-huge "
                 "--no-shconf -m 512 before --");
        return -ENOMEM;
    }
    if (want > have) {
        snprintf(s->err, s->err_len,
                 "-m %s asks for more than the %llu MB of free hugepages; ask for less or raise "
                 "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages",
                 m, (unsigned long long)(have >> 20));
        return -ENOMEM;
    }
    return 0;
}

static int check_prefix(const struct start *s)
{
    const char *prefix = flag_value(s, "--file-prefix");

    if (has_flag(s, "--no-shconf") || has_flag(s, "--in-memory"))
        return 0;
    if (prefix == NULL)
        prefix = "rte";
    if (!prefix_taken(prefix))
        return 0;
    snprintf(s->err, s->err_len,
             "another DPDK process runs with file prefix \"%s\"; start with --file-prefix NAME "
             "before --, another NAME for each",
             prefix);
    return -EBUSY;
}

static int explain(const struct start *s, int error)
{
    const char *cause = rte_strerror(error), *cure;

    if (!rights_present() && !has_flag(s, "--no-huge"))
        cure = "start as root, or with --no-huge --no-shconf -m 512 before --";
    else if (error == EINVAL)
        cure = "correct the arguments before -- (-l must name CPUs of this machine)";
    else if (error == ENOMEM || error == ENODEV)
        cure = "free memory or hugepages, or ask for less with -m MB before --";
    else if (error == EACCES)
        cure = "start as root";
    else
        cure = "see EAL's own message above";
    snprintf(s->err, s->err_len, "DPDK's EAL does not start: %s; %s", cause, cure);
    return -error;
}

/* ---- arguments of our own ---------------------------------------------------------------- */

static bool is_pci(const char *name)
{
    unsigned int domain, bus, device, function;
    int end = 0;

    return sscanf(name, "%x:%x:%x.%u%n", &domain, &bus, &device, &function, &end) == 4 &&
           name[end] == '\0';
}

/* Unless the command line chooses NICs, the EAL gets the NICs among our ports and leaves all others
 * alone. */
static void add_devices(const struct start *s, char **argv, int *argc)
{
    static char allow[] = "-a", none[] = "--no-pci";
    bool any = false;
    uint32_t i;

    if (flag_value(s, "-a") != NULL || flag_value(s, "--allow") != NULL ||
        flag_value(s, "-b") != NULL || flag_value(s, "--block") != NULL || has_flag(s, "--no-pci"))
        return;
    for (i = 0; i < s->n; i++) {
        if (is_pci(s->ports[i])) {
            argv[(*argc)++] = allow;
            argv[(*argc)++] = (char *)(uintptr_t)s->ports[i];
            any = true;
        }
    }
    if (!any)
        argv[(*argc)++] = none;
}

/* DPDK logs only what goes wrong, unless --log-level is on the command line. In that case nothing
 * is added: if several levels are given for a log, which one counts depends on when its library
 * registers the log. */
static void add_levels(const struct start *s, char **argv, int *argc)
{
    static char telemetry[] = "--log-level=lib.telemetry:error";
    static char lib[] = "--log-level=lib.*:warning", pmd[] = "--log-level=pmd.*:error";

    if (flag_value(s, "--log-level") != NULL)
        return;
    argv[(*argc)++] = telemetry;
    argv[(*argc)++] = lib;
    argv[(*argc)++] = pmd;
}

/* Runs rte_eal_init() with stdout on /dev/null: after a wrong argument, the EAL prints its whole
 * manual on stdout. Returns 0, or an errno value. */
static int init_quietly(int argc, char **argv)
{
    int saved, null, rc, error;

    fflush(stdout);
    saved = dup(STDOUT_FILENO);
    null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (saved >= 0 && null >= 0)
        dup2(null, STDOUT_FILENO);
    rc = rte_eal_init(argc, argv);
    error = rte_errno != 0 ? rte_errno : EINVAL;
    fflush(stdout);
    if (saved >= 0 && null >= 0)
        dup2(saved, STDOUT_FILENO);
    if (saved >= 0)
        close(saved);
    if (null >= 0)
        close(null);
    return rc >= 0 ? 0 : error;
}

/* Starts the EAL with our own arguments before those of the command line. Returns 0, or an errno
 * value. */
static int args_init(const struct start *s)
{
    char **argv = calloc((size_t)s->argc + 2 * s->n + 6, sizeof *argv);
    int argc = 0, rc;

    if (argv == NULL)
        return ENOMEM;
    argv[argc++] = s->argv[0];
    add_levels(s, argv, &argc);
    add_devices(s, argv, &argc);
    memcpy(&argv[argc], &s->argv[1], (size_t)(s->argc - 1) * sizeof *argv);
    argc += s->argc - 1;
    rc = init_quietly(argc, argv);
    free(argv);
    return rc;
}

int eal_start(const char *const *ports, uint32_t n, int argc, char **argv, char *err,
              size_t err_len)
{
    struct start s = {ports, n, argc, argv, err, err_len};
    int rc = 0;

    if (!has_flag(&s, "--no-huge"))
        rc = check_hugepages(&s);
    if (rc == 0)
        rc = check_prefix(&s);
    if (rc != 0)
        return rc;
    eal_log_start();
    rc = args_init(&s);
    return rc == 0 ? 0 : explain(&s, rc);
}

/* ---- end --------------------------------------------------------------------------------- */

/* Called by the interrupt thread, which thereby handles no further event. */
static void interrupts_hold(void *arg)
{
    sem_post(arg);
    for (;;)
        pause();
}

/* Returns when the interrupt thread is in interrupts_hold(). An alarm could bring it there, too,
 * but from DPDK 25.11 on rte_eal_cleanup() waits for the end of alarms. */
static bool interrupts_stop(void)
{
    static sem_t held; /* the interrupt thread may be in sem_post() when sem_wait() returns */
    struct rte_intr_handle *handle = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);
    int fd = eventfd(1, EFD_CLOEXEC);
    bool stopped;

    sem_init(&held, 0, 0);
    stopped = handle != NULL && fd >= 0 && rte_intr_fd_set(handle, fd) == 0 &&
              rte_intr_type_set(handle, RTE_INTR_HANDLE_EXT) == 0 &&
              rte_intr_callback_register(handle, interrupts_hold, &held) == 0;
    while (stopped && sem_wait(&held) != 0) /* a signal came */
        ;
    rte_intr_instance_free(handle); /* the EAL has a copy */
    return stopped;
}

void eal_stop(void)
{
    if (interrupts_stop())
        rte_eal_cleanup(); /* otherwise the memory stays until the process ends */
}
