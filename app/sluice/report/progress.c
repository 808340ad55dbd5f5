/* SPDX-License-Identifier: BSD-3-Clause */
/* The bar on the terminal while a transfer runs. */
#include "sluice/report/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "console/text.h"
#include "sluice/report/json_lines.h"
#include "sluice/say.h"

#define PROGRESS_COLUMNS_MAX 200

void progress_init(struct progress *p, bool quiet, FILE *lines)
{
    const char *term = getenv("TERM");

    memset(p, 0, sizeof *p);
    p->lines = lines;
    p->on = !quiet && isatty(STDERR_FILENO) && (term == NULL || strcmp(term, "dumb") != 0);
}

uint64_t progress_next(const struct progress *p)
{
    return p->on || p->lines != NULL || p->tell != NULL ? p->next_ns : UINT64_MAX;
}

static int progress_columns(void)
{
    struct winsize w;

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &w) < 0 || w.ws_col == 0)
        return 79;
    return w.ws_col > PROGRESS_COLUMNS_MAX ? PROGRESS_COLUMNS_MAX : w.ws_col - 1;
}

static void progress_measure(struct progress *p, uint64_t now_ns, uint64_t bytes)
{
    double passed_s = (double)(now_ns - p->last_ns) / 1e9, now_Bps;
    double weight = passed_s > 1 ? 1 : passed_s;

    if (p->last_ns != 0 && bytes >= p->last_bytes && passed_s > 0) {
        now_Bps = (double)(bytes - p->last_bytes) / passed_s;
        p->rate_Bps = p->rate_Bps == 0 ? now_Bps : p->rate_Bps + weight * (now_Bps - p->rate_Bps);
    }
    p->last_ns = now_ns;
    p->last_bytes = bytes;
}

/* Writes "  1:05 left", or "" if the time is not known. */
static void progress_left(char *out, size_t out_len, const struct progress *p,
                          const struct progress_view *v)
{
    double left_s;

    out[0] = 0;
    if (v->total_bytes <= v->done_bytes || p->rate_Bps < 1)
        return;
    left_s = (double)(v->total_bytes - v->done_bytes) / p->rate_Bps;
    if (left_s < 360000)
        snprintf(out, out_len, "  %d:%02d left", (int)left_s / 60, (int)left_s % 60);
}

static void progress_draw(const struct progress *p, const struct progress_view *v)
{
    char line[PROGRESS_COLUMNS_MAX + 256], tail[160], bytes[32], rate[32], left[32], name[80];
    char bar[PROGRESS_COLUMNS_MAX + 1] = "", repeats[40] = "", limit[40] = "";
    double part = v->total_bytes == 0 ? 0 : (double)v->done_bytes / (double)v->total_bytes;
    int percent = (int)((part > 1 ? 1 : part) * 100); /* a file may grow */
    int columns, room;

    columns = progress_columns();
    progress_left(left, sizeof left, p, v);
    if (v->repeats > 0)
        snprintf(repeats, sizeof repeats, "  %" PRIu64 " repeated", v->repeats);
    if (v->limit[0] != '\0')
        snprintf(limit, sizeof limit, "  (%s)", v->limit);
    snprintf(tail, sizeof tail, "%10s %10s%s%s%s",
             text_bytes(bytes, sizeof bytes, (double)v->done_bytes),
             text_rate(rate, sizeof rate, p->rate_Bps), repeats, left, limit);
    text_safe(name, columns / 3 < 79 ? (size_t)columns / 3 + 1 : 80,
              v->name[0] != 0 ? v->name : "waiting");
    room = columns - (int)strlen(name) - (int)strlen(tail) - 10;
    if (v->total_bytes > 0 && room >= 10) {
        int full = (int)((part > 1 ? 1 : part) * room);

        memset(bar, '-', (size_t)room);
        memset(bar, '=', (size_t)full);
        bar[room] = 0;
        snprintf(line, sizeof line, "%s %3d%% [%s] %s", name, percent, bar, tail);
    } else {
        snprintf(line, sizeof line, "%s %s", name, tail);
    }
    line[columns] = 0;
    say_bar(line);
}

void progress_show(struct progress *p, uint64_t now_ns, const struct progress_view *v)
{
    if (now_ns < progress_next(p))
        return;
    p->next_ns = now_ns + PROGRESS_INTERVAL_NS;
    if (p->first_ns == 0)
        p->first_ns = now_ns;
    progress_measure(p, now_ns, p->on ? v->done_bytes : v->moved_bytes);
    if (p->on)
        progress_draw(p, v);
    if (p->tell != NULL)
        p->tell(p->context, v);
    json_lines_progress(p->lines,
                        &(struct json_progress){.name = v->name,
                                                .elapsed_s = (double)(now_ns - p->first_ns) / 1e9,
                                                .done_bytes = v->moved_bytes,
                                                .total_bytes = v->all_bytes,
                                                .rate_Bps = p->rate_Bps,
                                                .repeats = v->repeats,
                                                .limit = v->limit});
}

void progress_clear(struct progress *p)
{
    if (p->on)
        say_bar("");
}
