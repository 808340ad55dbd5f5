/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * See telemetry.h. For each kind of thing, one command lists the names and another shows the object
 * of one name, since an answer has at most 16 KiB. An error is answered by "null": there is no such
 * thing, or control is stalled.
 */
#include "sluiced/observe/telemetry.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_version.h>

#include "common/say.h"
#include "sluiced/observe/names.h"
#include "sluiced/observe/put.h"
#include "sluiced/observe/show.h"
#include "sluiced/observe/show_spread.h"
#include "sluiced/observe/telemetry_control.h"
#include "sluiced/observe/telemetry_data.h"

#define CONN_NAME (PORT_QUEUE_NAME_MAX + 16)

static struct telemetry {
    pthread_rwlock_t lock; /* protects d; answers hold it as readers */
    const struct daemon *d;
} telemetry = {.lock = PTHREAD_RWLOCK_INITIALIZER};

/* ---- names ------------------------------------------------------------------------------- */

/* Reads "PORT/WORKER/NUMBER". The number is below the queue's limit; the connection may be free. */
static const struct port_queue *conn_find(const struct daemon *d, const char *wanted,
                                          uint32_t *number)
{
    char name[PORT_QUEUE_NAME_MAX];
    const char *slash = wanted != NULL ? strrchr(wanted, '/') : NULL;
    const struct port_queue *q;
    int64_t n;

    if (slash == NULL || (size_t)(slash - wanted) >= sizeof name)
        return NULL;
    snprintf(name, sizeof name, "%.*s", (int)(slash - wanted), wanted);
    q = port_queue_by_name(d, name);
    n = q != NULL ? telemetry_number(slash + 1, host_conn_limit(q->host)) : -1;
    *number = (uint32_t)n;
    return n >= 0 ? q : NULL;
}

/* ---- lists ------------------------------------------------------------------------------- */

static int list_ports(const struct daemon *d, const char *arg, struct rte_tel_data *to)
{
    rte_tel_data_start_array(to, RTE_TEL_STRING_VAL);
    for (uint32_t p = 0; p < d->n_ports; p++)
        rte_tel_data_add_array_string(to, d->ports[p].cfg->name);
    return 0;
}

static int list_port_queues(const struct daemon *d, struct rte_tel_data *to)
{
    char name[PORT_QUEUE_NAME_MAX];

    rte_tel_data_start_array(to, RTE_TEL_STRING_VAL);
    for (uint32_t i = 0; i < d->n_queues; i++)
        rte_tel_data_add_array_string(to, port_queue_name(&d->queues[i], name));
    return 0;
}

static int list_workers(const struct daemon *d, const char *arg, struct rte_tel_data *to)
{
    rte_tel_data_start_array(to, TELEMETRY_UINT);
    for (uint32_t i = 0; i < d->n_workers; i++)
        telemetry_array_uint(to, d->workers[i].lcore);
    return 0;
}

/* Lists all connections that are not free, as many as an answer can hold. arg: the name of the
 * connection after which the list begins, or none. */
static int list_conns(const struct daemon *d, const char *arg, struct rte_tel_data *to)
{
    char queue[PORT_QUEUE_NAME_MAX], name[CONN_NAME];
    uint32_t first = 0, k = 0, n = 0;

    if (arg != NULL && *arg != '\0') {
        const struct port_queue *q = conn_find(d, arg, &k);

        if (q == NULL)
            return -ENOENT;
        first = q->number;
        k++;
    }
    rte_tel_data_start_array(to, RTE_TEL_STRING_VAL);
    for (uint32_t i = first; i < d->n_queues; i++, k = 0) {
        port_queue_name(&d->queues[i], queue);
        for (; k < host_conn_limit(d->hosts[i]); k++) {
            struct host_conn_info info;

            if (!host_conn_info(d->hosts[i], k, &info))
                continue;
            if (n++ == TELEMETRY_LIST)
                return 0;
            snprintf(name, sizeof name, "%s/%u", queue, k);
            rte_tel_data_add_array_string(to, name);
        }
    }
    return 0;
}

/* ---- objects ----------------------------------------------------------------------------- */

static int put_info(const struct daemon *d, const char *arg, struct rte_tel_data *to)
{
    rte_tel_data_start_dict(to);
    rte_tel_data_add_dict_string(to, "version", SLUICE_VERSION);
    rte_tel_data_add_dict_string(to, "dpdk", rte_version());
    telemetry_dict_uint(to, "uptime_ns", show_uptime_ns(d));
    telemetry_dict_uint(to, "control_interval_ns", d->config.daemon.control_interval_ns);
    telemetry_dict_uint(to, "ports", d->n_ports);
    telemetry_dict_uint(to, "workers", d->n_workers);
    return 0;
}

static int put_port(const struct daemon *d, const char *arg, struct rte_tel_data *to)
{
    int p = arg != NULL ? port_by_name(d, arg) : -1;

    return telemetry_object(to, p >= 0 ? show_port(d, (uint32_t)p) : NULL);
}

static int put_counters(const struct daemon *d, const char *arg, struct rte_tel_data *to)
{
    const struct port_queue *q = port_queue_by_name(d, arg);

    if (arg == NULL || *arg == '\0')
        return list_port_queues(d, to);
    return telemetry_object(to, q != NULL ? show_port_queue(q) : NULL);
}

static int put_worker(const struct daemon *d, const char *arg, struct rte_tel_data *to)
{
    int64_t lcore = telemetry_number(arg, UINT32_MAX);

    for (uint32_t i = 0; i < d->n_workers; i++)
        if (lcore == d->workers[i].lcore)
            return telemetry_object(to, show_worker(d, i));
    return -ENOENT;
}

static int put_conn(const struct daemon *d, const char *arg, struct rte_tel_data *to)
{
    struct host_conn_info info;
    uint32_t number;
    const struct port_queue *q = conn_find(d, arg, &number);

    if (q == NULL || !host_conn_info(q->host, number, &info))
        return -ENOENT;
    return telemetry_object(to, show_conn(q, number, &info));
}

static json_t *spread_json(const struct port_queue *q, uint32_t number)
{
    struct put_file text;

    if (!put_file_open(&text))
        return NULL;
    show_spread(text.f, "", q, number); /* writes no JSON if the connection is gone */
    return put_file_json(&text);
}

static int put_spread(const struct daemon *d, const char *arg, struct rte_tel_data *to)
{
    uint32_t number;
    const struct port_queue *q = conn_find(d, arg, &number);

    return telemetry_histograms(to, q != NULL ? spread_json(q, number) : NULL);
}

/* ---- commands ---------------------------------------------------------------------------- */

static const struct command {
    const char *name, *help;
    int (*put)(const struct daemon *d, const char *arg, struct rte_tel_data *to);
} commands[] = {
    {"/sluice/info", "Versions, uptime, and numbers of ports and workers. No parameters", put_info},
    {"/sluice/ports", "Names of ports. No parameters", list_ports},
    {"/sluice/port", "Properties and traffic of a port. Parameter: PORT", put_port},
    {"/sluice/capacity", "Capacity of a port, and how it is shared. Parameter: PORT",
     telemetry_capacity},
    {"/sluice/history", "Latest changes of grants and capacities. Parameters: PORT[,FIRST_NUMBER]",
     telemetry_history},
    {"/sluice/totals",
     "What was carried for peers, whose connections may be over. Parameters: PORT[,FIRST_INDEX]",
     telemetry_totals},
    {"/sluice/counters",
     "Counters of a port's worker, or the names of all workers. Parameter: PORT/WORKER, or none",
     put_counters},
    {"/sluice/workers", "Lcores of workers. No parameters", list_workers},
    {"/sluice/worker", "Load of a worker. Parameter: LCORE", put_worker},
    {"/sluice/conns",
     "Names of up to 512 connections. Parameter: none, or the name after which the list begins",
     list_conns},
    {"/sluice/conn", "One connection. Parameter: PORT/WORKER/NUMBER", put_conn},
    {"/sluice/spread",
     "Delays, rates and latencies of a connection as histograms. Parameter: PORT/WORKER/NUMBER",
     put_spread},
    {"/sluice/clients",
     "Numbers of up to 512 clients. Parameter: none, or the number from which the list begins",
     telemetry_clients},
    {"/sluice/client", "One client. Parameter: NUMBER", telemetry_client},
};

static int command_answer(const char *name, const char *params, struct rte_tel_data *to)
{
    int rc = -ESHUTDOWN;

    pthread_rwlock_rdlock(&telemetry.lock);
    for (size_t i = 0; telemetry.d != NULL && i < RTE_DIM(commands); i++)
        if (strcmp(commands[i].name, name) == 0)
            rc = commands[i].put(telemetry.d, params, to);
    pthread_rwlock_unlock(&telemetry.lock);
    return rc;
}

void telemetry_start(const struct daemon *d)
{
    pthread_rwlock_wrlock(&telemetry.lock);
    telemetry.d = d;
    pthread_rwlock_unlock(&telemetry.lock);
    for (size_t i = 0; i < RTE_DIM(commands); i++) {
        int rc = rte_telemetry_register_cmd(commands[i].name, command_answer, commands[i].help);

        if (rc != 0)
            say(SAY_WARNING,
                "%s is missing from the telemetry socket: %s; use a DPDK with more room for "
                "commands",
                commands[i].name, strerror(-rc));
    }
}

void telemetry_stop(void)
{
    pthread_rwlock_wrlock(&telemetry.lock);
    telemetry.d = NULL;
    pthread_rwlock_unlock(&telemetry.lock);
}
