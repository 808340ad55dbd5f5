/* SPDX-License-Identifier: BSD-3-Clause */
/* See reload.h. */
#include "sluiced/config/reload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_log.h>

#include "common/clock.h"
#include "common/say.h"
#include "sluiced/config/config_diff.h"
#include "sluiced/config/config_keys.h"
#include "sluiced/config/config_wire.h"
#include "sluiced/control/security.h"
#include "sluiced/daemon.h"
#include "sluiced/observe/put.h"
#include "sluiced/start.h"

/* What the last reload did. */
struct reload {
    uint64_t number, when_ns; /* number: from 1; when_ns: CLOCK_MONOTONIC */
    bool good;
    char err[CONFIG_ERROR_MAX];
    json_t *changed, *restart;
};

static void take_change(void *ctx, const char *what, bool live)
{
    struct reload *r = ctx;

    say(live ? SAY_NOTICE : SAY_WARNING, "reload: %s: %s", what,
        live ? "taken over" : "needs a restart");
    json_array_append_new(live ? r->changed : r->restart, put_string(what));
}

static int load(const struct daemon *d, struct config *next, char *err, size_t err_len)
{
    int rc = config_load(next, d->config_path, err, err_len);

    if (rc == 0)
        rc = config_wire_check(next, d->config_path, err, err_len);
    if (rc == 0)
        rc = config_keys_load(next, d->config_path, CONFIG_KEYS_RELOAD, err, err_len);
    if (rc == 0)
        rc = config_keys_check(&d->config, next, d->config_path, err, err_len);
    if (d->socket_path != NULL) /* --socket still overrides the file */
        snprintf(next->daemon.socket, sizeof next->daemon.socket, "%s", d->socket_path);
    if (d->log_format_set) /* so does --log-format */
        next->daemon.log_format = d->config.daemon.log_format;
    return rc;
}

void reload_log(const struct config_daemon *c)
{
    say_set_format((enum say_format)c->log_format);
    say_set_level(c->log_level == CONFIG_LOG_DEFAULT
                      ? SAY_INFO
                      : (enum say_level)(c->log_level - CONFIG_LOG_ERROR));
}

void reload_log_level(uint32_t level)
{
    static const uint32_t levels[] = {
        [CONFIG_LOG_ERROR] = RTE_LOG_ERR,     [CONFIG_LOG_WARNING] = RTE_LOG_WARNING,
        [CONFIG_LOG_NOTICE] = RTE_LOG_NOTICE, [CONFIG_LOG_INFO] = RTE_LOG_INFO,
        [CONFIG_LOG_DEBUG] = RTE_LOG_DEBUG,
    };
    bool normal = level == CONFIG_LOG_DEFAULT;

    rte_log_set_level_pattern("lib.*", normal ? RTE_LOG_WARNING : levels[level]);
    rte_log_set_level_pattern("pmd.*", normal ? RTE_LOG_ERR : levels[level]);
    if (normal)
        rte_log_set_level_pattern("lib.telemetry", RTE_LOG_ERR);
}

/* Passes on which users may use which services and peers. */
static void apply_access(struct daemon *d)
{
    struct access *a = access_make(&d->config);

    if (a != NULL)
        sessions_set_access(d->sessions, a);
    else
        say(SAY_WARNING,
            "reload: no memory, so users keep the access that they had; free some, and reload");
}

/* Passes the live keys of d->config to those that use them. */
static void apply(struct daemon *d, bool log)
{
    reload_log(&d->config.daemon);
    if (log)
        reload_log_level(d->config.daemon.log_level);
    for (uint32_t i = 0; i < d->n_workers; i++)
        worker_set_idle(&d->workers[i], (enum config_idle)d->config.daemon.idle);
    sessions_set_quota(d->sessions, d->config.daemon.quota_bytes,
                       d->config.daemon.quota_total_bytes);
    apply_access(d);
    for (uint32_t i = 0; i < d->n_ports; i++) {
        host_control_set_capacity(d->controls[i], d->config.ports[i].capacity_Bps);
        start_peers(&d->config, d->controls[i]);
    }
    security_reload(d);
}

void reload_run(struct daemon *d)
{
    struct config *next = calloc(1, sizeof *next);
    struct reload *r = d->reload != NULL ? d->reload : calloc(1, sizeof *r);

    if (next == NULL || r == NULL) {
        say(SAY_ERROR, "reload: no memory; nothing is changed");
        free(next);
        if (d->reload == NULL)
            free(r);
        return;
    }
    d->reload = r;
    json_decref(r->changed);
    json_decref(r->restart);
    r->changed = json_array();
    r->restart = json_array();
    r->err[0] = '\0';
    r->good = load(d, next, r->err, sizeof r->err) == 0;
    if (r->good) {
        bool log = d->config.daemon.log_level != next->daemon.log_level;

        config_diff(&d->config, next, take_change, r);
        config_take_live(&d->config, next);
        apply(d, log);
        if (json_array_size(r->changed) + json_array_size(r->restart) == 0)
            say(SAY_NOTICE, "reload: %s: no changes", d->config_path);
        if (r->err[0] != '\0') /* good, but hardly what is wanted for long */
            say(SAY_WARNING, "reload: %s", r->err);
        r->err[0] = '\0';
    } else {
        say(SAY_ERROR, "reload: nothing is changed: %s", r->err);
    }
    r->number++;
    r->when_ns = clock_monotonic_ns();
    config_keys_free(next);
    free(next);
}

json_t *reload_json(const struct daemon *d, const struct access_user *viewer)
{
    const struct reload *r = d->reload;
    json_t *list = json_array(), *o;

    if (r == NULL)
        return list;
    o = json_object();
    put_count(o, "number", r->number);
    put_count(o, "ago_ns", clock_monotonic_ns() - r->when_ns);
    put_flag(o, "good", r->good);
    if (viewer->all) {
        put_text(o, "file", d->config_path);
        put_text(o, "error", r->err);
        json_object_set(o, "changed", r->changed);
        json_object_set(o, "restart", r->restart);
    }
    json_array_append_new(list, o);
    return list;
}

bool reload_failed(const struct daemon *d)
{
    return d->reload != NULL && d->reload->number > 0 && !d->reload->good;
}

void reload_free(struct daemon *d)
{
    if (d->reload == NULL)
        return;
    json_decref(d->reload->changed);
    json_decref(d->reload->restart);
    free(d->reload);
    d->reload = NULL;
}
