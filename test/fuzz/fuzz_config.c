/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target for the daemon's configuration. A file that is accepted is written out again from
 * what was read, and must then read as the same. One that is refused has a message of one line that
 * begins with the file's name. A reload from a plain file leaves only differences that are not
 * live.
 */
#include "fuzz_config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "crypto/key.h"
#include "fuzz_input.h"
#include "sluiced/config/config.h"
#include "sluiced/config/config_diff.h"
#include "sluiced/config/config_key.h"

struct fuzz_config_counts fuzz_config_counts;

static const char plain[] = "[port net_memif0]\nvdev = net_memif0\naddress = 10.0.0.1/24\n"
                            "capacity = 1Gbit\n[peer a]\naddress = 10.0.0.7/32\n";

/* The file that config_load() reads. */
struct file {
    int fd;
    char name[32];
};

static void file_write(struct file *f, const void *bytes, size_t len)
{
    if (f->name[0] == 0) {
        f->fd = memfd_create("fuzz", MFD_CLOEXEC);
        CHECK(f->fd >= 0);
        snprintf(f->name, sizeof f->name, "/proc/self/fd/%d", f->fd);
    }
    CHECK(ftruncate(f->fd, 0) == 0 && pwrite(f->fd, bytes, len, 0) == (ssize_t)len);
}

/* ---- writing a configuration out --------------------------------------------------------- */

static void lcores_print(FILE *out, const struct config_lcores *l)
{
    for (uint32_t i = 0; i < l->n; i++)
        fprintf(out, "%s%" PRIu32, i > 0 ? "," : "", l->id[i]);
}

static void mac_print(FILE *out, const struct config_mac *mac)
{
    for (int i = 0; i < 6; i++)
        fprintf(out, "%s%02x", i > 0 ? ":" : "", mac->b[i]);
}

static void neighbors_print(FILE *out, const struct config_neighbors *n)
{
    char text[ADDR_TEXT_MAX];

    for (uint32_t i = 0; i < n->n; i++) {
        fprintf(out, "%s%s ", i > 0 ? ", " : "", addr_format(&n->addr[i], text));
        mac_print(out, &n->mac[i]);
    }
}

/* Text with its '#' as the file has them. */
static void text_print(FILE *out, const char *text)
{
    for (; *text != 0; text++)
        fprintf(out, "%s%c", *text == '#' ? "\\" : "", *text);
}

static void value_print(FILE *out, const struct config_key *k, const void *field)
{
    const struct config_prefix *prefix = field;
    const struct config_range *range = field;
    char text[ADDR_TEXT_MAX], key[KEY_TEXT_BYTES];

    switch (k->kind) {
    case CONFIG_TEXT:
        text_print(out, field);
        return;
    case CONFIG_RATE:
    case CONFIG_SIZE:
    case CONFIG_TIME:
        fprintf(out, "%" PRIu64 "%s", *(const uint64_t *)field,
                k->kind == CONFIG_RATE   ? "B/s"
                : k->kind == CONFIG_TIME ? "ns"
                                         : "");
        return;
    case CONFIG_SIZE32:
    case CONFIG_NUMBER:
    case CONFIG_POWER:
        fprintf(out, "%" PRIu32, *(const uint32_t *)field);
        return;
    case CONFIG_WORD:
        fputs(k->words[*(const uint32_t *)field], out);
        return;
    case CONFIG_MAC:
        mac_print(out, field);
        return;
    case CONFIG_PREFIX4:
    case CONFIG_PREFIX6:
        fprintf(out, "%s/%" PRIu32, addr_format(&prefix->addr, text), prefix->len);
        return;
    case CONFIG_ADDR4:
    case CONFIG_ADDR6:
        fputs(addr_format(field, text), out);
        return;
    case CONFIG_LCORES:
        lcores_print(out, field);
        return;
    case CONFIG_RANGE:
        fprintf(out, "%" PRIu32 "-%" PRIu32, range->first, range->last);
        return;
    case CONFIG_NEIGHBORS:
        neighbors_print(out, field);
        return;
    case CONFIG_PUBLIC:
        key_format(field, key);
        fputs(key, out);
        return;
    case CONFIG_USERS:
        text_print(out, ((const struct config_users *)field)->text);
        return;
    case CONFIG_SERVICES:
        text_print(out, ((const struct config_services *)field)->text);
        return;
    }
}

/* Writes the keys whose values are not the default ones. */
static void keys_print(FILE *out, const struct config_key *keys, const void *base,
                       const void *standard, size_t len)
{
    for (const struct config_key *k = keys; k->name != NULL; k++) {
        size_t next = len;

        for (const struct config_key *o = keys; o->name != NULL; o++)
            if (o->offset > k->offset && o->offset < next)
                next = o->offset;
        if (memcmp((const char *)base + k->offset, (const char *)standard + k->offset,
                   next - k->offset) == 0)
            continue;
        fprintf(out, "%s = ", k->name);
        value_print(out, k, (const char *)base + k->offset);
        fputc('\n', out);
    }
}

static size_t config_print(const struct config *c, const struct config *standard, char **text)
{
    size_t len;
    FILE *out = open_memstream(text, &len);

    CHECK(out != NULL);
    fprintf(out, "[daemon]\n");
    keys_print(out, config_daemon_keys, &c->daemon, &standard->daemon, sizeof c->daemon);
    for (uint32_t i = 0; i < c->n_ports; i++) {
        fprintf(out, "[port %s]\n", c->ports[i].name);
        keys_print(out, config_port_keys, &c->ports[i], &standard->ports[0], sizeof c->ports[i]);
    }
    for (uint32_t i = 0; i < c->n_peers; i++) {
        fprintf(out, "[peer %s]\n", c->peers[i].name);
        keys_print(out, config_peer_keys, &c->peers[i], &standard->peers[0], sizeof c->peers[i]);
    }
    for (uint32_t i = 0; i < c->n_services; i++) {
        fprintf(out, "[service %s]\n", c->services[i].name);
        keys_print(out, config_service_keys, &c->services[i], &standard->services[0],
                   sizeof c->services[i]);
    }
    CHECK(fclose(out) == 0);
    return len;
}

/* ---- checks ------------------------------------------------------------------------------ */

struct told {
    uint32_t live, other;
};

static void difference(void *ctx, const char *what, bool live)
{
    struct told *t = ctx;

    CHECK(what[0] != 0 && strchr(what, '\n') == NULL);
    t->live += live;
    t->other += !live;
    fuzz_config_counts.differences++;
}

static struct told diff(const struct config *a, const struct config *b)
{
    struct told t = {0};

    config_diff(a, b, difference, &t);
    return t;
}

static int load(struct file *f, struct config *c, const void *bytes, size_t len)
{
    char err[CONFIG_ERROR_MAX + 100];
    int rc;

    file_write(f, bytes, len);
    memset(err, 'x', sizeof err);
    rc = config_load(c, f->name, err, sizeof err);
    if (rc == 0)
        return 0;
    CHECK(rc < 0 && memchr(err, 0, sizeof err) != NULL && strchr(err, '\n') == NULL);
    CHECK(strncmp(err, f->name, strlen(f->name)) == 0 && err[strlen(f->name)] == ':');
    return rc;
}

/* The values of keys that a file does not have. Quotas, which depend on the machine, and a port's
 * security, which depends on others, are always written. */
static void standards_make(struct config *s)
{
    s->daemon.control_lcore = CONFIG_LCORE_ANY;
    config_key_defaults(config_daemon_keys, &s->daemon);
    config_key_defaults(config_port_keys, &s->ports[0]);
    config_key_defaults(config_peer_keys, &s->peers[0]);
    s->daemon.quota_bytes = s->daemon.quota_total_bytes = UINT64_MAX;
    s->ports[0].security = UINT32_MAX;
}

static void again_check(struct file *f, const struct config *c)
{
    static struct config again, standard;
    struct told t;
    size_t len;
    char *text;

    memset(&standard, 0, sizeof standard);
    standards_make(&standard);
    len = config_print(c, &standard, &text);
    CHECK(load(f, &again, text, len) == 0);
    free(text);
    t = diff(c, &again);
    CHECK(t.live == 0 && t.other == 0);
    CHECK(again.n_ports == c->n_ports && again.n_peers == c->n_peers &&
          again.n_services == c->n_services);
}

static void reload_check(struct file *f, const struct config *c)
{
    static struct config now;
    struct told before, after;

    CHECK(load(f, &now, plain, sizeof plain - 1) == 0);
    before = diff(&now, c);
    config_take_live(&now, c);
    after = diff(&now, c);
    CHECK(after.live == 0 && after.other == before.other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct file file;
    static struct config c;

    if (load(&file, &c, data, size) != 0) {
        fuzz_config_counts.refused++;
        return 0;
    }
    fuzz_config_counts.loaded++;
    fuzz_config_counts.ports += c.n_ports;
    fuzz_config_counts.peers += c.n_peers;
    again_check(&file, &c);
    reload_check(&file, &c);
    return 0;
}
