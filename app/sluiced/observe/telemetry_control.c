/* SPDX-License-Identifier: BSD-3-Clause */
/* See telemetry_control.h. */
#include "sluiced/observe/telemetry_control.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "sluiced/control/control_call.h"
#include "sluiced/observe/names.h"
#include "sluiced/observe/put.h"
#include "sluiced/observe/show.h"
#include "sluiced/observe/telemetry_data.h"

#define HISTORY_MAX 32u /* decisions in one answer */
#define TOTALS_MAX  32u /* peers in one answer */

int64_t telemetry_number(const char *text, uint64_t limit)
{
    char *end;
    unsigned long long n;

    if (text == NULL || *text < '0' || *text > '9')
        return -1;
    errno = 0;
    n = strtoull(text, &end, 10);
    return errno == 0 && *end == '\0' && n < limit ? (int64_t)n : -1;
}

struct capacity_call {
    const struct host_control *control;
    struct host_capacity capacity;
};

static void capacity_fetch(void *arg)
{
    struct capacity_call *call = arg;

    host_control_capacity(call->control, &call->capacity);
}

int telemetry_capacity(const struct daemon *d, const char *arg, struct rte_tel_data *to)
{
    int p = arg != NULL ? port_by_name(d, arg) : -1;
    struct capacity_call call;

    if (p < 0)
        return -ENOENT;
    call.control = d->controls[p];
    if (control_call(capacity_fetch, &call) != 0)
        return -EAGAIN;
    return telemetry_object(to, show_capacity(d, (uint32_t)p, &call.capacity));
}

struct history_call {
    const struct host_control *control;
    uint64_t from;
    bool newest;
    uint32_t n;
    struct host_decision found[HISTORY_MAX];
};

static void history_fetch(void *arg)
{
    struct history_call *call = arg;

    if (call->newest)
        call->from = host_control_decisions(call->control);
    call->from -= call->newest ? RTE_MIN(call->from, (uint64_t)HISTORY_MAX) : 0;
    call->n = host_control_history(call->control, call->from, call->found, HISTORY_MAX);
}

/* One decision, in the words of `sluice show history`. */
static json_t *decision_json(const struct daemon *d, const char *port,
                             const struct host_decision *x)
{
    struct put_file text;

    if (!put_file_open(&text))
        return NULL;
    show_decision(text.f, port, daemon_cycles_ns(d, clock_now() - x->time), x);
    return put_file_json(&text);
}

/* Puts the decisions into a dict, each under its number: DPDK 22.11 has no arrays of objects. */
static int put_decisions(const struct daemon *d, const char *name, const struct history_call *call,
                         struct rte_tel_data *to)
{
    char *port = put_quoted(name);
    int rc = port != NULL ? 0 : -ENOMEM;

    rte_tel_data_start_dict(to);
    for (uint32_t i = 0; rc == 0 && i < call->n; i++) {
        struct rte_tel_data *row = rte_tel_data_alloc();
        char number[24];

        snprintf(number, sizeof number, "%" PRIu64, call->found[i].number);
        rc = row != NULL ? telemetry_object(row, decision_json(d, port, &call->found[i])) : -ENOMEM;
        if (row != NULL)
            rc = rc == 0 ? telemetry_join(to, number, row) : telemetry_drop(row, rc);
    }
    free(port);
    return rc;
}

/* Reads "PORT" or "PORT,NUMBER". Returns the port's index, or negative errno; *number is left as it
 * is if there is none. */
static int port_number_read(const struct daemon *d, const char *arg, char name[CONFIG_NAME_MAX],
                            int64_t *number)
{
    const char *comma = arg != NULL ? strchrnul(arg, ',') : NULL;
    int p;

    if (comma == NULL || (size_t)(comma - arg) >= CONFIG_NAME_MAX)
        return -ENOENT;
    snprintf(name, CONFIG_NAME_MAX, "%.*s", (int)(comma - arg), arg);
    p = port_by_name(d, name);
    if (p < 0)
        return -ENOENT;
    if (*comma == ',')
        *number = telemetry_number(comma + 1, INT64_MAX);
    return *comma == ',' && *number < 0 ? -EINVAL : p;
}

int telemetry_history(const struct daemon *d, const char *arg, struct rte_tel_data *to)
{
    struct history_call call = {.newest = false};
    char name[CONFIG_NAME_MAX];
    int64_t from = -1;
    int p = port_number_read(d, arg, name, &from);

    if (p < 0)
        return p;
    call.newest = from < 0;
    call.from = from < 0 ? 0 : (uint64_t)from;
    call.control = d->controls[p];
    if (control_call(history_fetch, &call) != 0)
        return -EAGAIN;
    return put_decisions(d, name, &call, to);
}

struct totals_call {
    const struct host_control *control;
    uint32_t from, n;
    struct host_total found[TOTALS_MAX];
};

static void totals_fetch(void *arg)
{
    struct totals_call *call = arg;

    call->n = host_control_totals(call->control, call->from, call->found, TOTALS_MAX);
}

static json_t *total_json(const struct host_total *x)
{
    char peer[ADDR_TEXT_MAX];
    json_t *o = json_object();

    put_text(o, "peer", addr_is_unset(&x->peer) ? "other" : addr_format(&x->peer, peer));
    put_count(o, "rx_bytes", x->rx_bytes);
    put_count(o, "tx_bytes", x->tx_bytes);
    put_count(o, "tx_acked_bytes", x->tx_acked_bytes);
    put_count(o, "conns", x->conns);
    put_count(o, "conns_failed", x->conns_failed);
    put_count(o, "open_conns", x->open_conns);
    return o;
}

int telemetry_totals(const struct daemon *d, const char *arg, struct rte_tel_data *to)
{
    struct totals_call call = {.n = 0};
    char name[CONFIG_NAME_MAX];
    int64_t from = 0;
    int p = port_number_read(d, arg, name, &from), rc = 0;

    if (p < 0)
        return p;
    call.from = from < UINT32_MAX ? (uint32_t)from : UINT32_MAX;
    call.control = d->controls[p];
    if (control_call(totals_fetch, &call) != 0)
        return -EAGAIN;
    rte_tel_data_start_dict(to);
    for (uint32_t i = 0; rc == 0 && i < call.n; i++) {
        struct rte_tel_data *row = rte_tel_data_alloc();
        char index[16];

        snprintf(index, sizeof index, "%" PRIu32, call.from + i);
        rc = row != NULL ? telemetry_object(row, total_json(&call.found[i])) : -ENOMEM;
        if (row != NULL)
            rc = rc == 0 ? telemetry_join(to, index, row) : telemetry_drop(row, rc);
    }
    return rc;
}

struct client_call {
    const struct sessions *sessions;
    uint32_t slot; /* the first to look at */
    uint32_t n, most;
    struct session_info found[TELEMETRY_LIST];
};

static void client_fetch(void *arg)
{
    struct client_call *call = arg;

    for (uint32_t i = call->slot; call->n < call->most && i < sessions_limit(call->sessions); i++)
        call->n += sessions_info(call->sessions, i, &call->found[call->n]);
}

int telemetry_clients(const struct daemon *d, const char *arg, struct rte_tel_data *to)
{
    struct client_call call = {.sessions = d->sessions, .most = TELEMETRY_LIST};
    int64_t first = arg != NULL && *arg != '\0' ? telemetry_number(arg, UINT32_MAX) : 0;

    if (first < 0)
        return -EINVAL;
    call.slot = (uint32_t)first;
    if (control_call(client_fetch, &call) != 0)
        return -EAGAIN;
    rte_tel_data_start_array(to, TELEMETRY_UINT);
    for (uint32_t i = 0; i < call.n; i++)
        telemetry_array_uint(to, call.found[i].slot);
    return 0;
}

int telemetry_client(const struct daemon *d, const char *arg, struct rte_tel_data *to)
{
    int64_t slot = telemetry_number(arg, sessions_limit(d->sessions));
    struct client_call call = {.sessions = d->sessions, .slot = (uint32_t)slot, .most = 1};
    const struct session_info *x = &call.found[0];

    if (slot < 0)
        return -ENOENT;
    if (control_call(client_fetch, &call) != 0)
        return -EAGAIN;
    if (call.n == 0 || x->slot != slot)
        return -ENOENT;
    rte_tel_data_start_dict(to);
    telemetry_dict_uint(to, "client", x->slot);
    rte_tel_data_add_dict_string(to, "state", x->state);
    telemetry_dict_uint(to, "pid", x->pid);
    telemetry_dict_uint(to, "uid", x->uid);
    telemetry_dict_uint(to, "services", x->services);
    telemetry_dict_uint(to, "regions", x->regions);
    telemetry_dict_uint(to, "region_bytes", x->region_bytes);
    telemetry_dict_uint(to, "ring_bytes", x->ring_bytes);
    telemetry_dict_uint(to, "user_bytes", x->user_bytes);
    return 0;
}
