/* SPDX-License-Identifier: BSD-3-Clause */
/* sluice-emu: the box's life from its command line to its exit code. Manual: sluice-emu(8). */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_version.h>

#include "common/buffer.h"
#include "common/clock.h"
#include "common/eal.h"
#include "common/grace.h"
#include "common/say.h"
#include "emu/box.h"
#include "emu/prompt.h"
#include "emu/report.h"

#define TURN          16 /* calls of cable_run() between two looks at `stop` */
#define POOL_CACHE    256
#define COMPACT_BYTES 128 /* of the largest frame kept as bytes; doc/path.md names this number */

/* ---- running ------------------------------------------------------------------------------ */

static int box_run(void *arg)
{
    struct box *b = arg;

    /* `sluice doctor` finds this thread by its name, as it finds a daemon's workers. The main
     * thread keeps its name, which is that of the process. */
    if (rte_lcore_id() != rte_get_main_lcore())
        prctl(PR_SET_NAME, "sl-worker-box", 0, 0, 0);
    grace_loop(true);
    __atomic_store_n(&b->running, true, __ATOMIC_SEQ_CST);
    while (!__atomic_load_n(&b->stop, __ATOMIC_RELAXED)) {
        __atomic_store_n(&b->turns, b->turns + 1, __ATOMIC_SEQ_CST);
        for (unsigned int i = 0; i < TURN; i++)
            cable_run(b->cable);
    }
    __atomic_store_n(&b->running, false, __ATOMIC_SEQ_CST);
    grace_loop(false);
    return 0;
}

/* Waits until box_run() can no longer be using memory that is about to be unmapped
 * (common/grace.h). */
static void box_pass(void *ctx)
{
    const struct timespec pause = {0, 20000};
    const struct box *b = ctx;
    uint64_t before = __atomic_load_n(&b->turns, __ATOMIC_SEQ_CST);

    /* When two more turns have begun, one that began after this call has ended. There is no time
     * limit: if box_run() has lost its core, it may be in the middle of a burst. */
    while (__atomic_load_n(&b->running, __ATOMIC_SEQ_CST) &&
           __atomic_load_n(&b->turns, __ATOMIC_SEQ_CST) - before < 2)
        nanosleep(&pause, NULL);
}

/* Sleeps until there is something to read, until the TSC is at `until`, or for 1 s. */
static void control_wait(const struct box *b, struct pollfd *fds, nfds_t n, uint64_t until)
{
    uint64_t now = rte_rdtsc(), ms = 1000;

    if (until <= now)
        ms = 0;
    else if (until != TIME_NEVER)
        ms = RTE_MIN(clock_ns(&b->clock, until - now) / 1000000 + 1, 1000ull);
    poll(fds, n, (int)ms);
}

static int json_write(const struct box *b)
{
    int rc = b->opt.json_path != NULL ? report_json(b, b->opt.json_path) : 0;

    if (rc != 0)
        say("%s: %s; the report is not written", b->opt.json_path, strerror(-rc));
    return rc;
}

/* Makes the reports that are due after each interval. */
static enum say_exit interval_report(struct box *b, struct report_rates *rates)
{
    int rc;

    pthread_mutex_lock(&b->lock);
    if (!b->opt.quiet)
        report_rates(b, rates, stderr);
    rc = json_write(b);
    pthread_mutex_unlock(&b->lock);
    return rc != 0 ? EXIT_FAULT : EXIT_OK;
}

/* Makes reports, runs the console, and takes signals. Returns when the box is to stop. */
static enum say_exit control_run(struct box *b, int signals)
{
    uint64_t interval = clock_cycles(&b->clock, b->opt.interval_ns);
    uint64_t report_at = interval > 0 ? b->start + interval : TIME_NEVER;
    uint64_t stop_at =
        b->opt.time_ns > 0 ? b->start + clock_cycles(&b->clock, b->opt.time_ns) : TIME_NEVER;
    struct pollfd fds[2] = {{.fd = signals, .events = POLLIN}, {.fd = -1, .events = POLLIN}};
    struct prompt *prompt = NULL;
    struct report_rates rates = {0};
    enum say_exit rc = EXIT_OK;

    report_rates(b, &rates, stderr);
    if (b->opt.interactive && (prompt = prompt_open(b)) == NULL) {
        say("no memory, descriptor or thread for the console; free some, or leave -i out");
        rc = EXIT_FAULT;
        stop_at = 0;
    }
    if (prompt != NULL)
        fds[1].fd = prompt_fd(prompt);
    while (rte_rdtsc() < stop_at) {
        control_wait(b, fds, 2, time_min(report_at, stop_at));
        for (unsigned int i = 0; i < 2; i++)
            interface_say(&b->interface[i], &b->port[i]);
        if (fds[0].revents != 0 || fds[1].revents != 0)
            break;
        if (rte_rdtsc() >= report_at) {
            report_at += interval;
            rc = interval_report(b, &rates) != EXIT_OK ? EXIT_FAULT : rc;
        }
    }
    if (prompt != NULL)
        prompt_close(prompt);
    __atomic_store_n(&b->stop, true, __ATOMIC_RELAXED);
    return rc;
}

struct control_thread {
    struct box *b;
    int signals;
    enum say_exit rc;
};

static void *control_thread_main(void *arg)
{
    struct control_thread *t = arg;

    pthread_setaffinity_np(pthread_self(), sizeof t->b->cpus, &t->b->cpus);
    t->rc = control_run(t->b, t->signals);
    return NULL;
}

/* Runs the box on an lcore of its own, and control here. If there is no such lcore: the box here,
 * and control in a thread. */
static enum say_exit lcores_run(struct box *b, int signals)
{
    unsigned int lcore = rte_get_next_lcore(-1, 1, 0);
    struct control_thread t = {b, signals, EXIT_FAULT};
    pthread_t thread;
    int rc;

    if (lcore < RTE_MAX_LCORE) {
        rte_eal_remote_launch(box_run, b, lcore);
        t.rc = control_run(b, signals);
        rte_eal_mp_wait_lcore();
        return t.rc;
    }
    rc = pthread_create(&thread, NULL, control_thread_main, &t);
    if (rc != 0) {
        say("no thread for control: %s; raise the limit of threads (ulimit -u)", strerror(rc));
        return EXIT_FAULT;
    }
    pthread_setname_np(thread, "emu-control");
    box_run(b);
    pthread_join(thread, NULL);
    return t.rc;
}

/* ---- set-up ------------------------------------------------------------------------------- */

static enum say_exit pool_make(struct box *b, char *err, size_t err_len)
{
    uint32_t frame = port_frame_bytes(b->port, b->opt.mtu);
    uint32_t room = RTE_PKTMBUF_HEADROOM + buffer_bytes(frame, 64);
    uint64_t n =
        buffer_parts(frame) * (b->opt.packets[0] + b->opt.packets[1] + port_held(&b->port[0]) +
                               port_held(&b->port[1]) + 4 * CABLE_BURST + 2 * POOL_CACHE);
    uint64_t bytes = n * (room + sizeof(struct rte_mbuf) + 64);

    b->pool = rte_pktmbuf_pool_create("emu", (unsigned int)n, POOL_CACHE, 0, (uint16_t)room,
                                      rte_eth_dev_socket_id(b->port[0].id));
    if (b->pool != NULL)
        return EXIT_OK;
    snprintf(err, err_len,
             "no memory for %llu packet buffers of %u bytes (%s): about %llu MB; lower --packets "
             "or --mtu, or give more with -m MB before --",
             (unsigned long long)n, room, rte_strerror(rte_errno),
             (unsigned long long)(bytes >> 20) + 1);
    return EXIT_EAL;
}

/* Checks a spec: makes a path in a little memory, and throws it away. */
static int spec_check(const char *spec, char *err, size_t err_len)
{
    struct path_config cfg = {.hz = 1000000000, .packets_max = 64};
    struct path *p = path_create(spec, &cfg, 0, err, err_len);

    path_destroy(p);
    return p == NULL ? -EINVAL : 0;
}

static int specs_check(const struct options *o, char *err, size_t err_len)
{
    char why[512];

    for (unsigned int i = 0; i < 2; i++)
        if (spec_check(o->spec[i], why, sizeof why) != 0) {
            snprintf(err, err_len, "%s path: %s", i == 0 ? "forward" : "reverse", why);
            return -EINVAL;
        }
    return 0;
}

static enum say_exit box_make(struct box *b, char *err, size_t err_len)
{
    struct cable_config cfg = {
        .name = "emu",
        .spec = {b->opt.spec[0], b->opt.spec[1]},
        .hz = b->clock.hz,
        .seed = b->opt.seed,
        .packets_max = {(uint32_t)b->opt.packets[0], (uint32_t)b->opt.packets[1]},
        .compact_bytes = COMPACT_BYTES,
        .socket = SOCKET_ID_ANY,
    };
    enum say_exit rc;

    if (specs_check(&b->opt, err, err_len) != 0)
        return EXIT_USAGE;
    for (unsigned int i = 0; i < 2; i++)
        if (port_find(&b->port[i], b->opt.port[i], i, err, err_len) != 0)
            return EXIT_PORT;
    if (b->port[0].id == b->port[1].id) {
        snprintf(err, err_len, "--ports names %s twice; a box has two ports", b->port[0].name);
        return EXIT_PORT;
    }
    for (unsigned int i = 0; i < 2; i++)
        if (port_frame_check(&b->port[i], b->opt.mtu, err, err_len) != 0)
            return EXIT_PORT;
    rc = pool_make(b, err, err_len);
    if (rc != EXIT_OK)
        return rc;
    cfg.pool = b->pool;
    for (unsigned int i = 0; i < 2; i++) {
        struct interface *f = &b->interface[i];

        if (interface_make(f, &b->port[i], i, b->opt.mtu, b->pool, err, err_len) != 0)
            return EXIT_EAL;
        cfg.port[i] = b->port[i].id;
        cfg.offload[i] = f->is ? &f->offload : NULL;
    }
    b->cable = cable_create(&cfg, err, err_len);
    if (b->cable == NULL)
        return EXIT_EAL;
    for (unsigned int i = 0; i < 2; i++) {
        struct rte_mempool *in = b->interface[i].pool;

        if (port_start(&b->port[i], b->opt.mtu, in != NULL ? in : b->pool, err, err_len) != 0)
            return EXIT_PORT;
        b->started[i] = true;
        snprintf(b->spec[i], sizeof b->spec[i], "%s", b->opt.spec[i]);
    }
    return EXIT_OK;
}

static void box_unmake(struct box *b)
{
    cable_destroy(b->cable);
    for (unsigned int i = 0; i < 2; i++)
        if (b->started[i])
            port_stop(&b->port[i]);
    for (unsigned int i = 0; i < 2; i++)
        interface_unmake(&b->interface[i]);
    rte_mempool_free(b->pool);
}

static enum say_exit box_life(struct box *b, int signals)
{
    char err[1024];
    enum say_exit rc;

    b->clock.hz = clock_measure_hz();
    rc = box_make(b, err, sizeof err);
    if (rc != EXIT_OK) {
        say("%s", err);
    } else {
        b->start = rte_rdtsc();
        say("ready: %s (%s) to %s (%s)", b->port[0].name, b->port[0].driver, b->port[1].name,
            b->port[1].driver);
        grace_set(box_pass, b);
        rc = lcores_run(b, signals);
        grace_set(NULL, NULL);
        if (!b->opt.quiet)
            report_show(b, stderr);
        if (json_write(b) != 0)
            rc = EXIT_FAULT;
    }
    box_unmake(b);
    return rc;
}

int main(int argc, char **argv)
{
    static char *check_argv[] = {
        (char *)"sluice-emu", (char *)"--no-huge", (char *)"--no-shconf",
        (char *)"-m",         (char *)"128",       (char *)"--no-pci",
        (char *)"--lcores",   (char *)"0@0",       (char *)"--no-telemetry"};
    static struct box box = {.lock = PTHREAD_MUTEX_INITIALIZER};
    char err[1024];
    enum say_exit rc;
    sigset_t set;
    int signals;

    say_as("sluice-emu");
    if (options_parse(&box.opt, argc, argv, err, sizeof err) != 0) {
        say("%s", err);
        return EXIT_USAGE;
    }
    if (box.opt.help || box.opt.version) {
        if (box.opt.help)
            fputs(options_help, stdout);
        else
            printf("sluice-emu %s, %s\n", SLUICE_VERSION, rte_version());
        return EXIT_OK;
    }
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signals = signalfd(-1, &set, SFD_CLOEXEC);
    if (interface_args(box.opt.eal_argc, argv) != 0) {
        say("no memory for the EAL's arguments; free some");
        return EXIT_EAL;
    }
    sched_getaffinity(0, sizeof box.cpus, &box.cpus); /* the EAL will pin this thread */
    if (box.opt.check)
        rc = eal_start(NULL, 0, (int)RTE_DIM(check_argv), check_argv, err, sizeof err);
    else
        rc = eal_start((const char *const[]){box.opt.port[0], box.opt.port[1]}, 2, box.opt.eal_argc,
                       argv, err, sizeof err);
    if (rc != EXIT_OK) {
        say("%s", err);
        return EXIT_EAL;
    }
    if (!box.opt.check) {
        rc = box_life(&box, signals);
    } else if (spec_check(box.opt.spec[0], err, sizeof err) == 0) {
        puts("good");
    } else {
        say("%s", err);
        rc = EXIT_USAGE;
    }
    rte_eal_cleanup();
    return rc;
}
