/* SPDX-License-Identifier: BSD-3-Clause */
/* The example of doc/pacing.md, as a program: example [EAL arguments] -- SECONDS */
#include <stdio.h>
#include <stdlib.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>

#include "pace/pacer.h"

/* Any number below 1000 that tells flows apart; here the last byte of the destination address. */
static uint32_t flow_of(const struct rte_mbuf *m)
{
    return *rte_pktmbuf_mtod_offset(m, const uint8_t *, 5);
}

/* Packets from port 0 leave by port 1, each flow at 1 Mbit/s. Returns the number sent. */
static uint64_t forward(uint64_t end_tsc)
{
    struct pacer_config cfg = {.flows = 1000, .lines = 4096, .hz = rte_get_tsc_hz()};
    void *storage = rte_malloc("pacer", pacer_storage_bytes(&cfg), 64);
    struct pacer *p = pacer_init(storage, &cfg, rte_rdtsc());
    struct rte_mbuf *m[32];
    uint64_t sent = 0;
    uint32_t n, i;

    for (i = 0; i < cfg.flows; i++)
        pacer_flow_set(p, i, 125000 /* B/s */, 1514 /* B */, rte_rdtsc());
    while (rte_rdtsc() < end_tsc) {
        n = rte_eth_rx_burst(0, 0, m, 32);
        for (i = 0; i < n; i++)
            if (!pacer_push(p, flow_of(m[i]), m[i], m[i]->pkt_len, rte_rdtsc()))
                rte_pktmbuf_free(m[i]); /* the queue is full */
        n = pacer_poll(p, rte_rdtsc(), (void **)m, 32);
        i = rte_eth_tx_burst(1, 0, m, (uint16_t)n);
        sent += i;
        rte_pktmbuf_free_bulk(m + i, n - i);
    }
    for (i = 0; i < cfg.flows; i++)
        while ((n = pacer_drain(p, i, (void **)m, 32)) > 0)
            rte_pktmbuf_free_bulk(m, n);
    rte_free(storage);
    return sent;
}

int main(int argc, char **argv)
{
    int used = rte_eal_init(argc, argv);
    double seconds = used > 0 && used + 1 < argc ? atof(argv[used + 1]) : 1;
    struct rte_mempool *pool = rte_pktmbuf_pool_create("packets", 16383, 0, 0, 2176, SOCKET_ID_ANY);

    for (uint16_t i = 0; i < 2; i++) {
        struct rte_eth_conf conf = {0};

        if (used < 0 || pool == NULL || rte_eth_dev_configure(i, 1, 1, &conf) != 0 ||
            rte_eth_rx_queue_setup(i, 0, 512, SOCKET_ID_ANY, NULL, pool) != 0 ||
            rte_eth_tx_queue_setup(i, 0, 512, SOCKET_ID_ANY, NULL) != 0 ||
            rte_eth_dev_start(i) != 0) {
            fprintf(stderr, "example: two ports and memory are needed, see doc/pacing.md\n");
            return 1;
        }
    }
    printf("%lu packets, %u left\n",
           (unsigned long)forward(rte_rdtsc() + (uint64_t)(seconds * (double)rte_get_tsc_hz())),
           rte_mempool_in_use_count(pool));
    return 0;
}
