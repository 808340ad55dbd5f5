/* SPDX-License-Identifier: BSD-3-Clause */
/* sluiced: the daemon's life from its command line to its exit code. Manual: sluiced(8). */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_pdump.h>
#include <rte_version.h>

#include "base/check.h"
#include "common/clock.h"
#include "common/eal.h"
#include "common/grace.h"
#include "common/key_memory.h"
#include "common/say.h"
#include "sluiced/check.h"
#include "sluiced/config/config_keys.h"
#include "sluiced/config/config_lines.h"
#include "sluiced/config/reload.h"
#include "sluiced/control/control.h"
#include "sluiced/control/prompt.h"
#include "sluiced/control/watch.h"
#include "sluiced/daemon.h"
#include "sluiced/observe/crash.h"
#include "sluiced/observe/telemetry.h"
#include "sluiced/observe/trace_show.h"
#include "sluiced/options.h"
#include "sluiced/start.h"

/* Arguments and exit code of control's own thread. It exists only if the main lcore is a worker. */
struct control_thread {
    struct daemon *d;
    const cpu_set_t *cpus;
    enum say_exit rc;
};

static void *control_thread_main(void *arg)
{
    struct control_thread *t = arg;

    pthread_setaffinity_np(pthread_self(), sizeof *t->cpus, t->cpus);
    t->rc = control_run(t->d);
    return NULL;
}

static enum say_exit run_with_thread(struct daemon *d, const cpu_set_t *cpus, struct worker *main_w)
{
    struct control_thread t = {d, cpus, EXIT_FAULT};
    pthread_t thread;
    int rc = pthread_create(&thread, NULL, control_thread_main, &t);
    uint32_t i;

    if (rc != 0) {
        say(SAY_ERROR, "no thread for control: %s; raise the limit of threads (ulimit -u)",
            strerror(rc));
        for (i = 0; i < d->n_workers; i++)
            worker_stop(&d->workers[i]);
        return EXIT_FAULT;
    }
    pthread_setname_np(thread, "sluiced-control");
    worker_main(main_w);
    pthread_join(thread, NULL);
    return t.rc;
}

/* Memory may be unmapped only when no worker can reach it any more. A worker that lost its core is
 * waited for, too: it may go on in the middle of a burst. */
static void workers_pass(void *ctx)
{
    const struct daemon *d = ctx;

    for (uint32_t i = 0; i < d->n_workers; i++)
        worker_await(&d->workers[i]);
}

/* Runs workers on their lcores, and control here or in a thread; returns when all have ended. */
static enum say_exit daemon_run(struct daemon *d, const cpu_set_t *start_cpus)
{
    struct worker *main_worker = NULL;
    cpu_set_t cpus = *start_cpus;
    enum say_exit rc;
    uint32_t i;

    if (d->config.daemon.control_lcore != CONFIG_LCORE_ANY)
        cpus = rte_lcore_cpuset(d->config.daemon.control_lcore);
    grace_set(workers_pass, d);
    for (i = 0; i < d->n_workers; i++) {
        struct worker *w = &d->workers[i];

        worker_give(w);
        if (w->lcore == rte_get_main_lcore())
            main_worker = w;
        else
            rte_eal_remote_launch(worker_main, w, w->lcore);
    }
    watch_start(d, start_cpus);
    trace_guard(d);
    telemetry_start(d);
    prompt_start(d->config.daemon.socket, start_cpus);
    if (main_worker != NULL) {
        rc = run_with_thread(d, &cpus, main_worker);
    } else {
        if (d->config.daemon.control_lcore != CONFIG_LCORE_ANY)
            pthread_setaffinity_np(pthread_self(), sizeof cpus, &cpus);
        rc = control_run(d);
    }
    if (!prompt_stop() && rc == EXIT_OK)
        rc = EXIT_FAULT;
    telemetry_stop();
    watch_stop();
    rte_eal_mp_wait_lcore();
    for (i = 0; i < d->n_workers; i++)
        worker_take(&d->workers[i]);
    crash_stop();
    grace_set(NULL, NULL);
    return rc;
}

/* Says by which key other hosts know this one, and how many of them it knows. From here on, keys
 * are in the EAL's memory, too. */
static void security_begin(const struct config *c)
{
    char key[KEY_TEXT_BYTES];
    int rc;

    if (c->secrets == NULL)
        return;
    rc = key_memory_hide_eal();
    if (rc != 0)
        say(SAY_WARNING,
            "core dumps may have keys: %s; allow no core dumps (LimitCORE=0, ulimit -c 0)",
            strerror(-rc));
    key_format(c->secrets->self.public_key, key);
    say(SAY_INFO, "public key of this host: %s; %u of %u peer(s) have a key", key,
        config_keys_count(c), c->n_peers);
}

/* Opens the key log, if there is to be one. Returns 0, or a negative errno with a line in err. */
static int key_log_begin(struct daemon *d, char *err, size_t err_len)
{
    const char *file = d->config.daemon.key_log_file;
    char why[CONFIG_ERROR_MAX];
    int rc = file[0] != '\0' ? key_log_open(&d->key_log, file, why, sizeof why) : 0;

    if (rc != 0)
        config_lines_error(d->config_path, 1, "daemon", "key_log_file", why, err, err_len);
    else if (d->key_log.on)
        say(SAY_WARNING,
            KEY_LOG_WARNING "; to end that, remove key_log_file from %s, restart, and destroy the "
                            "file",
            file, d->config_path);
    return rc;
}

/* Runs the daemon from a good configuration to its exit code. argv: the EAL's arguments. */
static enum say_exit daemon_life(struct daemon *d, int argc, char **argv)
{
    char err[CONFIG_ERROR_MAX];
    cpu_set_t cpus;
    const char *ports[CONFIG_PORTS_MAX];
    enum say_exit rc, undone;
    uint32_t i;

    sched_getaffinity(0, sizeof cpus, &cpus); /* the EAL will pin this thread */
    control_signals();
    for (i = 0; i < d->config.n_ports; i++)
        ports[i] = d->config.ports[i].name;
    if (eal_start(ports, d->config.n_ports, argc, argv, err, sizeof err) != 0) {
        say(SAY_ERROR, "%s", err);
        return EXIT_EAL;
    }
    if (d->config.daemon.log_level != CONFIG_LOG_DEFAULT)
        reload_log_level(d->config.daemon.log_level);
    /* Lets dpdk-dumpcap capture packets; does no harm if the EAL shares no memory. */
    if (rte_pdump_init() != 0)
        say(SAY_WARNING, "packets cannot be captured by dpdk-dumpcap: %s", rte_strerror(rte_errno));
    d->start_ns = clock_monotonic_ns();
    security_begin(&d->config);
    rc = start_make(d, err, sizeof err);
    if (rc == EXIT_OK)
        rc = daemon_run(d, &cpus);
    else
        say(SAY_ERROR, "%s", err);
    rte_pdump_uninit();
    undone = start_undo(d);
    reload_free(d);
    eal_stop();
    return rc != EXIT_OK ? rc : undone;
}

/* The EAL's arguments of the configuration. */
static enum say_exit daemon_life_configured(struct daemon *d, char *name)
{
    /* The EAL keeps pointers into its arguments. */
    static char text[CONFIG_VALUE_MAX];
    static char *argv[CONFIG_VALUE_MAX / 2 + 2]; /* a word and its blank have two bytes at least */
    int argc;

    memcpy(text, d->config.daemon.eal, sizeof text);
    argc = options_eal(text, name, argv, (int)(sizeof argv / sizeof *argv));
    CHECK(argc > 0);
    return daemon_life(d, argc, argv);
}

int main(int argc, char **argv)
{
    static struct daemon daemon;
    struct options o;
    char err[CONFIG_ERROR_MAX];
    enum say_format format;
    enum say_exit rc;

    rc = options_parse(&o, argc, argv, err, sizeof err) == 0 ? EXIT_OK : EXIT_USAGE;
    if (o.log_format != NULL && say_format_read(o.log_format, &format))
        say_set_format(format);
    if (rc != EXIT_OK) {
        say(SAY_ERROR, "%s", err);
        return rc;
    }
    if (o.help) {
        fputs(options_help, stdout);
        return EXIT_OK;
    }
    if (o.version) {
        printf("sluiced %s, %s\n", SLUICE_VERSION, rte_version());
        return EXIT_OK;
    }
    if (config_load(&daemon.config, o.config_path, err, sizeof err) != 0) {
        say(SAY_ERROR, "%s", err);
        return EXIT_CONFIG;
    }
    if (o.socket_path != NULL)
        snprintf(daemon.config.daemon.socket, sizeof daemon.config.daemon.socket, "%s",
                 o.socket_path);
    daemon.log_format_set = o.log_format != NULL;
    if (daemon.log_format_set)
        daemon.config.daemon.log_format = format;
    reload_log(&daemon.config.daemon);
    daemon.config_path = o.config_path;
    daemon.socket_path = o.socket_path;
    if (o.check)
        return check_run(&daemon.config, o.config_path);
    if (!prompt_set(o.interactive, o.cmdline_path))
        return EXIT_USAGE;
    if (config_keys_load(&daemon.config, o.config_path, CONFIG_KEYS_START, err, sizeof err) != 0 ||
        key_log_begin(&daemon, err, sizeof err) != 0) {
        say(SAY_ERROR, "%s", err);
        config_keys_free(&daemon.config);
        return EXIT_CONFIG;
    }
    rc = o.eal_argc == 1 ? daemon_life_configured(&daemon, argv[0])
                         : daemon_life(&daemon, o.eal_argc, argv);
    key_log_close(&daemon.key_log);
    config_keys_free(&daemon.config);
    return rc;
}
