/* SPDX-License-Identifier: BSD-3-Clause */
/* The time of day as text. */
#ifndef COMMON_UTC_H
#define COMMON_UTC_H

#define UTC_TEXT_MAX 40

/* Writes the time as RFC 3339 has it, in UTC, with this many decimals, at most 9:
 * "2026-11-28T13:09:33.123456Z". Returns out. A signal handler may call this. */
const char *utc_text(char out[UTC_TEXT_MAX], int decimals);

#endif
