/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/queues.h"

#include <stddef.h>
#include <string.h>

#include <rte_common.h>

const char *queues_arg(const char *driver)
{
    static const struct {
        const char *driver, *arg;
    } args[] = {{"net_vhost", "queues"},
                {"net_virtio_user", "queues"},
                {"net_af_packet", "qpairs"},
                {"net_af_xdp", "queue_count"}};

    for (size_t i = 0; i < RTE_DIM(args); i++)
        if (strcmp(driver, args[i].driver) == 0)
            return args[i].arg;
    return NULL;
}

uint16_t queues_max(const struct rte_eth_dev_info *info)
{
    return RTE_MAX(RTE_MIN(info->max_rx_queues, info->max_tx_queues), 1);
}

uint16_t queues_usual(const struct rte_eth_dev_info *info, uint16_t share)
{
    const char *driver = info->driver_name != NULL ? info->driver_name : "";

    if (queues_arg(driver) != NULL)
        return queues_max(info);
    if (strcmp(driver, "net_memif") == 0 || info->flow_type_rss_offloads == 0)
        return 1;
    return RTE_MIN(queues_max(info), RTE_MAX(share, 1));
}
