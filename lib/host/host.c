/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/host.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_jhash.h>
#include <rte_malloc.h>

#include "base/check.h"
#include "host/host_internal.h"

#define ASK_NEIGHBOR_NS    200000000ull
#define TIMER_TICKS_PER_S  1000000ull
#define LEAD_MAX_NS        1000000u
#define KEY_INDEX_BITS_MIN 1u /* so that no shift is by all 64 bits */

void list_push(struct host *h, struct conn_list *l, struct conn *c, struct conn_link *link)
{
    if (link->queued)
        return;
    size_t offset = (size_t)((char *)link - (char *)c);

    link->queued = true;
    link->next = NONE;
    if (l->head == NONE) {
        l->head = c->index;
    } else {
        struct conn_link *last = (struct conn_link *)((char *)&h->conns[l->tail] + offset);

        last->next = c->index;
    }
    l->tail = c->index;
}

struct conn *list_pop(struct host *h, struct conn_list *l, size_t link_offset)
{
    if (l->head == NONE)
        return NULL;
    struct conn *c = &h->conns[l->head];
    struct conn_link *link = (struct conn_link *)((char *)c + link_offset);

    l->head = link->next;
    link->queued = false;
    return c;
}

/* log2 of the cycles per tick, for about ticks_per_s ticks a second, and fewer than twice that. */
static uint32_t tick_shift(uint64_t hz, uint64_t ticks_per_s)
{
    uint32_t shift = 0;

    while (hz >> (shift + 1) >= ticks_per_s)
        shift++;
    return shift;
}

static const char *config_fault(const struct host_config *cfg)
{
    if (cfg->conns == 0 || cfg->conns > 1u << 20)
        return "connections must be 1 to 1048576";
    if (cfg->depth == 0 || (cfg->depth & (cfg->depth - 1)) != 0 || cfg->depth > 65536)
        return "depth must be a power of two up to 65536";
    if (cfg->gaps < 2)
        return "gaps must be at least 2";
    _Static_assert(sizeof cfg->mtu == 2 && WIRE_MTU_MAX == UINT16_MAX, "mtu may be too large");
    if (cfg->mtu < WIRE_MTU_MIN)
        return "mtu must be 576 to 65535 bytes";
    if (addr_is_unset(&cfg->address[0]) && addr_is_unset(&cfg->address[1]))
        return "a host needs an address: set address or address6";
    if (cfg->workers == 0 || cfg->workers > HOST_WORKERS_MAX || cfg->worker >= cfg->workers)
        return "workers must be 1 to 32";
    if (cfg->hz == 0 || cfg->silence_ms == 0 || cfg->repeat_us == 0 || cfg->udp_port == 0)
        return "hz, silence, repeat and udp_port must not be 0";
    if (cfg->source_first > cfg->source_last)
        return "source_first must not be beyond source_last";
    if (cfg->fixed_count > HOST_FIXED_MAX)
        return "at most 8 neighbours may be fixed";
    if (cfg->head_pool == NULL || (cfg->tx_attach ? cfg->attach_pool : cfg->copy_pool) == NULL)
        return "mbuf pools are missing";
    if (cfg->security != HOST_SECURITY_NONE &&
        (cfg->copy_pool == NULL || cfg->secured_max == 0 || cfg->secured_max > ASSOC_PEERS_MAX))
        return "security needs a pool for copies, and 1 to 1024 peers with keys";
    if (cfg->tx_lead_ns > LEAD_MAX_NS || (cfg->tx_lead_ns > 0 && cfg->tx_time_flag == 0))
        return "tx_lead must be at most 1 ms, with a flag for timestamps";
    if (cfg->occupancy != HOST_OCCUPANCY_OFF && !occupancy_law_right(&cfg->occupancy_law))
        return "occupancy_law must be a law: control/occupancy.h";
    return NULL;
}

static int storage_create(struct host *h)
{
    const struct host_config *cfg = &h->cfg;
    size_t n = cfg->conns;
    char name[RTE_HASH_NAMESIZE];
    struct rte_hash_parameters params = {
        .name = name,
        .entries = cfg->conns < 8 ? 16 : cfg->conns * 2,
        .key_len = sizeof(struct conn_early_key),
        .hash_func = rte_jhash,
        .hash_func_init_val = (uint32_t)cfg->secrets.table,
        .socket_id = SOCKET_ID_ANY,
    };

    snprintf(name, sizeof name, "early%llx", (unsigned long long)(uintptr_t)h);
    h->conns = rte_zmalloc("conns", n * sizeof *h->conns, 64);
    h->timers = rte_malloc("timers", wheel_storage_bytes(cfg->conns), 64);
    h->pacing = rte_malloc("pacing", wheel_storage_bytes(cfg->conns), 64);
    h->requests = rte_zmalloc("requests", n * cfg->depth * sizeof *h->requests, 64);
    h->buffers = rte_zmalloc("buffers", n * cfg->depth * sizeof *h->buffers, 64);
    h->spans = rte_zmalloc("spans", 2 * n * cfg->gaps * sizeof *h->spans, 64);
    h->pages = rte_zmalloc("pages", 2 * n * cfg->gaps * sizeof *h->pages, 64);
    h->grants = rte_zmalloc("grants", n * sizeof *h->grants, 64);
    h->conns_bits = rte_zmalloc("conns", (n + 63) / 64 * sizeof *h->conns_bits, 64);
    h->grants_dirty = rte_zmalloc("grants", (n + 63) / 64 * sizeof *h->grants_dirty, 64);
    h->grants_words = rte_zmalloc("grants", (n + 4095) / 4096 * sizeof *h->grants_words, 64);
    h->newcomers.conns = rte_zmalloc("newcomers", n * sizeof *h->newcomers.conns, 64);
    h->early = rte_hash_create(&params);
    if (h->conns == NULL || h->timers == NULL || h->pacing == NULL || h->requests == NULL ||
        h->buffers == NULL || h->spans == NULL || h->pages == NULL || h->grants == NULL ||
        h->conns_bits == NULL || h->grants_dirty == NULL || h->grants_words == NULL ||
        h->newcomers.conns == NULL || h->early == NULL)
        return -ENOMEM;
    return security_create(h);
}

static void storage_destroy(struct host *h)
{
    security_destroy(h);
    rte_hash_free(h->early);
    rte_free(h->newcomers.conns);
    rte_free(h->grants_words);
    rte_free(h->grants_dirty);
    rte_free(h->conns_bits);
    rte_free(h->grants);
    rte_free(h->pages);
    rte_free(h->spans);
    rte_free(h->buffers);
    rte_free(h->requests);
    rte_free(h->pacing);
    rte_free(h->timers);
    rte_free(h->conns);
    rte_free(h);
}

/* The longest time between questions about a neighbour. It differs by host, so that hosts whose
 * questions got lost together do not ask again together. */
static uint64_t ask_neighbor_ns(const struct host *h)
{
    uint64_t word = h->cfg.worker;

    return ASK_NEIGHBOR_NS + secret_hash(&h->cookies, &word, 1) % ASK_NEIGHBOR_NS;
}

/* How many bits hold the numbers 0 .. n - 1. */
static uint32_t bits_of(uint32_t n)
{
    return n > 1 ? 32 - (uint32_t)__builtin_clz(n - 1) : 0;
}

/* How a key is made up: table.c. */
static void key_layout(struct host *h)
{
    h->key_index_bits = RTE_MAX(bits_of(h->cfg.conns), KEY_INDEX_BITS_MIN);
    h->key_random_bits = 64 - h->key_index_bits - bits_of(h->cfg.workers);
}

uint64_t host_memory_bytes(const struct host_config *cfg)
{
    const struct host *h = NULL;
    uint64_t request = sizeof *h->requests + sizeof *h->buffers;
    uint64_t gap = 2 * sizeof *h->spans + 2 * sizeof *h->pages;

    uint64_t secured = cfg->security != HOST_SECURITY_NONE
                           ? assoc_slots(cfg->secured_max) * sizeof *h->table.entries
                           : 0;

    return sizeof *h + secured + 2 * wheel_storage_bytes(cfg->conns) +
           cfg->conns * (sizeof *h->conns + cfg->depth * request + cfg->gaps * gap);
}

struct host *host_create(const struct host_config *cfg, uint64_t now, char *err, size_t err_len)
{
    const char *fault = config_fault(cfg);
    struct contract_config limits = pacing_limits(cfg);
    struct contract contract;
    char why[256];

    if (fault == NULL && limits.pcr_Bps != 0 &&
        contract_init(&contract, &limits, cfg->hz, now, why, sizeof why) != 0)
        fault = why;
    if (fault != NULL) {
        snprintf(err, err_len, "%s: %s", cfg->name, fault);
        return NULL;
    }
    struct host *h = rte_zmalloc("host", sizeof *h, 64);

    if (h == NULL) {
        snprintf(err, err_len, "%s: no memory for a host; give EAL more (-m)", cfg->name);
        return NULL;
    }
    h->cfg = *cfg;
    h->clock.hz = cfg->hz;
    host_clock(h, now);
    if (storage_create(h) != 0) {
        snprintf(err, err_len,
                 "%s: no memory for %u connections of depth %u; lower connections or depth, or "
                 "give EAL more (-m)",
                 cfg->name, cfg->conns, cfg->depth);
        storage_destroy(h);
        return NULL;
    }
    key_layout(h);
    secret_init(&h->random, cfg->secrets.keys[0], cfg->secrets.keys[1]);
    secret_init(&h->cookies, cfg->secrets.cookies[0], cfg->secrets.cookies[1]);
    if (cfg->source_first != 0) /* a random start: no stranger knows it, and a restart changes it */
        h->source_next =
            (uint32_t)(secret_u64(&h->random) % (cfg->source_last - cfg->source_first + 1u));
    neighbor_init(&h->neighbors, clock_cycles(&h->clock, ask_neighbor_ns(h)));
    for (uint32_t i = 0; i < cfg->fixed_count; i++)
        neighbor_fix(&h->neighbors, &cfg->fixed[i].addr, &cfg->fixed[i].mac, now);
    reply_init(h);
    claim_init(h);
    wheel_init(h->timers, cfg->conns, tick_shift(cfg->hz, TIMER_TICKS_PER_S), now);
    wheel_init(h->pacing, cfg->conns, 0, now);
    h->control_stall_tsc = clock_cycles(&h->clock, HOST_CONTROL_INTERVALS * cfg->control_ns);
    h->trace_pause_tsc = clock_cycles(&h->clock, TRACE_PAUSE_NS);
    h->tx_lead_tsc = clock_cycles(&h->clock, cfg->tx_lead_ns);
    h->unknown_rtt_tsc = clock_cycles(&h->clock, HOST_UNKNOWN_RTT_NS);
    h->silence_step_tsc =
        clock_cycles(&h->clock, cfg->silence_ms * 1000000ull / CONN_SILENCE_STEPS);
    h->free_list.head = h->cntl_list.head = h->data_list.head = h->done_list.head =
        h->linger_list.head = NONE;
    moderation_init(&h->moderation, &h->clock);
    for (uint32_t i = 0; i < cfg->conns; i++) {
        h->conns[i].index = i;
        list_push(h, &h->free_list, &h->conns[i], &h->conns[i].done_link);
    }
    /* these apply until control has run */
    h->start.idle_Bps = cfg->capacity_Bps != 0 ? cfg->capacity_Bps : cfg->first_rate_Bps;
    h->start.idle_burst_bytes = cfg->burst_bytes != 0 ? cfg->burst_bytes : cfg->first_burst_bytes;
    return h;
}

void host_destroy(struct host *h)
{
    if (h == NULL)
        return;
    reply_drop(h);
    rte_pktmbuf_free_bulk(h->foreign, h->foreign_count);
    rte_pktmbuf_free_bulk(h->exceptions, h->exception_count);
    for (uint32_t i = 0; i < h->cfg.conns; i++)
        CHECK(h->conns[i].state == HOST_FREE || vt_sender_idle(&h->conns[i].tx));
    storage_destroy(h);
}

const struct trace *host_trace(const struct host *h)
{
    return &h->trace;
}

const struct host_config *host_get_config(const struct host *h)
{
    return &h->cfg;
}

uint64_t host_next(const struct host *h, uint64_t now)
{
    if (reply_waits(h) || h->cntl_list.head != NONE || h->data_list.head != NONE ||
        __atomic_load_n(&h->grants_any, __ATOMIC_RELAXED) != 0 || host_waits_for_worker(h))
        return now;
    uint64_t paced = wheel_next(h->pacing);
    uint64_t next =
        time_min(wheel_next(h->timers),
                 paced > h->tx_lead_tsc && paced != TIME_NEVER ? paced - h->tx_lead_tsc : paced);

    next = time_min(next, time_min(neighbor_next(&h->neighbors), claim_next(h)));
    return time_before(next, now) ? now : next;
}

void host_moderation(struct host *h, uint64_t now, struct moderation_nap *nap)
{
    moderation_take(&h->moderation, &h->clock, now, nap);
}

void host_forbid_naps(struct host *h)
{
    moderation_forbid(&h->moderation);
}

uint16_t host_foreign(struct host *h, struct rte_mbuf **m, uint8_t *worker, uint16_t max)
{
    uint16_t n = (uint16_t)RTE_MIN((uint32_t)max, h->foreign_count);

    memcpy(m, h->foreign, n * sizeof *m);
    memcpy(worker, h->foreign_worker, n);
    h->foreign_count -= n;
    if (n > 0)
        moderation_forbid(&h->moderation);
    memmove(h->foreign, h->foreign + n, h->foreign_count * sizeof *m);
    memmove(h->foreign_worker, h->foreign_worker + n, h->foreign_count);
    return n;
}

uint16_t host_exceptions(struct host *h, struct rte_mbuf **m, uint16_t max)
{
    uint16_t n = (uint16_t)RTE_MIN((uint32_t)max, h->exception_count);

    memcpy(m, h->exceptions, n * sizeof *m);
    h->exception_count -= n;
    if (n > 0)
        moderation_forbid(&h->moderation);
    memmove(h->exceptions, h->exceptions + n, h->exception_count * sizeof *m);
    return n;
}
