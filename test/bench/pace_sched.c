/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rte_sched: one pipe per flow, one profile per rate.
 *
 * It needs this to do well:
 * - only best effort: the other queues have no room, and this one holds as many packets as a flow
 *   has
 * - token buckets of two frames, half of which it fills at the start: with a bucket of one frame, a
 *   flow whose turn comes late would lose tokens
 * - rates of traffic classes that never bind: their period is longer than any run
 * - a port rate above the sum: it counts time in bytes of the port, and each packet sent advances
 *   that time; and a port rate that 1/256 cycles per byte can express exactly
 * - no overhead of frames: the load counts frames only
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_sched.h>

#include "pace_flow.h"

#define PORT_SHARE   1.5    /* port rate over the sum of rates */
#define PORT_MIN     1.05   /* the same where pipes would become too slow, at least */
#define PIPE_MIN     2e-7   /* slowest pipe, as a share of the port's rate */
#define SLOW_PIPES   1e-4   /* share of the port's rate, of which rte_sched resolves about 1e-7 */
#define BYTES_MAX    16     /* that a token bucket gets at a time, at most */
#define TC_PERIOD_MS 100000 /* longer than a run */

struct sched {
    struct rte_sched_port *port;
    const struct pace_load *load;
    uint64_t port_rate_Bps;
    struct rte_sched_subport_profile_params subport;
    struct rte_sched_port_params params;
    size_t bytes;
};

/* rte_sched takes (hz << 8) / rate, rounded down, for its cycles per byte: here that is exact. */
static uint64_t port_rate(const struct pace_load *load)
{
    double sum_Bps = pace_load_pps(load) * load->frame_bytes;
    double max_Bps = (double)load->rate_Bps[0] / PIPE_MIN;
    double rate_Bps = fmax(fmin(PORT_SHARE * sum_Bps, max_Bps), PORT_MIN * sum_Bps);
    uint64_t step = (uint64_t)(256.0 * (double)load->hz / rate_Bps);

    return (load->hz << 8) / RTE_MAX(step, 1u);
}

/*
 * rte_sched makes a pipe's rate a fraction of the port's: p bytes in every q. rte_approx_64() finds
 * the fraction with the smallest q within 1e-7. A large p would overflow the token bucket, so this
 * asks for a rate with a small p. For slow pipes the fraction is the upper end of that range.
 */
static uint64_t pipe_rate(const struct sched *s, uint64_t rate_Bps)
{
    double share = (double)rate_Bps / (double)s->port_rate_Bps, best = 1, asked = share;
    double reach = 1e-7, whole = 1;

    while (reach < 1) {
        reach *= 10;
        whole *= 10;
    }
    reach = floor(reach);
    if (share < SLOW_PIPES)
        asked = (RTE_MAX(round(share * whole) - reach, reach + 1) + 0.5) / whole;
    for (int p = 1; p <= BYTES_MAX && share >= SLOW_PIPES; p++) {
        double fraction = p / round(p / share), error = fabs(fraction / share - 1);

        if (error < best / 2) {
            best = error;
            asked = fraction;
        }
    }
    return (uint64_t)ceil(asked * (double)s->port_rate_Bps);
}

static bool port_create(struct sched *s)
{
    s->subport = (struct rte_sched_subport_profile_params){
        .tb_rate = s->port_rate_Bps, .tb_size = 1000000, .tc_period = TC_PERIOD_MS};
    for (uint32_t i = 0; i < RTE_SCHED_TRAFFIC_CLASSES_PER_PIPE; i++)
        s->subport.tc_rate[i] = s->port_rate_Bps;
    s->params =
        (struct rte_sched_port_params){.name = "pace",
                                       .rate = s->port_rate_Bps,
                                       .mtu = 1522,
                                       .n_subports_per_port = 1,
                                       .subport_profiles = &s->subport,
                                       .n_subport_profiles = 1,
                                       .n_max_subport_profiles = 1,
                                       .n_pipes_per_subport = rte_align32pow2(s->load->flows)};
    s->port = rte_sched_port_config(&s->params);
    return s->port != NULL;
}

static bool pipes_create(struct sched *s)
{
    struct rte_sched_pipe_params profiles[PACE_CLASSES] = {0};
    struct rte_sched_subport_params params = {.n_pipes_per_subport_enabled =
                                                  rte_align32pow2(s->load->flows),
                                              .pipe_profiles = profiles,
                                              .n_pipe_profiles = PACE_CLASSES,
                                              .n_max_pipe_profiles = PACE_CLASSES};
    struct rte_sched_subport_params *subports[] = {&params};

    params.qsize[RTE_SCHED_TRAFFIC_CLASS_BE] = PACE_BACKLOG;
    for (uint32_t i = 0; i < PACE_CLASSES; i++) {
        /* a class without flows may be too fast for the port */
        uint32_t class = s->load->in_class[i] > 0 ? i : 0;
        uint64_t rate_Bps = pipe_rate(s, s->load->rate_Bps[class]);

        profiles[i].tb_rate = rate_Bps;
        profiles[i].tb_size = 2 * s->load->frame_bytes;
        profiles[i].tc_rate[RTE_SCHED_TRAFFIC_CLASS_BE] = rate_Bps;
        profiles[i].tc_period = TC_PERIOD_MS;
        profiles[i].tc_ov_weight = 1;
        memset(profiles[i].wrr_weights, 1, sizeof profiles[i].wrr_weights);
    }
    if (rte_sched_subport_config(s->port, 0, &params, 0) != 0) {
        s->port = NULL; /* rte_sched has freed all of it */
        return false;
    }
    s->bytes = rte_sched_port_get_memory_footprint(&s->params, subports);
    for (uint32_t i = 0; i < s->load->flows; i++)
        if (rte_sched_pipe_config(s->port, 0, i, s->load->class_of[i]) != 0) {
            s->port = NULL;
            return false;
        }
    return true;
}

static void destroy(void *engine)
{
    struct sched *s = engine;

    if (s == NULL)
        return;
    /* rte_sched frees the packets that it holds, but they belong to the load */
    for (uint64_t i = 0; i < (uint64_t)s->load->flows * PACE_BACKLOG; i++)
        rte_mbuf_refcnt_set(s->load->packets[i], 2);
    rte_sched_port_free(s->port);
    for (uint64_t i = 0; i < (uint64_t)s->load->flows * PACE_BACKLOG; i++)
        rte_mbuf_refcnt_set(s->load->packets[i], 1);
    rte_free(s);
}

static void *create(const struct pace_load *load)
{
    struct sched *s = pace_memory(sizeof *s);

    if (s == NULL)
        return NULL;
    s->load = load;
    s->port_rate_Bps = port_rate(load);
    if (!port_create(s) || !pipes_create(s)) {
        fprintf(stderr, "pace_compare: rte_sched does not take %u pipes\n", load->flows);
        destroy(s);
        return NULL;
    }
    return s;
}

static void mark(void *engine, struct rte_mbuf *packet, uint32_t flow)
{
    struct sched *s = engine;

    rte_sched_port_pkt_write(s->port, packet, 0, flow, RTE_SCHED_TRAFFIC_CLASS_BE, 0,
                             RTE_COLOR_GREEN);
}

static uint32_t flow_of(const struct rte_mbuf *packet)
{
    return packet->hash.sched.queue_id / RTE_SCHED_QUEUES_PER_PIPE;
}

static uint32_t pull(void *engine, uint64_t now, struct rte_mbuf **packets, uint32_t max)
{
    struct sched *s = engine;

    (void)now;
    return (uint32_t)rte_sched_port_dequeue(s->port, packets, max);
}

static void push(void *engine, struct rte_mbuf **packets, uint32_t n, uint64_t now)
{
    struct sched *s = engine;

    (void)now;
    rte_sched_port_enqueue(s->port, packets, n);
}

static size_t footprint_bytes(const void *engine)
{
    const struct sched *s = engine;

    return s->bytes;
}

const struct pace_engine pace_sched = {.name = "rte_sched",
                                       .real_clock = true,
                                       .create = create,
                                       .destroy = destroy,
                                       .mark = mark,
                                       .flow_of = flow_of,
                                       .push = push,
                                       .pull = pull,
                                       .footprint_bytes = footprint_bytes};
