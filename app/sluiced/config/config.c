/* SPDX-License-Identifier: BSD-3-Clause */
/* See config.h. config_lines_read() first maps the file's lines, then rte_cfgfile gives the values.
 */
#include "sluiced/config/config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_cfgfile.h>
#include <rte_common.h>

#include "base/value.h"
#include "control/occupancy.h"
#include "crypto/secret.h"
#include "host/host.h"
#include "sluice/key/memory_port.h"
#include "sluiced/config/config_key.h"
#include "sluiced/config/config_lines.h"

#define QUOTA_MAX_BYTES (16ull << 30) /* limit of a user's default quota */

struct load {
    struct config *c;
    struct config_map map;
    const char *path;
    char *err;
    size_t err_len;
};

/* Writes "FILE:LINE: [SECTION] KEY: ..." to err; key NULL: the error is about the section. */
__attribute__((format(printf, 4, 5))) static int
load_error(struct load *l, const char *section, const char *key, const char *format, ...)
{
    uint32_t line = config_lines_find(&l->map, section, key != NULL ? key : "");
    char text[CONFIG_ERROR_MAX];
    va_list ap;

    if (line == 0) /* the key is not in the file: use the line of its section */
        line = config_lines_find(&l->map, section, "");
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    snprintf(l->err, l->err_len, "%s:%u: [%s] %s%s%s", l->path, line, section,
             key != NULL ? key : "", key != NULL ? ": " : "", text);
    return -EINVAL;
}

static int load_entry(struct load *l, const char *section, const struct config_key *keys,
                      const struct rte_cfgfile_entry *e, void *base)
{
    const struct config_key *key = config_key_find(keys, e->name), *nearest;
    static const struct {
        const struct config_key *keys;
        const char *section;
    } all[] = {{config_daemon_keys, "daemon"},
               {config_port_keys, "port NAME"},
               {config_peer_keys, "peer NAME"},
               {config_service_keys, "service N"}};
    char err[CONFIG_ERROR_MAX];

    if (key == NULL) {
        nearest = config_key_nearest(keys, e->name);
        for (size_t i = 0; i < RTE_DIM(all); i++)
            if (config_key_find(all[i].keys, e->name) != NULL)
                return load_error(l, section, e->name, "does not belong here; move it to [%s]",
                                  all[i].section);
        if (nearest != NULL)
            return load_error(l, section, e->name, "unknown key; did you mean %s?", nearest->name);
        return load_error(l, section, e->name,
                          "unknown key; remove the line (sluiced.8 lists the keys)");
    }
    if (config_key_parse(key, e->value, base, err, sizeof err) != 0)
        return load_error(l, section, e->name, "%s", err);
    return 0;
}

static int load_entries(struct load *l, struct rte_cfgfile *file, const char *section,
                        const struct config_key *keys, void *base)
{
    struct rte_cfgfile_entry entries[64];
    int n = rte_cfgfile_section_entries(file, section, entries, 64);
    int i, rc = 0;

    if (n >= 64)
        return load_error(l, section, NULL, "has more than 63 keys; remove some");
    for (i = 0; i < n && rc == 0; i++)
        rc = load_entry(l, section, keys, &entries[i], base);
    return rc;
}

/* The name after "port", "peer" or "service" (kind), or NULL if the section is of another kind. */
static const char *section_name(const char *section, const char *kind)
{
    size_t len = strlen(kind);

    if (strncmp(section, kind, len) != 0 || (section[len] != ' ' && section[len] != '\t'))
        return NULL;
    section += len;
    return section + strspn(section, " \t");
}

/* Loads a section that has a name. */
static int load_named(struct load *l, struct rte_cfgfile *file, const char *section,
                      const char *name, const struct config_key *keys, void *base,
                      char own_name[CONFIG_NAME_MAX], uint32_t *line)
{
    config_key_defaults(keys, base);
    snprintf(own_name, CONFIG_NAME_MAX, "%s", name);
    *line = config_lines_find(&l->map, section, "");
    return load_entries(l, file, section, keys, base);
}

static int load_peer(struct load *l, struct rte_cfgfile *file, const char *section,
                     const char *name)
{
    struct config_peer *p;

    if (strlen(name) >= CONFIG_NAME_MAX)
        return load_error(l, section, NULL, "the name is longer than %d bytes; shorten it",
                          CONFIG_NAME_MAX - 1);
    if (l->c->n_peers == CONFIG_PEERS_MAX)
        return load_error(l, section, NULL, "more than %d peers; remove one, or use wider networks",
                          CONFIG_PEERS_MAX);
    p = &l->c->peers[l->c->n_peers++];
    return load_named(l, file, section, name, config_peer_keys, p, p->name, &p->line);
}

static int load_port(struct load *l, struct rte_cfgfile *file, const char *section,
                     const char *name)
{
    struct config_port *p;

    if (strlen(name) >= CONFIG_NAME_MAX)
        return load_error(l, section, NULL, "the port's name is longer than %d bytes; shorten it",
                          CONFIG_NAME_MAX - 1);
    if (strpbrk(name, " \t,") != NULL)
        return load_error(l, section, NULL,
                          "\"%s\" cannot be a port's name; write an ethdev name (net_memif0) or a "
                          "PCI address (0000:01:00.0)",
                          name);
    if (l->c->n_ports == CONFIG_PORTS_MAX)
        return load_error(l, section, NULL, "more than %d ports; remove one", CONFIG_PORTS_MAX);
    p = &l->c->ports[l->c->n_ports++];
    return load_named(l, file, section, name, config_port_keys, p, p->name, &p->line);
}

static int load_service(struct load *l, struct rte_cfgfile *file, const char *section,
                        const char *name)
{
    struct config_service *s;
    uint64_t number = 0;

    if (strcmp(name, "*") != 0 &&
        (value_number(name, &number) != NULL || number < 1 || number > UINT16_MAX))
        return load_error(l, section, NULL,
                          "\"%.40s\" is no service; write a number from 1 to 65535, or * for all "
                          "that have no section",
                          name);
    for (uint32_t i = 0; i < l->c->n_services; i++)
        if (l->c->services[i].number == number)
            return load_error(l, section, NULL, "the service occurs twice; merge its sections");
    if (l->c->n_services == CONFIG_SERVICE_SECTIONS_MAX)
        return load_error(l, section, NULL, "more than %d services; let [service *] stand for some",
                          CONFIG_SERVICE_SECTIONS_MAX);
    s = &l->c->services[l->c->n_services++];
    s->number = (uint32_t)number;
    if (load_named(l, file, section, name, config_service_keys, s, s->name, &s->line) != 0)
        return -EINVAL;
    if (s->users.n == 0)
        return load_error(l, section, NULL,
                          "has no users; add users = NAME @GROUP, or users = root for nobody else");
    return 0;
}

static int load_section(struct load *l, struct rte_cfgfile *file, const char *section)
{
    const char *name = section_name(section, "port"), *peer = section_name(section, "peer");
    const char *service = section_name(section, "service");

    if (strcmp(section, "daemon") == 0)
        return load_entries(l, file, section, config_daemon_keys, &l->c->daemon);
    if (name != NULL)
        return load_port(l, file, section, name);
    if (peer != NULL)
        return load_peer(l, file, section, peer);
    if (service != NULL)
        return load_service(l, file, section, service);
    if (strcmp(section, "peer") == 0)
        return load_error(l, section, NULL, "a peer without a name; write [peer NAME]");
    if (strcmp(section, "port") == 0)
        return load_error(l, section, NULL, "a port without a name; write [port NAME]");
    if (strcmp(section, "service") == 0)
        return load_error(l, section, NULL,
                          "a service without a number; write [service N], or [service *] for all "
                          "that have no section");
    if (value_distance(section, "daemon") <= 2)
        return load_error(l, section, NULL, "unknown section; did you mean [daemon]?");
    return load_error(l, section, NULL, "unknown section; did you mean [daemon] or [port %s]?",
                      section);
}

/* ---- checks that need several values ----------------------------------------------------- */

static int check_family(struct load *l, const char *section, const struct config_port *p, int i)
{
    const char *address_key = i == 0 ? "address" : "address6";
    const char *gateway_key = i == 0 ? "gateway" : "gateway6";
    const struct config_prefix *a = &p->address[i];

    if (addr_is_unset(&p->gateway[i]))
        return 0;
    if (addr_is_unset(&a->addr))
        return load_error(l, section, gateway_key, "a gateway without an address; add %s",
                          address_key);
    if (addr_equal(&a->addr, &p->gateway[i]))
        return load_error(l, section, gateway_key,
                          "is the port's own address; write the router's address");
    if (!addr_same_prefix(&a->addr, &p->gateway[i], a->len) &&
        !(i == 1 && addr_is_link_local(&p->gateway[i])))
        return load_error(l, section, gateway_key,
                          "is not in the network of %s; correct one of them", address_key);
    return 0;
}

static int check_neighbors(struct load *l, const char *section, const struct config_port *p)
{
    char text[ADDR_TEXT_MAX];

    for (uint32_t i = 0; i < p->neighbors.n; i++) {
        const struct addr *a = &p->neighbors.addr[i];
        const struct config_prefix *own = &p->address[!addr_is_v4(a)];

        if (addr_equal(a, &own->addr))
            return load_error(l, section, "neighbor",
                              "%s is the port's own address; write other stations' addresses",
                              addr_format(a, text));
        if (addr_is_unset(&own->addr) ||
            (!addr_same_prefix(a, &own->addr, own->len) && !addr_is_link_local(a)))
            return load_error(l, section, "neighbor",
                              "%s is not in the port's network; correct it, or give its gateway",
                              addr_format(a, text));
    }
    return 0;
}

static int check_vdev(struct load *l, const char *section, const struct config_port *p)
{
    size_t len = strcspn(p->vdev, ",");

    if (len == 0 || (strlen(p->name) == len && strncmp(p->vdev, p->name, len) == 0))
        return 0;
    return load_error(
        l, section, "vdev",
        "creates a device named %.*s, but the port is named %s; give both the same name", (int)len,
        p->vdev, p->name);
}

static int check_exception(struct load *l, const char *section, uint32_t index)
{
    const char *name = l->c->ports[index].exception;
    bool vdev = strncmp(name, "net_", 4) == 0;

    if (!vdev && (strlen(name) > 15 || strpbrk(name, " \t,/:") != NULL))
        return load_error(l, section, "exception",
                          "\"%.80s\" cannot be an interface's name; write up to 15 letters and "
                          "digits, for example tap0",
                          name);
    for (uint32_t i = 0; i < index && name[0] != '\0'; i++)
        if (strcmp(name, l->c->ports[i].exception) == 0)
            return load_error(l, section, "exception",
                              "port %s has this one, too; give each port its own",
                              l->c->ports[i].name);
    return 0;
}

/* Checks what host_create() would also reject, but without a line number. */
static int check_contract(struct load *l, const char *section, const struct config_port *p)
{
    uint32_t frame_bytes = p->mtu_bytes + 18; /* Ethernet header and a VLAN tag */

    if (p->pcr_Bps == 0) {
        const char *key = p->scr_Bps != 0     ? "scr"
                          : p->mbs_bytes != 0 ? "mbs"
                          : p->cdvt_ns != 0   ? "cdvt"
                                              : NULL;

        return key == NULL
                   ? 0
                   : load_error(l, section, key, "a contract needs a peak rate; add pcr = 100Mbit");
    }
    if (p->scr_Bps > p->pcr_Bps)
        return load_error(l, section, "scr", "is above pcr, the peak rate; swap them");
    if (p->scr_Bps == 0 && p->mbs_bytes != 0)
        return load_error(l, section, "mbs", "a burst needs a sustained rate; add scr = 50Mbit");
    if (p->scr_Bps != 0 && p->mbs_bytes < frame_bytes)
        return load_error(l, section, p->mbs_bytes == 0 ? "scr" : "mbs",
                          "the burst at the peak rate must hold a frame; write mbs = %u or more",
                          frame_bytes);
    return 0;
}

static int check_occupancy(struct load *l, const char *section, const struct config_port *p)
{
    bool delay = p->occupancy == CONFIG_OCCUPANCY_DELAY;
    struct occupancy_law law;
    char why[160];

    if (p->occupancy == CONFIG_OCCUPANCY_OFF)
        return p->occupancy_law[0] == 0
                   ? 0
                   : load_error(l, section, "occupancy_law",
                                "has no effect alone; add occupancy = buffers, or delay");
    if (p->occupancy_law[0] == 0)
        return load_error(l, section, "occupancy", "has no thresholds; add occupancy_law = %s",
                          delay ? "1ms,4ms/1e-6/1.0005,1.005" : "dual");
    if (occupancy_law_parse(p->occupancy_law, delay, &law, why, sizeof why) != 0)
        return load_error(l, section, "occupancy_law", "%s", why);
    return 0;
}

/* Checks the keys that an emulated wire excludes, and the ones that need a wire. */
static int check_wire(struct load *l, const char *section, const struct config_port *p)
{
    bool packets = config_lines_find(&l->map, section, "wire_packets") != 0;

    if (!config_port_wired(p))
        return packets
                   ? load_error(l, section, "wire_packets",
                                "the port has no wire; add wire = rate 1gbit, or remove the line")
                   : 0;
    if (p->wire[0] != '\0' && p->wire_in[0] != '\0' && p->wire_out[0] != '\0')
        return load_error(
            l, section, "wire",
            "wire_in and wire_out replace it in both directions; remove one of the three");
    if (p->workers > 1 && config_lines_find(&l->map, section, "workers") == 0)
        return load_error(l, section, "lcores", "a wire has one queue; list one lcore");
    if (p->workers > 1)
        return load_error(l, section, "workers", "a wire has one queue; write workers = 1");
    if (p->checksum == CONFIG_SUM_OFFLOAD)
        return load_error(l, section, "checksum",
                          "a port with a wire has no checksum offload; write checksum = software");
    return 0;
}

/* The name of the section that begins at this line, as written. */
static const char *section_at(const struct load *l, uint32_t line)
{
    const char *section = "";

    for (uint32_t i = 0; i < l->map.n; i++)
        if (l->map.lines[i].line == line)
            section = l->map.lines[i].section;
    return section;
}

/* Rejects a network that lies within an earlier peer's: a connection belongs to the first network
 * that its peer is in. */
static int check_shadow(struct load *l, const char *section, const struct config_peer *p,
                        const struct config_peer *before)
{
    for (int f = 0; f < 2; f++) {
        const struct config_prefix *a = &p->address[f], *b = &before->address[f];

        if (addr_is_unset(&a->addr) || addr_is_unset(&b->addr) || b->len > a->len ||
            !addr_same_prefix(&a->addr, &b->addr, b->len))
            continue;
        return load_error(
            l, section, f == 0 ? "address" : "address6",
            "peer %s comes first and covers this whole network; put this section above that one",
            before->name);
    }
    return 0;
}

/* A peer with a public key is one host, which may have an address of each family. Others are
 * networks, each with a section of its own. */
static int check_networks(struct load *l, const char *section, const struct config_peer *p)
{
    bool v4 = !addr_is_unset(&p->address[0].addr), v6 = !addr_is_unset(&p->address[1].addr);

    if (!v4 && !v6)
        return load_error(l, section, NULL,
                          "has no address; add address = 10.0.0.7/32 or address6 = "
                          "fd00:7::1/48");
    if (!v4 || !v6)
        return 0;
    if (!config_peer_secured(p))
        return load_error(l, section, "address6",
                          "is a second network; give it a section [peer NAME] of its own");
    if (p->all_min_Bps != 0 || p->all_ceiling_Bps != 0)
        return load_error(
            l, section, p->all_min_Bps != 0 ? "all_minimum" : "all_ceiling",
            "counts the connections of one network, and this peer has two; remove it, "
            "or address6");
    return 0;
}

static int check_keys(struct load *l, const char *section, uint32_t index)
{
    const struct config_peer *p = &l->c->peers[index];

    /* An address alone proves nothing: a list would only seem to protect. */
    if (p->services.n != 0 && !config_peer_secured(p))
        return load_error(l, section, "services",
                          "the peer has no public_key, which it needs first; add public_key");
    if (!config_peer_secured(p))
        return p->shared_key_file[0] == '\0'
                   ? 0
                   : load_error(l, section, "shared_key_file",
                                "the peer has no public_key, which it needs first; add public_key");
    if (l->c->daemon.private_key_file[0] == '\0')
        return load_error(l, section, "public_key",
                          "this host has no key of its own; sluice key generate "
                          "/etc/sluice/private.key, then add private_key_file to [daemon]");
    for (uint32_t i = 0; i < index; i++)
        if (memcmp(p->public_key, l->c->peers[i].public_key, KEY_BYTES) == 0)
            return load_error(l, section, "public_key",
                              "peer %s has this key, too; give each host its own, and all its "
                              "addresses one section",
                              l->c->peers[i].name);
    return 0;
}

static int check_peer(struct load *l, uint32_t index)
{
    const struct config_peer *p = &l->c->peers[index];
    const char *section = section_at(l, p->line);

    if (check_networks(l, section, p) != 0 || check_keys(l, section, index) != 0)
        return -EINVAL;
    if (p->ceiling_Bps != 0 && p->min_Bps > p->ceiling_Bps)
        return load_error(l, section, "minimum", "is above ceiling; swap them");
    if (p->all_ceiling_Bps != 0 && p->all_min_Bps > p->all_ceiling_Bps)
        return load_error(l, section, "all_minimum", "is above all_ceiling; swap them");
    if (p->all_ceiling_Bps != 0 && p->min_Bps > p->all_ceiling_Bps)
        return load_error(
            l, section, "minimum",
            "of one connection is above all_ceiling, the limit of all; raise all_ceiling");
    for (uint32_t i = 0; i < index; i++)
        if (strcmp(p->name, l->c->peers[i].name) == 0)
            return load_error(l, section, NULL, "the peer occurs twice; merge its sections");
    for (uint32_t i = 0; i < index; i++)
        if (check_shadow(l, section, p, &l->c->peers[i]) != 0)
            return -EINVAL;
    return 0;
}

/* Without a private key nothing is secured. With one, all is that leaves this machine, unless the
 * file says otherwise. */
static int check_security(struct load *l, const char *section, struct config_port *p)
{
    bool key = l->c->daemon.private_key_file[0] != '\0';

    if (config_lines_find(&l->map, section, "security") == 0)
        p->security =
            key && !memory_port(p->name, p->vdev) ? HOST_SECURITY_REQUIRED : HOST_SECURITY_NONE;
    if (p->security != HOST_SECURITY_NONE && !key)
        return load_error(l, section, "security",
                          "this host has no key; sluice key generate /etc/sluice/private.key, then "
                          "add private_key_file to [daemon]");
    return 0;
}

static int check_port(struct load *l, uint32_t index)
{
    struct config_port *p = &l->c->ports[index];
    const char *section = section_at(l, p->line);
    uint32_t i, f;
    int rc;

    if (addr_is_unset(&p->address[0].addr) && addr_is_unset(&p->address[1].addr))
        return load_error(l, section, NULL,
                          "the port has no address; add address = 10.0.0.1/24 or address6 = "
                          "fd00::1/64");
    if (!addr_is_unset(&p->address[1].addr) && p->mtu_bytes < 1280)
        return load_error(l, section, "mtu", "IPv6 needs 1280 bytes; write 1280 or more");
    for (i = 0; i < 2; i++) {
        rc = check_family(l, section, p, (int)i);
        if (rc != 0)
            return rc;
    }
    if (p->workers == 0)
        p->workers = p->lcores.n; /* if there are none either, the device decides */
    rc = check_neighbors(l, section, p);
    if (rc == 0)
        rc = check_contract(l, section, p);
    if (rc == 0)
        rc = check_occupancy(l, section, p);
    if (rc == 0)
        rc = check_exception(l, section, index);
    if (rc == 0)
        rc = check_wire(l, section, p);
    if (rc == 0)
        rc = check_security(l, section, p);
    if (rc != 0)
        return rc;
    if (p->lcores.n > p->workers)
        return load_error(l, section, "lcores",
                          "%u lcores for %u worker(s); write workers = %u, or fewer lcores",
                          p->lcores.n, p->workers, p->lcores.n);
    for (i = 0; i < index; i++) {
        for (f = 0; f < 2; f++) {
            const struct addr *a = &p->address[f].addr;

            if (!addr_is_unset(a) && addr_equal(a, &l->c->ports[i].address[f].addr))
                return load_error(l, section, f == 0 ? "address" : "address6",
                                  "port %s has this address, too; give each port its own",
                                  l->c->ports[i].name);
        }
        if (strcmp(p->name, l->c->ports[i].name) == 0)
            return load_error(l, section, NULL, "the port occurs twice; merge its sections");
    }
    return check_vdev(l, section, p);
}

static int check_workers(struct load *l)
{
    uint32_t sum = 0;

    for (uint32_t i = 0; i < l->c->n_ports; i++) {
        sum += l->c->ports[i].workers > 0 ? l->c->ports[i].workers : 1;
        if (sum > CONFIG_WORKERS_MAX)
            return load_error(
                l, section_at(l, l->c->ports[i].line), "workers",
                "the ports up to this one have %u workers, the maximum is %d; write fewer", sum,
                CONFIG_WORKERS_MAX);
    }
    return 0;
}

/* A peer with an address of each family takes two of the networks that a host can have. */
static int check_network_count(struct load *l)
{
    uint32_t sum = 0;

    for (uint32_t i = 0; i < l->c->n_peers; i++) {
        const struct config_peer *p = &l->c->peers[i];

        for (int f = 0; f < 2; f++)
            sum += !addr_is_unset(&p->address[f].addr);
        if (sum > CONFIG_PEERS_MAX)
            return load_error(l, section_at(l, p->line), NULL,
                              "the peers up to this one have %u networks, the maximum is %d; use "
                              "wider ones",
                              sum, CONFIG_PEERS_MAX);
    }
    return 0;
}

/* The sum of the reserved rates must not exceed a port's capacity. */
static int check_minimums(struct load *l)
{
    uint64_t all = 0;

    for (uint32_t i = 0; i < l->c->n_peers; i++) {
        const struct config_peer *peer = &l->c->peers[i];

        all += peer->all_min_Bps;
        for (uint32_t k = 0; k < l->c->n_ports; k++)
            if (l->c->ports[k].capacity_Bps != 0 && all > l->c->ports[k].capacity_Bps)
                return load_error(l, section_at(l, peer->line), "all_minimum",
                                  "and those before it exceed the capacity of port %s; lower it, "
                                  "or raise capacity",
                                  l->c->ports[k].name);
    }
    return 0;
}

static int check_key_log(struct load *l)
{
    const struct config_daemon *d = &l->c->daemon;

    if (d->key_log_file[0] == '\0' || d->private_key_file[0] != '\0')
        return 0;
    return load_error(l, "daemon", "key_log_file",
                      "without private_key_file nothing is sealed, so there are no keys to log; "
                      "remove it, or add private_key_file");
}

/* Loads sections in the order of the file, so that the first mistake is the one reported. */
static int load_sections(struct load *l, struct rte_cfgfile *file)
{
    uint32_t i;
    int rc = 0;

    for (i = 0; i < l->map.n && rc == 0; i++) {
        if (l->map.lines[i].key[0] == '\0')
            rc = load_section(l, file, l->map.lines[i].section);
    }
    for (i = 0; i < l->c->n_ports && rc == 0; i++)
        rc = check_port(l, i);
    for (i = 0; i < l->c->n_peers && rc == 0; i++)
        rc = check_peer(l, i);
    if (rc == 0)
        rc = check_workers(l);
    if (rc == 0)
        rc = check_network_count(l);
    if (rc == 0)
        rc = check_minimums(l);
    if (rc == 0)
        rc = check_key_log(l);
    if (rc == 0 && l->c->n_ports == 0) {
        rc = -EINVAL;
        snprintf(l->err, l->err_len, "%s: no port is configured; add a section [port NAME]",
                 l->path);
    }
    return rc;
}

/*
 * No one else can use locked memory, so by default applications may lock a part of the machine's
 * memory only: an eighth for each user, which leaves room for other users, and half for all users
 * together, which leaves the other half to the machine.
 */
static void quota_defaults(struct config_daemon *d)
{
    uint64_t memory_bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);

    d->quota_bytes = memory_bytes / 8 < QUOTA_MAX_BYTES ? memory_bytes / 8 : QUOTA_MAX_BYTES;
    d->quota_total_bytes = memory_bytes / 2;
}

bool config_peer_secured(const struct config_peer *p)
{
    return !secret_unset(p->public_key, sizeof p->public_key);
}

int config_load(struct config *c, const char *path, char *err, size_t err_len)
{
    const struct rte_cfgfile_parameters params = {.comment_character = '#'};
    struct load l = {.c = c, .path = path, .err = err, .err_len = err_len};
    struct rte_cfgfile *file;
    int rc;

    memset(c, 0, sizeof *c);
    config_key_defaults(config_daemon_keys, &c->daemon);
    c->daemon.control_lcore = CONFIG_LCORE_ANY;
    quota_defaults(&c->daemon);
    rc = config_lines_read(&l.map, path, err, err_len);
    if (rc != 0)
        return rc;
    file = rte_cfgfile_load_with_params(path, 0, &params);
    if (file == NULL) {
        snprintf(err, err_len, "%s: cannot be parsed; check its [section] and key = value lines",
                 path);
        return -EINVAL;
    }
    rc = load_sections(&l, file);
    rte_cfgfile_close(file);
    return rc;
}
