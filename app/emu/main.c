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
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_lcore.h>
#include <rte_version.h>

#include "common/clock.h"
#include "common/eal.h"
#include "common/grace.h"
#include "common/say.h"
#include "emu/box.h"
#include "emu/prompt.h"
#include "emu/report.h"
#include "emu/worker.h"

/* ---- running ------------------------------------------------------------------------------ */

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
        say(SAY_ERROR, "%s: %s; the report is not written", b->opt.json_path, strerror(-rc));
    return rc;
}

/* Shows rates, or all counters if rates is NULL. With --log-format json, each line of that is one
 * of the log. */
static void report_say(const struct box *b, struct report_rates *rates)
{
    bool json = b->opt.log_format == SAY_JSON;
    char *text = NULL, *rest, *line;
    size_t len;
    FILE *out = json ? open_memstream(&text, &len) : stderr;

    if (out == NULL) {
        say(SAY_ERROR, "no memory for a report; free some");
        return;
    }
    if (rates != NULL)
        report_rates(b, rates, out);
    else
        report_show(b, out);
    if (!json)
        return;
    line = fclose(out) == 0 ? strtok_r(text, "\n", &rest) : NULL;
    for (; line != NULL; line = strtok_r(NULL, "\n", &rest))
        say(SAY_INFO, "%s", line);
    free(text);
}

/* Makes the reports that are due after each interval. */
static enum say_exit interval_report(struct box *b, struct report_rates *rates)
{
    int rc;

    pthread_mutex_lock(&b->lock);
    if (!b->opt.quiet)
        report_say(b, rates);
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

    report_say(b, &rates);
    if (b->opt.interactive && (prompt = prompt_open(b)) == NULL) {
        say(SAY_ERROR,
            "no memory, descriptor or thread for the console; free some, or leave -i out");
        rc = EXIT_FAULT;
        stop_at = 0;
    }
    if (prompt != NULL)
        fds[1].fd = prompt_fd(prompt);
    while (rte_rdtsc() < stop_at) {
        control_wait(b, fds, 2, time_min(report_at, stop_at));
        for (unsigned int i = 0; i < 2; i++)
            interface_say(&b->interface[i], &b->port[i]);
        box_say_stuck(b);
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

/* Runs the workers on lcores of their own, and control here. If there are no such lcores: the
 * worker here, and control in a thread. */
static enum say_exit lcores_run(struct box *b, int signals)
{
    struct control_thread t = {b, signals, EXIT_FAULT};
    pthread_t thread;
    int rc;

    if (!worker_has_main(b)) {
        workers_launch(b);
        t.rc = control_run(b, signals);
        rte_eal_mp_wait_lcore();
        return t.rc;
    }
    rc = pthread_create(&thread, NULL, control_thread_main, &t);
    if (rc != 0) {
        say(SAY_ERROR, "no thread for control: %s; raise the limit of threads (ulimit -u)",
            strerror(rc));
        return EXIT_FAULT;
    }
    pthread_setname_np(thread, "emu-control");
    worker_run(&b->worker[0]);
    pthread_join(thread, NULL);
    return t.rc;
}

static enum say_exit box_life(struct box *b, int signals)
{
    char err[1024];
    enum say_exit rc;

    b->clock.hz = clock_measure_hz();
    rc = box_make(b, err, sizeof err);
    if (rc != EXIT_OK) {
        say(SAY_ERROR, "%s", err);
    } else {
        b->start = rte_rdtsc();
        box_say_layout(b);
        say(SAY_NOTICE, "ready: %s (%s) to %s (%s)", b->port[0].name, b->port[0].driver,
            b->port[1].name, b->port[1].driver);
        grace_set(workers_pass, b);
        rc = lcores_run(b, signals);
        grace_set(NULL, NULL);
        if (!b->opt.quiet)
            report_say(b, NULL);
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
        say(SAY_ERROR, "%s", err);
        return EXIT_USAGE;
    }
    say_set_format(box.opt.log_format);
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
        say(SAY_ERROR, "no memory for the EAL's arguments; free some");
        return EXIT_EAL;
    }
    sched_getaffinity(0, sizeof box.cpus, &box.cpus); /* the EAL will pin this thread */
    if (box.opt.check)
        rc = eal_start(NULL, 0, (int)RTE_DIM(check_argv), check_argv, err, sizeof err);
    else
        rc = eal_start((const char *const[]){box.opt.port[0], box.opt.port[1]}, 2, box.opt.eal_argc,
                       argv, err, sizeof err);
    if (rc != EXIT_OK) {
        say(SAY_ERROR, "%s", err);
        return EXIT_EAL;
    }
    if (!box.opt.check) {
        rc = box_life(&box, signals);
    } else if (box_check(box.opt.spec[0], box.common[0], err, sizeof err) == 0) {
        puts("good");
    } else {
        say(SAY_ERROR, "%s", err);
        rc = EXIT_USAGE;
    }
    eal_stop();
    return rc;
}
