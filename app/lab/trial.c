/* SPDX-License-Identifier: BSD-3-Clause */
/* See trial.h. Time in ns. */
#include "lab/trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/histogram.h"
#include "lab/copies.h"
#include "path/path.h"
#include "sim/wire.h"
#include "sim/world.h"
#include "wire/frame.h"

#define BURST       32u
#define FRAME_MIN   60u
#define FRAME_MAX   16384u
#define SENT_MAX    (1u << 30)
#define SPORT_FIRST 10000u
#define DPORT       9u /* discard */

struct trial {
    double rate_fps;
    uint64_t for_ns, linger_ns;
    uint32_t frame_bytes, flows;
    uint64_t service_Bps;
    uint32_t ring;
    struct frame_route route;
    struct scenario_pools *pools;
    struct path *path;
    struct world *host; /* NULL: what leaves the path has been received */
    uint64_t now;
    uint64_t sent, received, duplicates, reordered, short_of;
    uint64_t next; /* number of the last frame received in order, plus 1 */
    uint8_t *seen; /* a bit for each frame sent */
    struct histogram delay;
};

/* When frame i is sent. */
static uint64_t when(const struct trial *d, uint64_t i)
{
    return (uint64_t)((long double)i * CLOCK_NS_PER_S / (long double)d->rate_fps);
}

/* ---- frames ---------------------------------------------------------------------------------- */

static struct rte_mbuf *frame_make(struct trial *d, uint64_t number)
{
    struct rte_mbuf *m = rte_pktmbuf_alloc(d->pools->wire);
    uint16_t head;
    char *bytes;

    if (m == NULL)
        return NULL;
    bytes = rte_pktmbuf_append(m, (uint16_t)d->frame_bytes);
    CHECK(bytes != NULL);
    d->route.sport = (uint16_t)(SPORT_FIRST + number % d->flows);
    head = frame_put((uint8_t *)bytes, &d->route, d->frame_bytes - frame_header_len(&d->route));
    memcpy(bytes + head, &number, sizeof number);
    return m;
}

/* Counts a frame that has left the device. */
static void frame_took(struct trial *d, const struct rte_mbuf *m, uint64_t now)
{
    uint64_t number;

    memcpy(&number, rte_pktmbuf_mtod_offset(m, char *, frame_header_len(&d->route)), sizeof number);
    if (number >= d->sent) /* the device has changed its bytes */
        return;
    if (!copies_first(d->seen, number)) {
        d->duplicates++;
        return;
    }
    d->received++;
    d->reordered += number < d->next;
    d->next = number >= d->next ? number + 1 : d->next;
    histogram_add(&d->delay, now - when(d, number));
}

/* ---- the device ------------------------------------------------------------------------------ */

static void host_took(void *ctx, uint32_t i, struct rte_mbuf *const *m, uint16_t n, uint64_t now)
{
    for (uint16_t k = 0; k < n; k++)
        frame_took(ctx, m[k], now);
    (void)i;
}

/* The device runs until `until`. The path is polled whenever a frame is due to leave it. */
static void device_run(struct trial *d, uint64_t until)
{
    struct rte_mbuf *m[BURST];

    for (uint64_t next; (next = path_next(d->path)) <= until;) {
        d->now = next > d->now ? next : d->now;
        uint16_t n = path_pop(d->path, m, BURST, d->now);

        if (d->host != NULL)
            world_run(d->host, d->now);
        for (uint16_t k = 0; k < n; k++) {
            if (d->host != NULL) {
                world_inject(d->host, 0, m[k]);
                continue;
            }
            frame_took(d, m[k], d->now);
            rte_pktmbuf_free(m[k]);
        }
    }
    d->now = until;
    if (d->host != NULL)
        world_run(d->host, until);
}

static void host_make(struct trial *d, uint64_t seed, char *err, size_t err_len)
{
    struct world_config world = {.frames_max = d->pools->frames,
                                 .pool = d->pools->wire,
                                 .poll_ns = 1, /* the service speed alone limits the host */
                                 .rx = host_took,
                                 .ctx = d};
    struct world_port port = {.ring = d->ring, .service_Bps = d->service_Bps, .seed = seed};
    struct host_config h = {
        .name = "device",
        .mac = d->route.dst_mac,
        .address = {d->route.dst},
        .prefix_len = {16},
        .vlan = FRAME_VLAN_NONE,
        .udp_port = WIRE_UDP_PORT,
        .mtu = 1500,
        .workers = 1,
        .secrets = world_secrets(seed, 0),
        .conns = 1,
        .depth = 1,
        .gaps = 1024,
        .first_rate_Bps = 12500000,
        .first_burst_bytes = 20000,
        .early = 4,
        .repeat_us = 2000,
        .silence_ms = 10000,
        .head_pool = d->pools->head,
        .attach_pool = d->pools->attach,
        .copy_pool = d->pools->wire,
        .tx_attach = true,
    };

    d->host = world_create(&world);
    world_add(d->host, &h, &port, err, err_len);
}

/* ---- the trial ------------------------------------------------------------------------------- */

static void trial_read(struct trial *d, struct text *t, const char *section)
{
    text_reals(t, section, "rate", NULL, &d->rate_fps, 1);
    d->for_ns = text_time(t, section, "for", "1s");
    d->linger_ns = text_time(t, section, "linger", "2s");
    d->frame_bytes = (uint32_t)text_number(t, section, "frame", "60", FRAME_MIN, FRAME_MAX);
    d->flows = (uint32_t)text_number(t, section, "flows", "1", 1, 50000);
    d->service_Bps = text_rate(t, section, "service", "0");
    d->ring = (uint32_t)text_number(t, section, "ring", "512", 1, 65536);
    if (!(d->rate_fps > 0 && d->rate_fps <= CLOCK_NS_PER_S))
        text_wrong(t, section, "rate",
                   "a trial has a rate above 0, and up to 1e9 frames a second; write for example "
                   "148809.5");
    else if (d->for_ns == 0 || d->rate_fps * (double)d->for_ns / CLOCK_NS_PER_S > (double)SENT_MAX)
        text_wrong(t, section, "for",
                   "a trial sends 1 to %u frames; choose another time, or another rate", SENT_MAX);
}

static void trial_play(struct trial *d)
{
    uint64_t at;

    for (; (at = when(d, d->sent)) < d->for_ns; d->sent++) {
        device_run(d, at);
        struct rte_mbuf *m = frame_make(d, d->sent);

        if (m == NULL)
            d->short_of++;
        else
            path_push(d->path, &m, 1, d->now);
    }
    device_run(d, d->for_ns + d->linger_ns);
}

static void trial_tell(const struct trial *d, struct result *r)
{
    static const struct {
        const char *name;
        uint64_t parts, whole;
    } quantiles[] = {{"delay_median", 1, 2},
                     {"delay_p90", 9, 10},
                     {"delay_p99", 99, 100},
                     {"delay_p999", 999, 1000}};
    double none = d->received > 0 ? 0 : NAN;

    result_value(r, (double)d->sent, "frames", "sent");
    result_value(r, (double)d->received, "frames", "received");
    result_value(r, (double)d->duplicates, "frames", "duplicates");
    result_value(r, (double)d->reordered, "frames", "reordered");
    result_value(r, none + (double)histogram_min(&d->delay) / 1e9, "s", "delay_min");
    for (uint32_t i = 0; i < RTE_DIM(quantiles); i++)
        result_value(
            r,
            none +
                (double)histogram_quantile(&d->delay, quantiles[i].parts, quantiles[i].whole) / 1e9,
            "s", "%s", quantiles[i].name);
    result_value(r, none + (double)d->delay.max / 1e9, "s", "delay_max");
}

/* Reports frames lost for want of our buffers: such a trial is not the one described. */
static void shortage_tell(const struct trial *d, struct text *t, const char *section)
{
    const struct path_counts *c = path_counts(d->path);
    uint64_t lost = d->short_of + c->drop_full + c->drop_no_mbuf +
                    (d->host != NULL ? world_counts(d->host)->overflowed : 0);

    if (lost != 0)
        text_wrong(t, section, "frames",
                   "%llu frames were lost, because more than %u were under way; raise it, shorten "
                   "delays and queues, or lower the rate",
                   (unsigned long long)lost, d->pools->frames);
}

static void device_make(struct trial *d, struct text *t, const char *section, uint64_t seed)
{
    struct path_config cfg = {CLOCK_NS_PER_S, seed, d->pools->frames, d->pools->wire, 0, 0};
    const char *spec = text_word(t, section, "path", "");
    char err[256] = "";

    d->route = (struct frame_route){.src_mac = {{2, 0, 0, 0, 0, 2}},
                                    .dst_mac = {{2, 0, 0, 0, 0, 1}},
                                    .vlan = FRAME_VLAN_NONE,
                                    .dport = DPORT};
    CHECK(addr_parse("10.0.0.2", &d->route.src) == 0 && addr_parse("10.0.0.1", &d->route.dst) == 0);
    d->path = path_create(spec, &cfg, 0, err, sizeof err);
    if (d->path == NULL)
        text_wrong(t, section, "path", "%s", err);
    else if (d->service_Bps != 0)
        host_make(d, seed, err, sizeof err);
    if (d->path != NULL && err[0] != '\0')
        text_wrong(t, section, "service", "%s", err);
    d->seen = calloc(1, (size_t)(d->rate_fps * (double)d->for_ns / CLOCK_NS_PER_S) / 8 + 2);
    if (d->seen == NULL)
        text_wrong(t, section, "for", "no memory for a bit of each frame; shorten it");
}

static void device_free(struct trial *d)
{
    if (d->host != NULL)
        world_destroy(d->host);
    if (d->path != NULL)
        path_destroy(d->path);
    free(d->seen);
}

static uint32_t frames_read(struct text *t, const char *section)
{
    return (uint32_t)text_number(t, section, "frames", "4000", 1, POOLS_FRAMES_MAX);
}

static uint32_t buffer_bytes_of(const struct trial *d, uint32_t frames)
{
    return pools_frame_bytes(frames, d->frame_bytes + POOLS_OVER_MTU);
}

struct scenario_memory trial_size(struct text *t, const char *section)
{
    struct trial d = {0};
    uint32_t frames = frames_read(t, section);

    trial_read(&d, t, section);
    /* the host's own, which has one connection, is less than what buffers beside those of frames
     * take */
    uint64_t used = pools_bytes(frames, buffer_bytes_of(&d, frames)) +
                    (d.service_Bps != 0 ? frames * sizeof(struct flight) : 0);
    const char *path = text_word(t, section, "path", "");

    return (struct scenario_memory){used, used + pools_path_bytes(path, frames)};
}

void trial_run(struct text *t, const char *section, uint64_t seed, struct scenario_pools *pools,
               struct result *r)
{
    struct trial d = {.pools = pools};
    uint32_t frames = frames_read(t, section);

    trial_read(&d, t, section);
    if (t->err[0] != '\0')
        return;
    if (!pools_want(pools, frames, buffer_bytes_of(&d, frames))) {
        text_wrong(t, section, "frames", "no memory for so many buffers; lower it");
        return;
    }
    device_make(&d, t, section, seed);
    if (text_right(t)) {
        trial_play(&d);
        trial_tell(&d, r);
        shortage_tell(&d, t, section);
    }
    device_free(&d);
}
