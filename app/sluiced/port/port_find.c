/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the ethdev port of a configured port: one that exists, or a device made from vdev. See
 * port.h. */
#include "sluiced/port/port.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_dev.h>
#include <rte_devargs.h>

#include "common/rights.h"

/* Names of all ethdev ports, for an error message. */
static void port_names(char *buf, size_t buf_len)
{
    char name[RTE_ETH_NAME_MAX_LEN];
    size_t len = 0;
    uint16_t id;

    snprintf(buf, buf_len, "none");
    RTE_ETH_FOREACH_DEV(id)
    {
        if (rte_eth_dev_get_name_by_port(id, name) == 0 && len + 1 < buf_len)
            len += (size_t)snprintf(buf + len, buf_len - len, "%s%s", len > 0 ? " " : "", name);
    }
}

static bool vdev_is(const struct config_port *cfg, const char *driver)
{
    return strncmp(cfg->vdev, driver, strlen(driver)) == 0;
}

/* Checks that a vdev's Linux interface exists: drivers report a missing one only by a number. */
static int vdev_check_interface(const struct config_port *cfg, char *err, size_t err_len)
{
    const char *at = strstr(cfg->vdev, "iface=");
    char name[IFNAMSIZ];

    if (at == NULL || (!vdev_is(cfg, "net_af_packet") && !vdev_is(cfg, "net_af_xdp")))
        return 0;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(at + 6, ","), at + 6);
    if (if_nametoindex(name) != 0)
        return 0;
    snprintf(err, err_len,
             "port %s: there is no interface %s here; create it, correct iface in vdev, or start "
             "in its network namespace",
             cfg->name, name);
    return -ENODEV;
}

/* DPDK's drivers are packages of their own. */
static int vdev_check_driver(const struct config_port *cfg, char *err, size_t err_len)
{
    struct rte_devargs args;

    memset(&args, 0, sizeof args);
    if (rte_devargs_parse(&args, cfg->vdev) == 0) {
        free(args.data);
        return 0;
    }
    snprintf(err, err_len,
             "port %s: vdev = %s: DPDK has no driver for it here; correct the name, or install "
             "DPDK's drivers (Debian: librte-meta-net)",
             cfg->name, cfg->vdev);
    return -ENODEV;
}

static int vdev_make(const struct config_port *cfg, char *err, size_t err_len)
{
    if (vdev_check_interface(cfg, err, err_len) != 0 || vdev_check_driver(cfg, err, err_len) != 0)
        return -ENODEV;
    memif_vdev_clean(cfg->vdev);
    if (rte_dev_probe(cfg->vdev) == 0)
        return 0;
    snprintf(err, err_len, "port %s: vdev = %s: the device cannot be created; %s", cfg->name,
             cfg->vdev,
             !rights_present() ? RIGHTS_CURE ", or see the driver's message above"
             : vdev_is(cfg, "net_memif")
                 ? "is another server on that socket, or its folder missing?"
                 : "check the driver's name and arguments, see its message above");
    return -EIO;
}

int port_find(struct port *p, char *err, size_t err_len)
{
    const struct config_port *cfg = p->cfg;
    bool there = rte_eth_dev_get_port_by_name(cfg->name, &p->id) == 0;
    char names[256];
    int rc;

    if (there && cfg->vdev[0] != '\0') {
        snprintf(err, err_len,
                 "port %s: already exists; remove vdev from the configuration, or --vdev from the "
                 "command line",
                 cfg->name);
        return -EEXIST;
    }
    if (!there && cfg->vdev[0] == '\0') {
        port_names(names, sizeof names);
        snprintf(err, err_len,
                 "port %s: no such port (there are: %s); add vdev = %s,..., or bind the NIC to a "
                 "DPDK driver with dpdk-devbind.py",
                 cfg->name, names, cfg->name);
        return -ENODEV;
    }
    if (!there) {
        rc = vdev_make(cfg, err, err_len);
        if (rc != 0)
            return rc;
        if (rte_eth_dev_get_port_by_name(cfg->name, &p->id) != 0) {
            snprintf(err, err_len,
                     "port %s: vdev = %s created no port of that name; rename the port", cfg->name,
                     cfg->vdev);
            return -ENODEV;
        }
    }
    p->attached = true;
    return 0;
}
