/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/hush.h"

#include <rte_log.h>

int hush(const char *log)
{
    /* finds the log, or registers it if its library has not yet */
    int type = rte_log_register(log);
    int level = type >= 0 ? rte_log_get_level((uint32_t)type) : -1;

    if (level >= 0)
        rte_log_set_level((uint32_t)type, RTE_LOG_CRIT);
    return level;
}

void unhush(const char *log, int level)
{
    int type = rte_log_register(log);

    if (type >= 0 && level >= 0)
        rte_log_set_level((uint32_t)type, (uint32_t)level);
}
