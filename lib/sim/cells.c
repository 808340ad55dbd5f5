/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/cells.h"

#include "base/bytes.h"
#include "base/check.h"
#include "base/clock.h"

void cells_init(struct cells *c, const struct cells_config *cfg)
{
    CHECK(cfg->hz > 0 && cfg->rate_Bps > 0);
    *c = (struct cells){.cfg = *cfg, .when = cfg->start};
}

uint64_t cells_next(const struct cells *c)
{
    return c->cfg.count != 0 && c->sent == c->cfg.count ? TIME_NEVER : c->when;
}

static void cell_sent(struct cells *c)
{
    uint64_t sum = c->fraction + CELLS_BYTES * c->cfg.hz;

    c->sent++;
    c->when += sum / c->cfg.rate_Bps;
    c->fraction = sum % c->cfg.rate_Bps;
}

uint16_t cells_tx(struct cells *c, struct rte_mbuf **m, uint16_t max, uint64_t now)
{
    uint16_t n = 0;

    while (n < max && cells_next(c) <= now) {
        struct rte_mbuf *cell = rte_pktmbuf_alloc(c->cfg.pool);
        uint8_t *p = cell != NULL ? (uint8_t *)rte_pktmbuf_append(cell, CELLS_BYTES) : NULL;

        if (p != NULL) {
            bytes_put_u64(p, c->sent);
            m[n++] = cell;
        } else {
            c->no_mbuf++;
            rte_pktmbuf_free(cell);
        }
        cell_sent(c);
    }
    return n;
}

static void cell_lost(struct cells_count *k, uint64_t number)
{
    uint64_t gap = number - k->last_lost;

    if (k->lost > 0) {
        k->gap_min = k->gaps == 0 || gap < k->gap_min ? gap : k->gap_min;
        k->gap_max = gap > k->gap_max ? gap : k->gap_max;
        k->gaps++;
        k->gap_sum += gap;
        k->gap_squares += gap * gap;
    }
    k->lost++;
    k->last_lost = number;
}

void cells_end(struct cells_count *k, uint64_t sent)
{
    while (k->expected < sent)
        cell_lost(k, k->expected++);
}

void cells_rx(struct cells_count *k, struct rte_mbuf **m, uint16_t n)
{
    for (uint16_t i = 0; i < n; i++) {
        uint64_t number = bytes_get_u64(rte_pktmbuf_mtod(m[i], const uint8_t *));

        if (number < k->expected)
            continue;
        cells_end(k, number);
        k->expected = number + 1;
        k->received++;
    }
    rte_pktmbuf_free_bulk(m, n);
}
