/* SPDX-License-Identifier: BSD-3-Clause */
/* See config_keys.h. */
#include "sluiced/config/config_keys.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/key_memory.h"
#include "crypto/dh.h"
#include "crypto/secret.h"
#include "host/host.h"
#include "sluice/key/key_file.h"
#include "sluiced/config/config_lines.h"

struct reading {
    struct config *c;
    const char *path; /* of the configuration */
    enum config_keys_use use;
    char *err;
    size_t err_len;
};

/* Writes "FILE:LINE: [SECTION] KEY: ..." to err. peer NULL: the error is about [daemon]. Returns
 * rc. */
__attribute__((format(printf, 5, 6))) static int read_error(const struct reading *r, int rc,
                                                            const struct config_peer *peer,
                                                            const char *key, const char *format,
                                                            ...)
{
    char text[CONFIG_ERROR_MAX], section[CONFIG_NAME_MAX + sizeof "peer "] = "daemon";
    va_list ap;

    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    if (peer != NULL)
        snprintf(section, sizeof section, "peer %s", peer->name);
    config_lines_error(r->path, peer != NULL ? peer->line : 1, section, key, text, r->err,
                       r->err_len);
    return rc;
}

/* Nobody could connect to a port that requires security, and none that offers it would secure
 * anything. */
static int check_any_peer(const struct reading *r)
{
    const struct config *c = r->c;

    for (uint32_t i = 0; i < c->n_ports && config_keys_count(c) == 0; i++) {
        const struct config_port *p = &c->ports[i];

        if (p->security != HOST_SECURITY_NONE)
            return read_error(
                r, -EINVAL, NULL, "private_key_file",
                "no peer has a key, so %s port %s; add public_key to a section [peer NAME], or "
                "write security = none in [port %s]",
                p->security == HOST_SECURITY_REQUIRED ? "nobody can connect through"
                                                      : "nothing is secured on",
                p->name, p->name);
    }
    return 0;
}

/* Reads the file that a key of the configuration names. peer: as for read_error(). */
static int read_file(const struct reading *r, const struct config_peer *peer, const char *key,
                     const char *file, uint8_t out[KEY_BYTES])
{
    char why[CONFIG_ERROR_MAX];
    int rc = key_file_read(file, r->use == CONFIG_KEYS_CHECK ? KEY_FILE_ANYONE : KEY_FILE_TRUSTED,
                           out, why, sizeof why);

    return rc == 0 ? 0 : read_error(r, rc, peer, key, "%s", why);
}

static int read_self(const struct reading *r, struct noise_self *self)
{
    int rc =
        read_file(r, NULL, "private_key_file", r->c->daemon.private_key_file, self->private_key);

    if (rc == 0)
        dh_public(self->private_key, self->public_key);
    return rc;
}

static void read_rights(const struct config_peer *p, struct assoc_rights *out)
{
    static_assert(CONFIG_NAME_MAX <= ASSOC_NAME_MAX && CONFIG_SERVICES_MAX <= ASSOC_RANGES_MAX,
                  "they fit");
    snprintf(out->name, sizeof out->name, "%s", p->name);
    out->n_services = p->services.n;
    for (uint32_t i = 0; i < p->services.n; i++) {
        out->services[i].first = (uint16_t)p->services.range[i].first;
        out->services[i].last = (uint16_t)p->services.range[i].last;
    }
}

static int read_peer(const struct reading *r, const struct config_peer *p,
                     const struct noise_self *self, struct assoc_peer *out)
{
    uint8_t shared[DH_BYTES];
    int rc;

    memcpy(out->public_key, p->public_key, sizeof out->public_key);
    read_rights(p, &out->rights);
    for (int f = 0; f < 2; f++) {
        out->address[f] = p->address[f].addr;
        out->prefix_len[f] = (uint8_t)p->address[f].len;
    }
    if (memcmp(out->public_key, self->public_key, sizeof out->public_key) == 0)
        return read_error(
            r, -EINVAL, p, "public_key",
            "is that of this host; write the one that sluice key public prints on the "
            "peer's");
    if (dh_shared(self->private_key, out->public_key, shared) != 0)
        return read_error(r, -EINVAL, p, "public_key",
                          "is no host's, because anybody has the private key of it; write the one "
                          "that sluice key public prints on the peer's host");
    secret_wipe(shared, sizeof shared);
    if (p->shared_key_file[0] == '\0')
        return 0;
    rc = read_file(r, p, "shared_key_file", p->shared_key_file, out->shared_key);
    if (rc != 0)
        return rc;
    if (secret_unset(out->shared_key, sizeof out->shared_key))
        return read_error(r, -EINVAL, p, "shared_key_file",
                          "%s:1: is all zero, which is no key; make one with sluice key shared",
                          p->shared_key_file);
    return 0;
}

static int read_all(const struct reading *r, struct config_secrets *s)
{
    int rc = check_any_peer(r);

    if (r->use == CONFIG_KEYS_RELOAD) /* err keeps the remark */
        rc = 0;
    if (rc == 0)
        rc = read_self(r, &s->self);
    for (uint32_t i = 0; i < r->c->n_peers && rc == 0; i++) {
        if (!config_peer_secured(&r->c->peers[i]))
            continue;
        s->section[s->n_peers] = i;
        rc = read_peer(r, &r->c->peers[i], &s->self, &s->peers[s->n_peers++]);
    }
    return rc;
}

int config_keys_load(struct config *c, const char *path, enum config_keys_use use, char *err,
                     size_t err_len)
{
    const struct reading r = {c, path, use, err, err_len};
    int rc;

    err[0] = '\0';
    if (c->daemon.private_key_file[0] == '\0')
        return 0;
    c->secrets = key_memory_new(sizeof *c->secrets);
    if (c->secrets == NULL)
        return read_error(&r, -ENOMEM, NULL, "private_key_file",
                          "no memory for keys; free some memory");
    rc = read_all(&r, c->secrets);
    if (rc != 0)
        config_keys_free(c);
    return rc;
}

int config_keys_check(const struct config *now, const struct config *next, const char *path,
                      char *err, size_t err_len)
{
    const struct reading r = {NULL, path, CONFIG_KEYS_RELOAD, err, err_len};

    for (uint32_t i = 0; now->secrets != NULL && i < next->n_peers; i++) {
        const struct config_peer *p = &next->peers[i];

        if (config_peer_secured(p) &&
            memcmp(p->public_key, now->secrets->self.public_key, sizeof p->public_key) == 0)
            return read_error(&r, -EINVAL, p, "public_key",
                              "is the key of this host until it restarts with the new "
                              "private_key_file; restart it, or leave this peer out until then");
    }
    return 0;
}

void config_keys_free(struct config *c)
{
    key_memory_free(c->secrets, sizeof *c->secrets);
    c->secrets = NULL;
}

void config_keys_take(struct config *now, const struct config *next)
{
    struct config_secrets *s = now->secrets;

    if (s == NULL)
        return;
    s->n_peers = 0;
    secret_wipe(s->peers, sizeof s->peers);
    if (next->secrets == NULL)
        return;
    s->n_peers = next->secrets->n_peers;
    memcpy(s->peers, next->secrets->peers, sizeof s->peers);
    memcpy(s->section, next->secrets->section, sizeof s->section);
}

const uint8_t *config_keys_shared(const struct config *c, uint32_t peer)
{
    for (uint32_t i = 0; c->secrets != NULL && i < c->secrets->n_peers; i++)
        if (c->secrets->section[i] == peer &&
            !secret_unset(c->secrets->peers[i].shared_key, NOISE_KEY_BYTES))
            return c->secrets->peers[i].shared_key;
    return NULL;
}

uint32_t config_keys_count(const struct config *c)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < c->n_peers; i++)
        n += config_peer_secured(&c->peers[i]);
    return n;
}
