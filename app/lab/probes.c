/* SPDX-License-Identifier: BSD-3-Clause */
/* See probes.h. */
#include "lab/probes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "lab/copies.h"
#include "sim/segment.h"

void probes_read(struct probes *p, struct text *t, const char *section, const char *const *hosts,
                 uint32_t n_hosts, uint64_t until_ns)
{
    const char *names = text_word(t, section, "names", "first second");
    double length[2] = {0, 0};

    p->name = text_name(section);
    text_ends(t, section, hosts, n_hosts, &p->from, &p->to);
    p->every_ns = text_time(t, section, "every", "100ms");
    p->start_ns = text_time(t, section, "start", "0");
    p->until_ns = until_ns;
    p->reflect = text_yes(t, section, "reflect", "no");
    p->turn_ns = text_time(t, section, "turn", "0");
    if (text_reals(t, section, "lengths", "46 68", length, 2) == 1)
        length[1] = length[0];
    if (sscanf(names, "%23s %23s", p->of[0].name, p->of[1].name) != 2 ||
        strcmp(p->of[0].name, p->of[1].name) == 0)
        text_wrong(t, section, "names", "\"%.60s\" are not two names; write \"short long\"", names);
    else if (strlen(p->of[0].name) == sizeof p->of[0].name - 1 ||
             strlen(p->of[1].name) == sizeof p->of[1].name - 1)
        text_wrong(t, section, "names", "a name is above %zu bytes; shorten it",
                   sizeof p->of[0].name - 2);
    for (uint32_t k = 0; k < 2; k++) {
        if (!(length[k] >= SEGMENT_IP_BYTES && length[k] <= 9000))
            text_wrong(t, section, "lengths",
                       "a probe has %u to 9000 bytes, its IP header included; correct it",
                       SEGMENT_IP_BYTES);
        p->of[k].ip_len = (uint16_t)length[k];
        owd_init(&p->of[k].owd);
    }
    if (p->every_ns == 0)
        text_wrong(t, section, "every", "0 is no interval; write for example 100ms");
}

/* Whether this is the first copy of a frame; bits: those of the frames that came before. */
static bool is_first(const struct probes *p, uint8_t *bits, uint32_t number)
{
    return number < p->frames_max && copies_first(bits, number);
}

static void seen(void *ctx, uint32_t number, uint16_t ip_len, uint64_t cycles, uint64_t now)
{
    struct probes *p = ctx;
    struct probes_class *c = &p->of[number % 2];
    uint64_t sent = now - cycles;

    if (!is_first(p, p->seen, number))
        return;
    uint64_t increment = owd_increment(&c->owd, sent, now, p->until_ns);

    result_point(c->series, sent, (double)increment / 1e9);
    if (sent < p->from_ns)
        return;
    c->came++;
    histogram_add(&c->increment, increment);
    histogram_add(&c->delay, cycles);
    (void)ip_len;
}

static void came_back(void *ctx, uint32_t number, uint16_t ip_len, uint64_t cycles, uint64_t now)
{
    struct probes *p = ctx;

    if (is_first(p, p->back, number) && now - cycles >= p->from_ns)
        histogram_add(&p->round, cycles);
    (void)ip_len;
}

uint32_t probes_ip_len(const struct probes *p)
{
    return p->of[0].ip_len > p->of[1].ip_len ? p->of[0].ip_len : p->of[1].ip_len;
}

void probes_free(struct probes *p)
{
    free(p->seen);
    free(p->back);
}

bool probes_open(struct probes *p, const struct frame_route *there, const struct frame_route *back,
                 uint64_t hz, uint64_t from_ns, struct rte_mempool *pool, struct result *r)
{
    struct probe_config probe = {.route = *there, .hz = hz, .start = p->start_ns + 1000};
    struct mirror_config mirror = {.of = &p->probe, .pool = pool, .hook = {seen, p}};

    probe.interval_ns = p->every_ns;
    probe.ip_len[0] = p->of[0].ip_len;
    probe.ip_len[1] = p->of[1].ip_len;
    probe.pool = pool;
    probe.hook.seen = came_back;
    probe.hook.ctx = p;
    mirror.route = *back;
    mirror.reflect = p->reflect;
    mirror.turn_ns = p->turn_ns;
    p->from_ns = from_ns;
    probe_init(&p->probe, &probe);
    mirror_init(&p->mirror, &mirror);
    for (uint32_t k = 0; k < 2; k++)
        p->of[k].series = result_series(r, "s", "increment.%s.%s", p->name, p->of[k].name);
    p->frames_max = p->until_ns / p->every_ns + 1;
    p->seen = calloc(1, p->frames_max / 8 + 1);
    p->back = calloc(1, p->frames_max / 8 + 1);
    return p->seen != NULL && p->back != NULL;
}

/* Frames of class k sent while observed. */
static uint64_t sent_of(const struct probes *p, uint32_t k)
{
    uint64_t n = 0;

    for (uint32_t i = k; i < p->probe.sent; i += 2)
        n += probe_when(&p->probe, i) >= p->from_ns;
    return n;
}

void probes_tell(const struct probes *p, struct result *r)
{
    if (p->reflect)
        result_value(r, histogram_count(&p->round) > 0 ? histogram_average(&p->round) / 1e9 : NAN,
                     "s", "round_mean.%s", p->name);
    for (uint32_t k = 0; k < 2; k++) {
        const struct probes_class *c = &p->of[k];
        const struct histogram *h = &c->increment;
        double none = c->came > 0 ? 0 : NAN;

        result_value(r, none + (double)histogram_quantile(h, 1, 2) / 1e9, "s",
                     "increment_median.%s.%s", p->name, c->name);
        result_value(r, none + (double)h->max / 1e9, "s", "increment_max.%s.%s", p->name, c->name);
        result_value(r, none + (double)histogram_mean(h) / 1e9, "s", "increment_mean.%s.%s",
                     p->name, c->name);
        result_value(r, none + (double)histogram_mean(&c->delay) / 1e9, "s", "delay_mean.%s.%s",
                     p->name, c->name);
        /* frames still under way at the end count as lost, too */
        result_value(r, (double)(sent_of(p, k) - c->came), "packets", "probes_lost.%s.%s", p->name,
                     c->name);
    }
}
