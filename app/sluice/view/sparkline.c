/* SPDX-License-Identifier: BSD-3-Clause */
/* See sparkline.h. */
#include "sluice/view/sparkline.h"

#include <string.h>

#include "base/clock.h"

/* Makes second `to` the newest one. */
static void sparkline_advance(struct sparkline *s, uint64_t to)
{
    if (s->newest != 0 && to - s->newest < SPARKLINE_BINS) {
        while (s->newest < to)
            s->bytes[++s->newest % SPARKLINE_BINS] = 0;
    } else {
        memset(s->bytes, 0, sizeof s->bytes);
        s->newest = to;
    }
}

void sparkline_add(struct sparkline *s, uint64_t from_ns, uint64_t to_ns, double bytes)
{
    uint64_t last = to_ns / CLOCK_NS_PER_S, second;

    if (to_ns <= from_ns || last < s->newest)
        return;
    if (s->newest == 0)
        s->first = from_ns / CLOCK_NS_PER_S;
    if (last != s->newest)
        sparkline_advance(s, last);
    second = from_ns / CLOCK_NS_PER_S;
    if (second + SPARKLINE_BINS <= last)
        second = last - SPARKLINE_BINS + 1;
    for (; second <= last; second++) {
        uint64_t begin = second * CLOCK_NS_PER_S, end = begin + CLOCK_NS_PER_S;

        begin = begin < from_ns ? from_ns : begin;
        end = end > to_ns ? to_ns : end;
        s->bytes[second % SPARKLINE_BINS] +=
            bytes * (double)(end - begin) / (double)(to_ns - from_ns);
    }
}

/* Mean rate of bar `column`, bytes/s; negative: not known. */
static double sparkline_rate(const struct sparkline *s, unsigned columns, unsigned column)
{
    unsigned seconds = SPARKLINE_SECONDS / columns, i, known = 0;
    double sum = 0;

    for (i = 0; i < seconds; i++) {
        unsigned ago = SPARKLINE_SECONDS - (column * seconds + i);

        if (s->newest < ago || s->newest - ago < s->first)
            continue;
        sum += s->bytes[(s->newest - ago) % SPARKLINE_BINS];
        known++;
    }
    return known > 0 ? sum / known : -1;
}

double sparkline_max(const struct sparkline *s, unsigned columns)
{
    double most = 0;
    unsigned i;

    for (i = 0; i < columns; i++) {
        double rate = sparkline_rate(s, columns, i);

        most = rate > most ? rate : most;
    }
    return most;
}

const char *sparkline_text(const struct sparkline *s, unsigned columns, double max_Bps, bool utf8,
                           char *out)
{
    static const char *const blocks[] = {"\u2581", "\u2582", "\u2583", "\u2584",
                                         "\u2585", "\u2586", "\u2587", "\u2588"};
    static const char *const marks[] = {".", ":", "-", "=", "+", "*", "%", "#"};
    unsigned i;
    char *at = out;

    *at = 0;
    for (i = 0; i < columns && i < SPARKLINE_SECONDS; i++) {
        double rate = sparkline_rate(s, columns, i);
        unsigned height = max_Bps > 0 && rate > 0 ? (unsigned)(rate / max_Bps * 8) : 0;

        if (rate <= 0)
            at = stpcpy(at, " ");
        else
            at = stpcpy(at, (utf8 ? blocks : marks)[height > 7 ? 7 : height]);
    }
    return out;
}
