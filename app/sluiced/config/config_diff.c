/* SPDX-License-Identifier: BSD-3-Clause */
/* See config_diff.h. */
#include "sluiced/config/config_diff.h"

#include <stdio.h>
#include <string.h>

#include "crypto/secret.h"
#include "sluiced/config/config_keys.h"

/* Keys that can change while the daemon runs. All keys of peers and services can, too. */
static const char *const live_daemon[] = {"quota",     "quota_total", "idle",
                                          "log_level", "log_format",  NULL};
static const char *const live_port[] = {"capacity", NULL};

bool config_key_live(const struct config_key *keys, const char *name)
{
    const char *const *live = keys == config_daemon_keys ? live_daemon : live_port;

    if (keys == config_peer_keys || keys == config_service_keys)
        return true;
    for (; *live != NULL; live++)
        if (strcmp(*live, name) == 0)
            return true;
    return false;
}

static size_t field_bytes(const struct config_key *key)
{
    switch (key->kind) {
    case CONFIG_TEXT:
        return key->max + 1;
    case CONFIG_RATE:
    case CONFIG_SIZE:
    case CONFIG_TIME:
        return sizeof(uint64_t);
    case CONFIG_SIZE32:
    case CONFIG_NUMBER:
    case CONFIG_POWER:
    case CONFIG_WORD:
        return sizeof(uint32_t);
    case CONFIG_MAC:
        return sizeof(struct config_mac);
    case CONFIG_PREFIX4:
    case CONFIG_PREFIX6:
        return sizeof(struct config_prefix);
    case CONFIG_ADDR4:
    case CONFIG_ADDR6:
        return sizeof(struct addr);
    case CONFIG_LCORES:
        return sizeof(struct config_lcores);
    case CONFIG_NEIGHBORS:
        return sizeof(struct config_neighbors);
    case CONFIG_RANGE:
        return sizeof(struct config_range);
    case CONFIG_PUBLIC:
        return KEY_BYTES;
    case CONFIG_USERS:
        return sizeof(struct config_users);
    case CONFIG_SERVICES:
        return sizeof(struct config_services);
    }
    return 0;
}

static bool field_same(const struct config_key *key, const void *a, const void *b)
{
    const char *x = (const char *)a + key->offset, *y = (const char *)b + key->offset;

    return key->kind == CONFIG_TEXT ? strcmp(x, y) == 0 : memcmp(x, y, field_bytes(key)) == 0;
}

struct diff {
    config_diff_fn *tell;
    void *ctx;
};

static void diff_keys(const struct diff *d, const char *kind, const char *name,
                      const struct config_key *keys, const void *a, const void *b)
{
    char what[160];

    for (const struct config_key *k = keys; k->name != NULL; k++) {
        if (field_same(k, a, b))
            continue;
        snprintf(what, sizeof what, "[%s%s%s] %s", kind, name[0] != '\0' ? " " : "", name, k->name);
        d->tell(d->ctx, what, config_key_live(keys, k->name));
    }
}

static void diff_section(const struct diff *d, const char *kind, const char *name, bool is_new,
                         bool live)
{
    char what[160];

    snprintf(what, sizeof what, "[%s %s], which is %s", kind, name, is_new ? "new" : "gone");
    d->tell(d->ctx, what, live);
}

/* Do the files of two configurations that name the same ones hold other keys? */
static bool self_changed(const struct config *now, const struct config *next)
{
    return now->secrets != NULL && next->secrets != NULL &&
           strcmp(now->daemon.private_key_file, next->daemon.private_key_file) == 0 &&
           !secret_equal(now->secrets->self.private_key, next->secrets->self.private_key, DH_BYTES);
}

static bool shared_changed(const struct config *now, uint32_t was, const struct config *next,
                           uint32_t is)
{
    const uint8_t *a = config_keys_shared(now, was), *b = config_keys_shared(next, is);

    return a != NULL && b != NULL &&
           strcmp(now->peers[was].shared_key_file, next->peers[is].shared_key_file) == 0 &&
           !secret_equal(a, b, NOISE_KEY_BYTES);
}

static const struct config_port *port_named(const struct config *c, const char *name)
{
    for (uint32_t i = 0; i < c->n_ports; i++)
        if (strcmp(c->ports[i].name, name) == 0)
            return &c->ports[i];
    return NULL;
}

static const struct config_peer *peer_named(const struct config *c, const char *name)
{
    for (uint32_t i = 0; i < c->n_peers; i++)
        if (strcmp(c->peers[i].name, name) == 0)
            return &c->peers[i];
    return NULL;
}

static const struct config_service *service_named(const struct config *c, uint32_t number)
{
    for (uint32_t i = 0; i < c->n_services; i++)
        if (c->services[i].number == number)
            return &c->services[i];
    return NULL;
}

static void diff_ports(const struct diff *d, const struct config *now, const struct config *next)
{
    for (uint32_t i = 0; i < next->n_ports; i++) {
        const struct config_port *p = &next->ports[i], *old = port_named(now, p->name);

        if (old == NULL)
            diff_section(d, "port", p->name, true, false);
        else
            diff_keys(d, "port", p->name, config_port_keys, old, p);
    }
    for (uint32_t i = 0; i < now->n_ports; i++)
        if (port_named(next, now->ports[i].name) == NULL)
            diff_section(d, "port", now->ports[i].name, false, false);
}

static void diff_peers(const struct diff *d, const struct config *now, const struct config *next)
{
    const struct config_peer *last = NULL;
    char what[160];
    bool moved = false;

    for (uint32_t i = 0; i < next->n_peers; i++) {
        const struct config_peer *p = &next->peers[i], *old = peer_named(now, p->name);

        if (old == NULL) {
            diff_section(d, "peer", p->name, true, true);
            continue;
        }
        diff_keys(d, "peer", p->name, config_peer_keys, old, p);
        if (shared_changed(now, (uint32_t)(old - now->peers), next, i)) {
            snprintf(what, sizeof what, "[peer %s] the key in shared_key_file", p->name);
            d->tell(d->ctx, what, true);
        }
        moved = moved || (last != NULL && old < last);
        last = old;
    }
    for (uint32_t i = 0; i < now->n_peers; i++)
        if (peer_named(next, now->peers[i].name) == NULL)
            diff_section(d, "peer", now->peers[i].name, false, true);
    if (moved)
        d->tell(d->ctx, "order of the [peer] sections", true);
}

static void diff_services(const struct diff *d, const struct config *now, const struct config *next)
{
    for (uint32_t i = 0; i < next->n_services; i++) {
        const struct config_service *s = &next->services[i], *old = service_named(now, s->number);

        if (old == NULL)
            diff_section(d, "service", s->name, true, true);
        else
            diff_keys(d, "service", s->name, config_service_keys, old, s);
    }
    for (uint32_t i = 0; i < now->n_services; i++)
        if (service_named(next, now->services[i].number) == NULL)
            diff_section(d, "service", now->services[i].name, false, true);
}

void config_diff(const struct config *now, const struct config *next, config_diff_fn *tell,
                 void *ctx)
{
    const struct diff d = {tell, ctx};

    diff_keys(&d, "daemon", "", config_daemon_keys, &now->daemon, &next->daemon);
    if (self_changed(now, next))
        tell(ctx, "[daemon] the key in private_key_file", false);
    diff_ports(&d, now, next);
    diff_peers(&d, now, next);
    diff_services(&d, now, next);
}

static void take_keys(const struct config_key *keys, void *now, const void *next)
{
    for (const struct config_key *k = keys; k->name != NULL; k++)
        if (config_key_live(keys, k->name))
            memcpy((char *)now + k->offset, (const char *)next + k->offset, field_bytes(k));
}

void config_take_live(struct config *now, const struct config *next)
{
    take_keys(config_daemon_keys, &now->daemon, &next->daemon);
    for (uint32_t i = 0; i < now->n_ports; i++) {
        const struct config_port *p = port_named(next, now->ports[i].name);

        if (p != NULL)
            take_keys(config_port_keys, &now->ports[i], p);
    }
    config_keys_take(now, next);
    now->n_peers = next->n_peers;
    memcpy(now->peers, next->peers, sizeof now->peers);
    now->n_services = next->n_services;
    memcpy(now->services, next->services, sizeof now->services);
}
