/* SPDX-License-Identifier: BSD-3-Clause */
/* DPDK's logs while it is asked for what may well not be there. */
#ifndef COMMON_HUSH_H
#define COMMON_HUSH_H

/* From here on only what is critical is logged under this name, such as "lib.ethdev"; returns the
 * level to go back to. */
int hush(const char *log);
void unhush(const char *log, int level);

#endif
