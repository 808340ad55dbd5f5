/* SPDX-License-Identifier: BSD-3-Clause */
/* See security.h. */
#include "sluiced/control/security.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "common/say.h"
#include "crypto/secret.h"
#include "sluiced/config/config_keys.h"

static bool secured(const struct daemon *d, uint32_t port)
{
    return d->config.ports[port].security != HOST_SECURITY_NONE;
}

static enum aead_library library_of(const struct config_daemon *cfg)
{
    switch (cfg->cipher_library) {
    case CONFIG_LIBRARY_IPSEC_MB:
        return AEAD_IPSEC_MB;
    case CONFIG_LIBRARY_LIBCRYPTO:
        return AEAD_LIBCRYPTO;
    default:
        return aead_best();
    }
}

/* Handshakes hold the time since 1970, which may go back. */
static uint64_t wall_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * CLOCK_NS_PER_S + (uint64_t)t.tv_nsec;
}

/* Gives a port its peers. -EAGAIN, -EBUSY: workers have no room for the news, or have not given up
 * the keys of the last reload yet. */
static int peers_set(struct daemon *d, uint32_t port)
{
    const struct config_secrets *s = d->config.secrets;

    return host_control_set_secured(d->controls[port], s->peers, s->n_peers);
}

static void peers_change(struct daemon *d, uint32_t port)
{
    int rc = peers_set(d, port);

    if (rc != 0 && rc != -EAGAIN && rc != -EBUSY && !d->security_due[port])
        say_port(SAY_WARNING, d->config.ports[port].name,
                 "reload: the keys of its peers cannot be set (%s), so the old ones stay for now%s",
                 strerror(-rc), rc == -ENOMEM ? "; give EAL more (-m)" : "");
    d->security_due[port] = rc != 0;
}

int security_start(struct daemon *d, uint32_t port, char *err, size_t err_len)
{
    enum aead_library library = library_of(&d->config.daemon);
    struct assoc_config cfg = {
        .ciphers = (1u << AEAD_CIPHERS) - 1,
        .cipher = (enum aead_cipher)d->config.daemon.cipher, /* both enums have the same order */
        .peers_max = CONFIG_PEERS_MAX,
    };
    char why[CONFIG_ERROR_MAX];
    int rc;

    if (!secured(d, port))
        return 0;
    if (!aead_has(library)) {
        snprintf(err, err_len,
                 "[daemon] cipher_library: this build or CPU cannot use %s; remove the line",
                 aead_library_name(library));
        return -ENOTSUP;
    }
    if (getrandom(cfg.seed, sizeof cfg.seed, 0) != sizeof cfg.seed) {
        snprintf(err, err_len, "no random numbers from the kernel: %s", strerror(errno));
        return -EIO;
    }
    cfg.self = d->config.secrets->self;
    rc = host_control_secure(d->controls[port], &cfg, library, why, sizeof why);
    secret_wipe(&cfg, sizeof cfg);
    if (rc != 0) {
        snprintf(err, err_len, "port %s: %s", d->config.ports[port].name, why);
        return rc;
    }
    if (d->key_log.on)
        host_control_set_key_log(d->controls[port], key_log_add, &d->key_log);
    rc = peers_set(d, port);
    if (rc != 0)
        snprintf(err, err_len, "port %s: its peers' keys cannot be set: %s",
                 d->config.ports[port].name, strerror(-rc));
    return rc;
}

void security_reload(struct daemon *d)
{
    for (uint32_t i = 0; i < d->n_ports; i++)
        if (secured(d, i))
            peers_change(d, i);
}

void security_tick(struct daemon *d)
{
    uint64_t wall = wall_ns();

    for (uint32_t i = 0; i < d->n_ports; i++) {
        if (!secured(d, i))
            continue;
        /* ports may ask one peer at once; each INIT of this key needs a time of its own */
        host_control_set_wall(d->controls[i], wall + i);
        if (d->security_due[i])
            peers_change(d, i);
    }
}
