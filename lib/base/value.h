/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Converts values that people write, numbers with units, into integers of one unit. A number is
 * decimal digits with an optional fraction ("2.5Gbit"). A unit follows with or without a space.
 * Letter case does not matter, except for the B of B/s. Values are rounded down, but a value above
 * 0 that would become 0 is refused.
 *
 * Units, as tc(8) has them:
 *   rates   bit kbit Mbit Gbit Tbit (bits/s, powers of 1000; Kibit.. powers of 1024),
 *           B/s kB/s MB/s GB/s TB/s or bps kbps mbps gbps tbps (bytes/s, powers of 1000)
 *   sizes   none or B: bytes; k kB KiB, M MB MiB, G GB GiB, T TB TiB: powers of 1024
 *   times   ns us ms s min h
 * 0 needs no unit. Each function returns NULL, or a static text that says what is wrong.
 */
#ifndef SLUICE_BASE_VALUE_H
#define SLUICE_BASE_VALUE_H

#include <stddef.h>
#include <stdint.h>

const char *value_rate(const char *text, uint64_t *rate_Bps);
const char *value_size(const char *text, uint64_t *size_bytes);
const char *value_time(const char *text, uint64_t *time_ns);
/* A plain number, no unit. */
const char *value_number(const char *text, uint64_t *number);
/* A share of the whole, "0.1%" to "100%", as a probability in 1 / 2^64; 100% is UINT64_MAX. */
const char *value_share(const char *text, uint64_t *share);

/* Write text for people into buf, at most 32 bytes: "1 Gbit/s", "64 KiB", "1 ms". The number has
 * at most three decimals, rounded down. Each function returns buf. */
#define VALUE_TEXT_MAX 32
const char *value_rate_text(uint64_t rate_Bps, char *buf);
const char *value_size_text(uint64_t size_bytes, char *buf);
const char *value_time_text(uint64_t time_ns, char *buf);

/* Both functions change the text in place and return where it then begins. value_strip() removes
 * white space at both ends. value_line() also removes a configuration line's comment: the first '#'
 * and all after it, unless a backslash precedes the '#' (as rte_cfgfile has it). */
char *value_strip(char *text);
char *value_line(char *line);

/* The number of edits (insert, delete, replace, swap) from a to b, letter case ignored; for
 * "did you mean". Texts longer than 63 bytes count as far away. */
unsigned int value_distance(const char *a, const char *b);

#endif
