/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers and names as people read them; base/value.h reads what people write.
 */
#ifndef SLUICE_COMMAND_TEXT_H
#define SLUICE_COMMAND_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Write "1.50 GiB", "9.41 Gb/s" (bits, from rate_Bps in bytes) or "1.23 ms", cut to fit out_len.
 * Return out. */
const char *text_bytes(char *out, size_t out_len, double bytes);
const char *text_rate(char *out, size_t out_len, double rate_Bps);
const char *text_time(char *out, size_t out_len, uint64_t time_ns);

/* Makes a name from a disk or the network fit for a terminal: control bytes and broken UTF-8 become
 * '?'. The name is cut to fit out_len. Returns out. */
const char *text_safe(char *out, size_t out_len, const char *name);

#endif
