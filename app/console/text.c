/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers and names as people read them. */
#include "console/text.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

static const char *text_scaled(char *out, size_t out_len, double v, double base,
                               const char *const *units)
{
    int i = 0;

    /* With three digits, 999.5 would be printed as 1000; it takes the next unit instead. */
    while (v >= base * 0.9995 && units[i + 1] != NULL) {
        v /= base;
        i++;
    }
    snprintf(out, out_len, "%.*f %s", i == 0 ? 0 : v < 9.995 ? 2 : v < 99.95 ? 1 : 0, v, units[i]);
    return out;
}

const char *text_bytes(char *out, size_t out_len, double bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", NULL};

    return text_scaled(out, out_len, bytes, 1024, units);
}

const char *text_rate(char *out, size_t out_len, double rate_Bps)
{
    static const char *const units[] = {"b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s", "Pb/s", NULL};

    return text_scaled(out, out_len, rate_Bps * 8, 1000, units);
}

const char *text_time(char *out, size_t out_len, uint64_t time_ns)
{
    if (time_ns < 1000)
        snprintf(out, out_len, "%d ns", (int)time_ns);
    else if (time_ns < 1000000)
        snprintf(out, out_len, "%.1f us", (double)time_ns / 1e3);
    else if (time_ns < 1000000000)
        snprintf(out, out_len, "%.2f ms", (double)time_ns / 1e6);
    else
        snprintf(out, out_len, "%.2f s", (double)time_ns / 1e9);
    return out;
}

const char *text_safe(char *out, size_t out_len, const char *name)
{
    return utf8_safe(out, out_len, name);
}
