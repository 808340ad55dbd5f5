/* SPDX-License-Identifier: BSD-3-Clause */
/* The ports of the configuration: NICs and their drivers, Linux interfaces, memif's sockets. See
 * doctor.h. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/doctor/doctor.h"

#define XDP_MTU_MAX     3000u /* bytes that a page holds beside the headers */
/* One mbuf holds so many bytes of a frame, and the daemon wants each frame of a memif in one, its
 * header of 22 bytes included. */
#define MEMIF_BSIZE_MAX 65407u
#define MEMIF_MTU_MAX   (MEMIF_BSIZE_MAX - 22)

/* The value of "key=value", up to a comma, in a vdev's arguments; false: there is none. */
static bool vdev_value(const struct doctor_port *p, const char *key, char *out, size_t out_len)
{
    const char *at = p->vdev;
    size_t len = strlen(key);

    while ((at = strstr(at, key)) != NULL) {
        if (at > p->vdev && at[-1] == ',' && at[len] == '=') {
            at += len + 1;
            snprintf(out, out_len, "%.*s", (int)strcspn(at, ","), at);
            return true;
        }
        at += len;
    }
    return false;
}

/* ---- NICs -------------------------------------------------------------------------------- */

/* True for a PCI address as the kernel writes it, with a domain. */
static bool is_pci(const char *name)
{
    unsigned domain, bus, device, function;
    char rest;

    return sscanf(name, "%4x:%2x:%2x.%1x%c", &domain, &bus, &device, &function, &rest) == 4;
}

static bool any_entry(const struct doctor *d, const char *folder)
{
    char path[DOCTOR_PATH];
    struct dirent *e;
    bool any = false;
    DIR *dir = opendir(doctor_path(d, path, "%s", folder));

    while (dir != NULL && (e = readdir(dir)) != NULL)
        any = any || e->d_name[0] != '.';
    if (dir != NULL)
        closedir(dir);
    return any;
}

static void check_vfio(const struct doctor *d, const char *name)
{
    char unsafe[8] = "";

    doctor_read(d, unsafe, sizeof unsafe, "/sys/module/vfio/parameters/enable_unsafe_noiommu_mode");
    if (!doctor_there(d, "/dev/vfio/vfio"))
        doctor_tell(d, "ports", DOCTOR_BAD, "%s: /dev/vfio/vfio is missing\nmodprobe vfio-pci",
                    name);
    else if (!any_entry(d, "/sys/kernel/iommu_groups") && unsafe[0] != 'Y' && unsafe[0] != '1')
        doctor_tell(d, "ports", DOCTOR_BAD,
                    "%s: there is no IOMMU, which vfio-pci needs\nadd intel_iommu=on or "
                    "amd_iommu=on to the kernel's command line; on a machine without one: echo 1 > "
                    "/sys/module/vfio/parameters/enable_unsafe_noiommu_mode",
                    name);
    else
        doctor_tell(d, "ports", DOCTOR_GOOD, "%s: bound to vfio-pci", name);
}

static void check_pci(const struct doctor *d, const char *name)
{
    /* Drivers that fit, besides vfio-pci; some share the NIC with the kernel. */
    static const char *const fit[] = {"uio_pci_generic", "igb_uio", "mlx4_core", "mlx5_core",
                                      "mana"};
    char driver[64];
    size_t i;

    if (!doctor_there(d, "/sys/bus/pci/devices/%s", name)) {
        doctor_tell(d, "ports", DOCTOR_BAD,
                    "%s: there is no such device\n"
                    "dpdk-devbind.py --status-dev net   # lists them; correct [port %s] in %s",
                    name, name, d->config);
        return;
    }
    if (!doctor_link(d, driver, sizeof driver, "/sys/bus/pci/devices/%s/driver", name))
        snprintf(driver, sizeof driver, "none");
    if (strcmp(driver, "vfio-pci") == 0) {
        check_vfio(d, name);
        return;
    }
    for (i = 0; i < sizeof fit / sizeof *fit; i++) {
        if (strcmp(driver, fit[i]) == 0) {
            doctor_tell(d, "ports", DOCTOR_GOOD, "%s: bound to %s", name, driver);
            return;
        }
    }
    doctor_tell(d, "ports", DOCTOR_BAD,
                "%s: its driver is %s, which DPDK cannot use\n"
                "modprobe vfio-pci; dpdk-devbind.py -b vfio-pci %s",
                name, driver, name);
}

/* ---- software devices -------------------------------------------------------------------- */

static void check_interface(const struct doctor *d, const struct doctor_port *p, bool xdp)
{
    char iface[64] = "";
    long mtu, flags;

    if (!vdev_value(p, "iface", iface, sizeof iface)) {
        doctor_tell(d, "ports", DOCTOR_BAD,
                    "%s: vdev names no interface\nadd iface=NAME to vdev of [port %s] in %s",
                    p->name, p->name, d->config);
        return;
    }
    flags = doctor_number(d, "/sys/class/net/%s/flags", iface);
    mtu = doctor_number(d, "/sys/class/net/%s/mtu", iface);
    if (flags < 0) {
        doctor_tell(d, "ports", DOCTOR_BAD,
                    "%s: there is no interface %s here\n"
                    "ip link   # lists them; correct iface= in %s, or start sluiced in the "
                    "interface's namespace: ip netns exec NAME sluiced ...",
                    p->name, iface, d->config);
        return;
    }
    if ((flags & 1) == 0)
        doctor_tell(d, "ports", DOCTOR_BAD, "%s: interface %s is down\nip link set %s up", p->name,
                    iface, iface);
    if (mtu >= 0 && (unsigned long)mtu < p->mtu_bytes)
        doctor_tell(d, "ports", DOCTOR_BAD,
                    "%s: MTU %u is configured, but %s has %ld\nip link set %s mtu %u", p->name,
                    p->mtu_bytes, iface, mtu, iface, p->mtu_bytes);
    else if (xdp && p->mtu_bytes > XDP_MTU_MAX)
        doctor_tell(d, "ports", DOCTOR_BAD,
                    "%s: AF_XDP carries MTUs up to %u, %u is configured\n"
                    "write mtu = 1500 into [port %s] of %s",
                    p->name, XDP_MTU_MAX, p->mtu_bytes, p->name, d->config);
    else if ((flags & 1) != 0)
        doctor_tell(d, "ports", DOCTOR_GOOD, "%s: interface %s is up, MTU %ld", p->name, iface,
                    mtu);
}

static void check_memif(const struct doctor *d, const struct doctor_port *p)
{
    char socket[256], abstract[8] = "yes", bsize[16] = "2048", *slash;
    unsigned int fits = (p->mtu_bytes + 18 + 1023) / 1024 * 1024;

    vdev_value(p, "socket-abstract", abstract, sizeof abstract);
    vdev_value(p, "bsize", bsize, sizeof bsize);
    if (p->mtu_bytes > MEMIF_MTU_MAX)
        doctor_tell(d, "ports", DOCTOR_BAD,
                    "%s: memif carries MTUs up to %u, %u is configured\n"
                    "write mtu = %u into [port %s] of %s",
                    p->name, MEMIF_MTU_MAX, p->mtu_bytes, MEMIF_MTU_MAX, p->name, d->config);
    else if (strtoul(bsize, NULL, 10) < p->mtu_bytes + 18)
        doctor_tell(d, "ports", DOCTOR_BAD,
                    "%s: frames of MTU %u do not fit into bsize=%s\n"
                    "write bsize=%u into vdev of [port %s] in %s, at both ends",
                    p->name, p->mtu_bytes, bsize, fits < MEMIF_BSIZE_MAX ? fits : MEMIF_BSIZE_MAX,
                    p->name, d->config);
    if (!vdev_value(p, "socket", socket, sizeof socket) || strcmp(abstract, "no") != 0 ||
        (slash = strrchr(socket, '/')) == NULL || slash == socket)
        return;
    *slash = 0;
    if (doctor_there(d, "%s", socket))
        doctor_tell(d, "ports", DOCTOR_GOOD, "%s: %s, the folder of its socket, exists", p->name,
                    socket);
    else
        doctor_tell(d, "ports", DOCTOR_BAD, "%s: the folder of its socket is missing\nmkdir -p %s",
                    p->name, socket);
}

/* Checks the NICs of a bond (slave=); newer DPDKs call them members. */
static void check_bond(const struct doctor *d, const struct doctor_port *p)
{
    const char *at = p->vdev;

    while ((at = strchr(at, ',')) != NULL) {
        char name[64];
        size_t key;

        at++;
        key = strncmp(at, "slave=", 6) == 0 ? 6 : strncmp(at, "member=", 7) == 0 ? 7 : 0;
        if (key == 0)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at + key, ","), at + key);
        if (is_pci(name))
            check_pci(d, name);
    }
}

void doctor_ports(struct doctor *d)
{
    for (uint32_t i = 0; i < d->conf.n_ports; i++) {
        const struct doctor_port *p = &d->conf.ports[i];

        if (is_pci(p->name))
            check_pci(d, p->name);
        else if (strncmp(p->vdev, "net_af_", 7) == 0)
            check_interface(d, p, strncmp(p->vdev, "net_af_xdp", 10) == 0);
        else if (strncmp(p->vdev, "net_memif", 9) == 0)
            check_memif(d, p);
        else if (strncmp(p->vdev, "net_bonding", 11) == 0)
            check_bond(d, p);
    }
}
