/* SPDX-License-Identifier: BSD-3-Clause */
/* See check.h. */
#include "sluiced/check.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/value.h"
#include "sluiced/config/config_keys.h"
#include "sluiced/config/config_lines.h"
#include "sluiced/config/config_wire.h"
#include "sluiced/control/key_log.h"

static void report_ports(const struct config *c)
{
    char text[3][VALUE_TEXT_MAX], workers[32];

    for (uint32_t i = 0; i < c->n_ports; i++) {
        const struct config_port *p = &c->ports[i];

        snprintf(workers, sizeof workers, "%u worker(s)", p->workers);
        printf("  port %s: %s, MTU %u, capacity %s, first rate %s, silence %s, security %s\n",
               p->name, p->workers > 0 ? workers : "workers by device and lcores", p->mtu_bytes,
               p->capacity_Bps != 0 ? value_rate_text(p->capacity_Bps, text[0]) : "not known",
               value_rate_text(p->first_rate_Bps, text[1]), value_time_text(p->silence_ns, text[2]),
               config_security_name(p->security));
    }
}

/* Which peers are secured. unread: why the key files could not be read; "": they were. */
static void report_keys(const struct config *c, const char *unread)
{
    char key[KEY_TEXT_BYTES];

    if (c->secrets != NULL) {
        key_format(c->secrets->self.public_key, key);
        printf("  public key of this host: %s\n", key);
    } else {
        printf("  key files are not checked: %s\n", unread);
    }
    for (uint32_t i = 0; i < c->n_peers; i++) {
        const struct config_peer *p = &c->peers[i];

        if (config_peer_secured(p)) {
            key_format(p->public_key, key);
            printf("  peer %s: secured, public key %s%s\n", p->name, key,
                   p->shared_key_file[0] != '\0' ? ", and a shared key" : "");
        } else {
            printf("  peer %s: plain; refused where security is required\n", p->name);
        }
    }
}

/* Which users may use which services and peers. */
static void report_access(const struct config *c)
{
    for (uint32_t i = 0; i < c->n_services; i++)
        printf("  service %s: users %s\n", c->services[i].name, c->services[i].users.text);
    for (uint32_t i = 0; i < c->n_peers; i++) {
        const struct config_peer *p = &c->peers[i];

        if (p->users.n != 0)
            printf("  peer %s: users %s\n", p->name, p->users.text);
        if (p->services.n != 0)
            printf("  peer %s: services %s\n", p->name, p->services.text);
    }
}

/* Would the daemon refuse the key log, if there is to be one? This user need not be able to look at
 * it. */
static int check_key_log(const struct config *c, const char *path, char *err, size_t err_len)
{
    char why[CONFIG_ERROR_MAX];
    int rc = c->daemon.key_log_file[0] != '\0'
                 ? key_log_check(c->daemon.key_log_file, why, sizeof why)
                 : 0;

    if (rc == 0 || rc == -EACCES)
        return 0;
    config_lines_error(path, 1, "daemon", "key_log_file", why, err, err_len);
    return rc;
}

enum say_exit check_run(struct config *c, const char *path)
{
    char err[CONFIG_ERROR_MAX] = "";
    int rc = config_wire_check_alone(c, path, err, sizeof err);

    if (rc == 0)
        rc = check_key_log(c, path, err, sizeof err);
    if (rc == 0)
        rc = config_keys_load(c, path, CONFIG_KEYS_CHECK, err, sizeof err);
    /* Anyone may check a configuration, but only the daemon can read its keys. */
    if (rc != 0 && (rc != -EACCES || geteuid() == 0)) {
        say(SAY_ERROR, "%s", err);
        return EXIT_CONFIG;
    }
    printf("%s: good; socket %s, idle %s, %u port(s), %u peer section(s)\n", path, c->daemon.socket,
           config_idle_name(c->daemon.idle), c->n_ports, c->n_peers);
    report_ports(c);
    if (c->daemon.private_key_file[0] != '\0')
        report_keys(c, err);
    report_access(c);
    if (c->daemon.key_log_file[0] != '\0')
        printf("  WARNING: " KEY_LOG_WARNING "\n", c->daemon.key_log_file);
    config_keys_free(c);
    return EXIT_OK;
}
