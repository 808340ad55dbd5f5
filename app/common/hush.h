/* SPDX-License-Identifier: BSD-3-Clause */
/* Silences a log of DPDK's during calls that may well fail. */
#ifndef COMMON_HUSH_H
#define COMMON_HUSH_H

/* From now on `log`, such as "lib.ethdev", shows only critical messages. Returns the log's old
 * level, for unhush(). */
int hush(const char *log);
void unhush(const char *log, int level);

#endif
