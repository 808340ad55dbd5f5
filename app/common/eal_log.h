/* SPDX-License-Identifier: BSD-3-Clause */
/* What DPDK's libraries and drivers log, as lines of this program (common/say.h). */
#ifndef COMMON_EAL_LOG_H
#define COMMON_EAL_LOG_H

/* To be called before rte_eal_init(). From here on, DPDK writes neither to stderr nor to syslog
 * itself. If there is no memory, it does so as before. */
void eal_log_start(void);

#endif
