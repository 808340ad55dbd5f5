/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers and names as people write and read them.
 *
 * Sizes: digits and an optional k, M, G or T (powers of 1024, as in sluiced's configuration), also
 * written kB or KiB, in any case. Times: digits and an optional ms, s (default), m or h. No sign,
 * no fraction, no space: what is not wholly a number is refused.
 */
#ifndef SLUICE_COMMAND_TEXT_H
#define SLUICE_COMMAND_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* 0, -EINVAL (not a number), -ERANGE (does not fit or is not in min .. max). */
int text_size(const char *s, uint64_t *bytes);
int text_duration(const char *s, uint64_t *ns);
int text_number(const char *s, uint64_t min, uint64_t max, uint64_t *value);

/* "1.50 GiB", "9.41 Gb/s" (of bytes per second), "1.234 ms"; cut to fit out_len. Return out. */
const char *text_bytes(char *out, size_t out_len, double bytes);
const char *text_rate(char *out, size_t out_len, double rate_Bps);
const char *text_time(char *out, size_t out_len, uint64_t time_ns);

/* A name from a disk or the network, fit for a terminal: control bytes and broken UTF-8 become '?';
 * cut to fit out_len. Returns out. */
const char *text_safe(char *out, size_t out_len, const char *name);

#endif
