/* SPDX-License-Identifier: BSD-3-Clause */
/* See value.h. Arithmetic is 128-bit with the fraction kept as a numerator over a power of ten. */
#include "base/value.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/mul_div.h"

typedef unsigned __int128 u128;

struct unit {
    const char *name;
    uint64_t times, over; /* value = number * times / over */
};

#define KI 1024ull
#define RATE(prefix, k)                                                                            \
    {prefix "bit", (k), 8}, {prefix "bit/s", (k), 8}, {prefix "bps", (k), 1},                      \
    {                                                                                              \
        prefix "B/s", (k), 1                                                                       \
    }

static const struct unit rate_units[] = {
    RATE("", 1ull),
    RATE("k", 1000ull),
    RATE("m", 1000000ull),
    RATE("g", 1000000000ull),
    RATE("t", 1000000000000ull),
    RATE("ki", KI),
    RATE("mi", KI *KI),
    RATE("gi", KI *KI *KI),
    RATE("ti", KI *KI *KI *KI),
    {NULL, 0, 0},
};

#define SIZE(prefix, k)                                                                            \
    {prefix, (k), 1}, {prefix "b", (k), 1},                                                        \
    {                                                                                              \
        prefix "ib", (k), 1                                                                        \
    }

static const struct unit size_units[] = {
    {"", 1, 1},        {"b", 1, 1},           SIZE("k", KI),
    SIZE("m", KI *KI), SIZE("g", KI *KI *KI), SIZE("t", KI *KI *KI *KI),
    {NULL, 0, 0},
};

static const struct unit time_units[] = {
    {"ns", 1ull, 1},
    {"us", 1000ull, 1},
    {"ms", 1000000ull, 1},
    {"s", 1000000000ull, 1},
    {"min", 60000000000ull, 1},
    {"h", 3600000000000ull, 1},
    {NULL, 0, 0},
};

static const struct unit number_units[] = {
    {"", 1, 1},
    {NULL, 0, 0},
};

/* The number as written: mantissa / scale. */
struct number {
    u128 mantissa;
    uint64_t scale;
    bool too_large;
    bool cut; /* a digit after the ninth decimal was not 0 */
};

/* Returns what is wrong with the text at p, or NULL; then *unit is where its unit starts. */
static const char *number_read(const char *p, struct number *n, const char **unit)
{
    bool point = false, digits = false;

    *n = (struct number){.scale = 1};
    while (isspace((unsigned char)*p))
        p++;
    if (*p == '-')
        return "it is negative";
    for (;; p++) {
        if (*p == '.' && !point && isdigit((unsigned char)p[1])) {
            point = true;
            continue;
        }
        if (!isdigit((unsigned char)*p))
            break;
        digits = true;
        if (point && n->scale >= 1000000000ull) {
            n->cut |= *p != '0'; /* a digit this small matters only if all others are 0 */
            continue;
        }
        n->mantissa = n->mantissa * 10 + (unsigned int)(*p - '0');
        if (point)
            n->scale *= 10;
        if (n->mantissa > (u128)UINT64_MAX * 1000000000u)
            n->too_large = true;
        if (n->too_large)
            n->mantissa = 0;
    }
    while (isspace((unsigned char)*p))
        p++;
    *unit = p;
    return digits ? NULL : "it does not start with a number";
}

/* Letter case does not matter, except for B: it means bytes, but b may have been meant as bits. */
static bool unit_is(const char *name, const char *text)
{
    const char *byte = strchr(name, 'B');

    return strcasecmp(name, text) == 0 && (byte == NULL || text[byte - name] == 'B');
}

static const char *value_read(const char *text, const struct unit *units, const char *no_unit,
                              const char *bad_unit, uint64_t *out)
{
    struct number n;
    const char *p, *wrong = number_read(text, &n, &p);
    u128 value;

    if (wrong != NULL)
        return wrong;
    if (n.too_large)
        return "it is too large";
    if (*p == '\0' && n.mantissa == 0 && !n.cut) {
        *out = 0;
        return NULL;
    }
    for (; units->name != NULL; units++) {
        if (unit_is(units->name, p))
            break;
    }
    if (units->name == NULL)
        return *p == '\0' ? no_unit : bad_unit;
    if (n.mantissa > ((u128)-1) / units->times)
        return "it is too large";
    value = n.mantissa * units->times / ((u128)n.scale * units->over);
    if (value > UINT64_MAX)
        return "it is too large";
    if (value == 0 && (n.mantissa != 0 || n.cut))
        return "it is too small";
    *out = (uint64_t)value;
    return NULL;
}

const char *value_rate(const char *text, uint64_t *rate_Bps)
{
    return value_read(text, rate_units, "a rate needs a unit",
                      "its unit is none of bit kbit Mbit Gbit Tbit (per second) or B/s kB/s MB/s "
                      "GB/s TB/s",
                      rate_Bps);
}

const char *value_size(const char *text, uint64_t *size_bytes)
{
    return value_read(text, size_units, "a size needs a unit",
                      "its unit is none of k M G T (powers of 1024)", size_bytes);
}

const char *value_time(const char *text, uint64_t *time_ns)
{
    return value_read(text, time_units, "a time needs a unit",
                      "its unit is none of ns us ms s min h", time_ns);
}

const char *value_number(const char *text, uint64_t *number)
{
    if (strchr(text, '.') != NULL)
        return "it is not a whole number";
    return value_read(text, number_units, "", "it is not a plain number", number);
}

const char *value_share(const char *text, uint64_t *share)
{
    struct number n;
    const char *p, *wrong = number_read(text, &n, &p);
    u128 whole;

    if (wrong != NULL)
        return wrong;
    whole = (u128)100 * n.scale;
    if (*p == '\0' ? n.too_large || n.cut || n.mantissa != 0 : strcmp(p, "%") != 0)
        return *p == '\0' ? "a probability needs a %" : "its unit is not %";
    if (n.too_large || n.mantissa > whole || (n.mantissa == whole && n.cut))
        return "it is more than 100%";
    if (n.mantissa == 0 && n.cut)
        return "it is too small";
    *share = n.mantissa == whole ? UINT64_MAX : (uint64_t)((n.mantissa << 64) / whole);
    return NULL;
}

/* Writes value with at most three decimals, in the largest unit that does not exceed it. The units
 * are 1, step, step^2 ..., and have these names. */
static const char *text_scale(uint64_t value, uint64_t step, const char *const *names, char *buf)
{
    uint64_t unit = 1, whole, rest;
    unsigned int i = 0;

    while (names[i + 1] != NULL && value / step >= unit) {
        unit *= step;
        i++;
    }
    whole = value / unit;
    rest = mul_div(value % unit, 1000, unit);
    if (rest == 0) {
        snprintf(buf, VALUE_TEXT_MAX, "%" PRIu64 " %s", whole, names[i]);
    } else {
        int len = snprintf(buf, VALUE_TEXT_MAX, "%" PRIu64 ".%03" PRIu64, whole, rest);

        while (buf[len - 1] == '0')
            len--;
        snprintf(buf + len, (size_t)(VALUE_TEXT_MAX - len), " %s", names[i]);
    }
    return buf;
}

const char *value_rate_text(uint64_t rate_Bps, char *buf)
{
    static const char *const names[] = {"bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s", NULL};

    return text_scale(rate_Bps > UINT64_MAX / 8 ? UINT64_MAX : rate_Bps * 8, 1000, names, buf);
}

const char *value_size_text(uint64_t size_bytes, char *buf)
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB", NULL};

    return text_scale(size_bytes, 1024, names, buf);
}

const char *value_time_text(uint64_t time_ns, char *buf)
{
    static const char *const names[] = {"ns", "us", "ms", "s", NULL};

    return text_scale(time_ns, 1000, names, buf);
}

char *value_strip(char *text)
{
    size_t len;

    while (isspace((unsigned char)*text))
        text++;
    len = strlen(text);
    while (len > 0 && isspace((unsigned char)text[len - 1]))
        len--;
    text[len] = '\0';
    return text;
}

char *value_line(char *line)
{
    char *comment = strchr(line, '#');

    if (comment != NULL && (comment == line || comment[-1] != '\\'))
        *comment = '\0';
    return value_strip(line);
}

unsigned int value_distance(const char *a, const char *b)
{
    unsigned int row[3][64], i, j;
    unsigned int la = (unsigned int)strnlen(a, 64), lb = (unsigned int)strnlen(b, 64);

    if (la >= 64 || lb >= 64)
        return 64;
    for (j = 0; j <= lb; j++)
        row[0][j] = j;
    for (i = 1; i <= la; i++) {
        unsigned int *cur = row[i % 3], *up = row[(i - 1) % 3], *up2 = row[(i + 1) % 3];
        int ca = tolower((unsigned char)a[i - 1]);

        cur[0] = i;
        for (j = 1; j <= lb; j++) {
            int cb = tolower((unsigned char)b[j - 1]);
            unsigned int best = up[j - 1] + (ca != cb);

            if (up[j] + 1 < best)
                best = up[j] + 1;
            if (cur[j - 1] + 1 < best)
                best = cur[j - 1] + 1;
            if (i > 1 && j > 1 && ca == tolower((unsigned char)b[j - 2]) &&
                cb == tolower((unsigned char)a[i - 2]) && up2[j - 2] + 1 < best)
                best = up2[j - 2] + 1;
            cur[j] = best;
        }
    }
    return row[la % 3][lb];
}
