/* SPDX-License-Identifier: BSD-3-Clause */
/* See config_wire.h. */
#include "sluiced/config/config_wire.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include <rte_common.h>
#include <rte_eal.h>
#include <rte_errno.h>

#include "common/eal.h"
#include "path/path.h"
#include "sluiced/config/config_lines.h"

int config_wire_check(const struct config *c, const char *path, char *err, size_t err_len)
{
    for (uint32_t i = 0; i < c->n_ports; i++) {
        const struct config_port *p = &c->ports[i];
        const struct {
            const char *key, *spec;
        } wires[] = {{"wire", p->wire}, {"wire_out", p->wire_out}, {"wire_in", p->wire_in}};

        for (size_t k = 0; k < RTE_DIM(wires); k++) {
            const struct path_config cfg = {.hz = 1000000000, .seed = 1, .packets_max = 64};
            char why[CONFIG_ERROR_MAX];
            struct path *made;

            if (wires[k].spec[0] == '\0')
                continue;
            made = path_create(wires[k].spec, &cfg, 0, why, sizeof why);
            if (made == NULL) {
                snprintf(err, err_len, "%s:%u: [port %s] %s: %.300s; see sluice-path(7)", path,
                         config_lines_after(path, p->line, wires[k].key), p->name, wires[k].key,
                         why);
                return -EINVAL;
            }
            path_destroy(made);
        }
    }
    return 0;
}

static bool any_wired(const struct config *c)
{
    for (uint32_t i = 0; i < c->n_ports; i++)
        if (config_port_wired(&c->ports[i]))
            return true;
    return false;
}

/* The first CPU that this process may use. */
static int first_cpu(void)
{
    cpu_set_t set;
    int cpu;

    if (sched_getaffinity(0, sizeof set, &set) == 0)
        for (cpu = 0; cpu < CPU_SETSIZE; cpu++)
            if (CPU_ISSET(cpu, &set))
                return cpu;
    return 0;
}

int config_wire_check_alone(const struct config *c, const char *path, char *err, size_t err_len)
{
    char lcore[24];
    char *args[] = {(char *)"sluiced",
                    (char *)"--no-huge",
                    (char *)"--no-pci",
                    (char *)"--no-shconf",
                    (char *)"--no-telemetry",
                    (char *)"-m",
                    (char *)"64",
                    (char *)"--lcores",
                    lcore,
                    (char *)"--log-level=*:3"};
    int rc;

    if (!any_wired(c))
        return 0;
    snprintf(lcore, sizeof lcore, "0@%d", first_cpu());
    if (rte_eal_init(RTE_DIM(args), args) < 0) {
        snprintf(err, err_len,
                 "%s: wires cannot be checked, because the EAL does not start (%s); free 64 MB of "
                 "memory",
                 path, rte_strerror(rte_errno));
        return -EIO;
    }
    rc = config_wire_check(c, path, err, err_len);
    eal_stop();
    return rc;
}
