/* SPDX-License-Identifier: BSD-3-Clause */
/* See control.h. */
#include "sluiced/control/control.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/counter.h"
#include "common/clock.h"
#include "sluiced/config/reload.h"
#include "sluiced/control/captures.h"
#include "sluiced/control/control_call.h"
#include "sluiced/control/events.h"
#include "sluiced/control/notify.h"
#include "sluiced/control/security.h"
#include "sluiced/control/status.h"
#include "sluiced/port/links.h"

#define PORT_STATS_NS 10000000ull /* not read every interval, since NICs answer over the bus */
#define STOP_WAIT_NS  (3 * CLOCK_NS_PER_S) /* for clients and peers, once asked to stop */
#define STOP_GRACE_NS 10000000ull          /* for the last frames to leave */
#define REST_NS       100000000ull /* idle = sleep: control rests after so long without work */
#define REST_PART     10           /* at rest, control's interval is so many times longer */

static volatile sig_atomic_t stop_signals, reload_signal;

struct control {
    struct daemon *d;
    int epoll, timer;
    uint64_t now;                  /* TSC */
    uint64_t stats_due, alive_due; /* TSC */
    uint64_t alive_cycles;         /* between two calls of notify_alive(); 0: not wanted */
    struct host_port_counters counters[CONFIG_PORTS_MAX];
    struct links links;
    struct events events;
    struct status status;
    uint64_t iterations[DAEMON_WORKERS_MAX]; /* of workers, at the last alive check */
    bool stopping;
    uint64_t work, work_at; /* frames and events of all workers; TSC of the last increase */
    bool rests;
    uint64_t stop_began, stop_deadline, idle_since; /* TSC; idle_since 0: clients are connected */
};

static void on_signal(int number)
{
    stop_signals = stop_signals + 1;
}

static void on_reload(int number)
{
    reload_signal = 1;
}

void control_signals(void)
{
    struct sigaction ask = {.sa_handler = on_signal}, ignore = {.sa_handler = SIG_IGN};
    struct sigaction reload = {.sa_handler = on_reload, .sa_flags = SA_RESTART};

    sigaction(SIGINT, &ask, NULL);
    sigaction(SIGTERM, &ask, NULL);
    sigaction(SIGHUP, &reload, NULL);
    sigaction(SIGPIPE, &ignore, NULL);
}

bool control_stop_asked(void)
{
    return stop_signals > 0;
}

static uint64_t cycles(const struct control *c, uint64_t ns)
{
    return clock_cycles(&(struct clock){c->d->hz}, ns);
}

/* ---- one interval ------------------------------------------------------------------------ */

static void read_port_stats(struct control *c)
{
    uint32_t i;

    if (c->now < c->stats_due)
        return;
    c->stats_due = c->now + cycles(c, PORT_STATS_NS);
    for (i = 0; i < c->d->n_ports; i++) {
        struct rte_eth_stats s;

        memset(&s, 0, sizeof s);
        if (rte_eth_stats_get(c->d->ports[i].id, &s) != 0)
            continue;
        c->counters[i].imissed = s.imissed;
        c->counters[i].rx_nombuf = s.rx_nombuf;
    }
}

/* What the worker of queue k did for port p, by all its queues. The time that it spends on other
 * ports counts as busy, too: it is not free for port p. */
static struct host_work work_of(const struct control *c, uint32_t p, uint32_t k)
{
    const struct worker *w = c->d->queue_worker[k];
    struct host_work work = {.busy = counter_get(&w->busy_cycles)};
    uint32_t first = c->d->first_queue[p], n = 0;

    for (uint32_t q = first; q < first + c->d->ports[p].queues; q++) {
        const struct port_queue_counters *l = &c->d->queues[q].counters;

        if (c->d->queue_worker[q] != w)
            continue;
        n++;
        work.bursts += counter_get(&l->rx_bursts);
        work.full += counter_get(&l->rx_full_bursts);
    }
    work.shared = n < w->n_queues;
    return work;
}

static void read_workers(struct control *c, uint32_t p)
{
    struct host_port_counters *out = &c->counters[p];
    uint32_t first = c->d->first_queue[p];

    out->ring_full = 0;
    out->time = c->now;
    for (uint32_t k = 0; k < c->d->ports[p].queues; k++) {
        out->ring_full += counter_get(&c->d->queues[first + k].counters.foreign_dropped);
        out->worker[k] = work_of(c, p, first + k);
    }
}

/* Notifies the service manager that the daemon is alive, but only if every worker went on. */
static void tell_alive(struct control *c)
{
    bool all = true;
    uint32_t i;

    if (c->alive_cycles == 0 || c->now < c->alive_due)
        return;
    c->alive_due = c->now + c->alive_cycles;
    for (i = 0; i < c->d->n_workers; i++) {
        uint64_t n = counter_get(&c->d->workers[i].iterations);

        all = all && n != c->iterations[i];
        c->iterations[i] = n;
    }
    if (all)
        notify_alive();
}

/* Sets the interval: the configured one, or the longer one of a daemon at rest. */
static int timer_set(const struct control *c, bool rests)
{
    uint64_t ns = c->d->config.daemon.control_interval_ns * (rests ? REST_PART : 1);
    struct timespec every = {(time_t)(ns / CLOCK_NS_PER_S), (long)(ns % CLOCK_NS_PER_S)};
    struct itimerspec spec = {every, every};

    return timerfd_settime(c->timer, 0, &spec, NULL);
}

/* Decides whether control rests: its wake-ups are what an idle daemon costs. A connection that
 * begins meanwhile does not wait for control: workers grant at once, and clients' messages wake
 * control. */
static void control_rest(struct control *c)
{
    bool sleeps = c->d->config.daemon.idle == CONFIG_IDLE_SLEEP, rests; /* reloads may set idle */
    uint64_t work = 0;

    if (!sleeps && !c->rests)
        return;
    for (uint32_t i = 0; i < c->d->n_queues; i++) {
        const struct port_queue_counters *l = &c->d->queues[i].counters;

        work += counter_get(&l->rx_frames) + counter_get(&l->tx_frames) +
                counter_get(&l->client_events);
    }
    if (work != c->work || c->stopping)
        c->work_at = c->now;
    c->work = work;
    rests = sleeps && c->now - c->work_at >= cycles(c, REST_NS);
    if (rests != c->rests && timer_set(c, rests) == 0)
        c->rests = rests;
}

static void control_tick(struct control *c)
{
    uint32_t i;

    c->now = clock_now();
    read_port_stats(c);
    security_tick(c->d);
    captures_tick(c->d);
    for (i = 0; i < c->d->n_ports; i++) {
        read_workers(c, i);
        host_control(c->d->controls[i], &c->counters[i], c->now);
    }
    for (i = 0; i < c->d->n_queues; i++)
        if (host_waits_for_worker(c->d->hosts[i]))
            wakeup_signal(&c->d->queue_worker[i]->wakeup);
    sessions_poll(c->d->sessions);
    control_calls_serve();
    links_watch(&c->links, c->now);
    events_say(&c->events, c->d);
    if (!c->stopping)
        status_tell(&c->status, c->d, &c->links, c->now);
    tell_alive(c);
    control_rest(c);
}

/* ---- the end ----------------------------------------------------------------------------- */

static void stop_begin(struct control *c)
{
    c->stopping = true;
    c->stop_began = c->now;
    c->stop_deadline = c->now + cycles(c, STOP_WAIT_NS);
    say(SAY_NOTICE, "stopping");
    notify_status("stops: waits for clients and peers");
    notify_stopping();
    sessions_stop(c->d->sessions, WIRE_END_SHUTDOWN);
}

/* True when there is nothing left to wait for, or the wait was long enough. Signals that arrive
 * together (to a process group and its leader) count as one. */
static bool stop_done(struct control *c, enum say_exit *rc)
{
    if (stop_signals > 1 && c->now - c->stop_began >= cycles(c, CLOCK_NS_PER_S)) {
        say(SAY_NOTICE, "asked twice to stop: not waiting for clients and peers");
        *rc = EXIT_FAULT;
        return true;
    }
    if (!sessions_idle(c->d->sessions)) {
        if (c->now < c->stop_deadline)
            return false;
        say(SAY_WARNING, "connections of clients did not end in %llu s, and are aborted",
            (unsigned long long)(STOP_WAIT_NS / CLOCK_NS_PER_S));
        *rc = EXIT_FAULT;
        return true;
    }
    if (c->idle_since == 0)
        c->idle_since = c->now;
    return c->now - c->idle_since >= cycles(c, STOP_GRACE_NS);
}

/* ---- life -------------------------------------------------------------------------------- */

static int watch(struct control *c, int fd)
{
    struct epoll_event ev = {.events = EPOLLIN, .data.fd = fd};

    return epoll_ctl(c->epoll, EPOLL_CTL_ADD, fd, &ev);
}

static int control_open(struct control *c)
{
    c->epoll = epoll_create1(EPOLL_CLOEXEC);
    c->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (c->epoll < 0 || c->timer < 0 || timer_set(c, false) != 0 || watch(c, c->timer) != 0 ||
        watch(c, sessions_fd(c->d->sessions)) != 0 ||
        (c->d->control_event > 0 && watch(c, c->d->control_event) != 0)) {
        say(SAY_ERROR,
            "control cannot wait for events: %s; raise the limit of open files (ulimit -n)",
            strerror(errno));
        return -1;
    }
    links_init(&c->links, c->d, c->now);
    c->alive_cycles = cycles(c, notify_interval_ns());
    return 0;
}

/* An answer often takes several rounds, of workers and control in turn. */
static void rest_end(struct control *c)
{
    c->work_at = clock_now();
    if (c->rests && timer_set(c, false) == 0)
        c->rests = false;
}

/* Serves what is asked of control: clients' messages now, workers' at the next interval. */
static void event_serve(struct control *c, int fd)
{
    uint64_t events;

    if (fd == c->d->control_event)
        (void)!read(fd, &events, sizeof events);
    else
        sessions_poll(c->d->sessions);
    rest_end(c);
}

static void control_loop(struct control *c, enum say_exit *rc)
{
    for (;;) {
        struct epoll_event ev[3];
        uint64_t expired;
        int i, n = epoll_wait(c->epoll, ev, 3, -1);

        for (i = 0; i < n; i++) {
            if (ev[i].data.fd != c->timer)
                event_serve(c, ev[i].data.fd);
            else if (read(c->timer, &expired, sizeof expired) > 0)
                control_tick(c);
        }
        if (reload_signal && !c->stopping) {
            reload_signal = 0;
            notify_reloading(clock_monotonic_ns());
            reload_run(c->d);
            notify_ready();
        }
        if (control_stop_asked() && !c->stopping)
            stop_begin(c);
        if (c->stopping && stop_done(c, rc))
            return;
    }
}

enum say_exit control_run(struct daemon *d)
{
    struct control c = {.d = d, .epoll = -1, .timer = -1, .now = clock_now()};
    enum say_exit rc = EXIT_OK;
    uint32_t i;

    if (control_open(&c) != 0) {
        rc = EXIT_FAULT;
    } else {
        say(SAY_NOTICE, "ready");
        notify_ready();
        control_calls_open();
        control_loop(&c, &rc);
        control_calls_close();
    }
    for (i = 0; i < d->n_workers; i++)
        worker_stop(&d->workers[i]);
    if (c.timer >= 0)
        close(c.timer);
    if (c.epoll >= 0)
        close(c.epoll);
    return rc;
}
