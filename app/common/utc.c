/* SPDX-License-Identifier: BSD-3-Clause */
/* See utc.h. gmtime_r() is not for signal handlers. */
#include "common/utc.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/line.h"

#define DAY_S 86400

static bool is_leap(uint64_t year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static uint64_t month_days(uint64_t month, uint64_t year)
{
    static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

    return days[month] + (uint64_t)(month == 1 && is_leap(year));
}

static void part_put(struct line *l, const char *before, uint64_t n)
{
    line_put(l, before);
    line_number(l, n, 2);
}

const char *utc_text(char out[UTC_TEXT_MAX], int decimals)
{
    struct line l = {out, out + UTC_TEXT_MAX - 1};
    struct timespec now;
    uint64_t days, seconds, fraction, year = 1970, month = 0;

    clock_gettime(CLOCK_REALTIME, &now);
    days = (uint64_t)now.tv_sec / DAY_S;
    seconds = (uint64_t)now.tv_sec % DAY_S;
    fraction = (uint64_t)now.tv_nsec;
    for (; days >= 365u + is_leap(year); year++)
        days -= 365u + is_leap(year);
    for (; days >= month_days(month, year); month++)
        days -= month_days(month, year);
    for (int i = decimals; i < 9; i++)
        fraction /= 10;
    line_number(&l, year, 4);
    part_put(&l, "-", month + 1);
    part_put(&l, "-", days + 1);
    part_put(&l, "T", seconds / 3600);
    part_put(&l, ":", seconds / 60 % 60);
    part_put(&l, ":", seconds % 60);
    line_put(&l, ".");
    line_number(&l, fraction, decimals);
    line_put(&l, "Z");
    *l.at = '\0';
    return out;
}
