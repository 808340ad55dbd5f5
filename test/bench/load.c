/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loads a forwarder: one lcore sends frames on the first port and drains the second one. It sends
 * as fast as it can, or at a rate.
 *
 * At a rate, it sends the frames one by one, evenly spaced.
 *
 * load [EAL]
 * Prints {"ready": true} when both links are up. Then each line of input is a window,
 *     BYTES SECONDS PPS WARMUP_SECONDS [FLOWS]
 * where BYTES are without CRC, PPS 0 is as fast as it can, and FLOWS (1) UDP ports send in turn,
 * and the answer is a line of JSON about SECONDS of it. The program ends with its input.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_ip.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_udp.h>

#define BURST 32u
#define DESC  1024u

#define HEAD_BYTES  (RTE_ETHER_HDR_LEN + sizeof(struct rte_ipv4_hdr) + sizeof(struct rte_udp_hdr))
#define SPORT_AT    (RTE_ETHER_HDR_LEN + sizeof(struct rte_ipv4_hdr))
#define SPORT_FIRST 10000u
#define FLOWS_MAX   50000u

struct load {
    struct rte_mempool *pool;
    uint8_t head[HEAD_BYTES];
    uint16_t frame_bytes;
    uint16_t flows, flow; /* how many; the next one */
    double pps;           /* 0: as fast as it can */
    uint64_t hz, sent, refused, drained, bytes;
};

static void die(const char *what)
{
    fprintf(stderr, "load: %s\n", what);
    exit(1);
}

static void port_open(uint16_t port, struct rte_mempool *pool)
{
    struct rte_eth_conf conf = {.rxmode = {.mq_mode = RTE_ETH_MQ_RX_NONE}};

    if (rte_eth_dev_configure(port, 1, 1, &conf) != 0 ||
        rte_eth_rx_queue_setup(port, 0, DESC, (unsigned int)SOCKET_ID_ANY, NULL, pool) != 0 ||
        rte_eth_tx_queue_setup(port, 0, DESC, (unsigned int)SOCKET_ID_ANY, NULL) != 0 ||
        rte_eth_dev_start(port) != 0)
        die("a port does not start");
}

static void link_wait(uint16_t port)
{
    struct rte_eth_link link;

    for (int i = 0; i < 3000; i++) {
        if (rte_eth_link_get_nowait(port, &link) == 0 && link.link_status == RTE_ETH_LINK_UP)
            return;
        usleep(10000);
    }
    die("a link stays down");
}

/* The headers of a window's frames: UDP from 10.0.0.2 to port 9 of 10.0.0.1. */
static void head_make(struct load *l)
{
    static const uint8_t ether[] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x08, 0x00};
    uint16_t ip_bytes = (uint16_t)(l->frame_bytes - RTE_ETHER_HDR_LEN);
    struct rte_ipv4_hdr ip = {.version_ihl = RTE_IPV4_VHL_DEF,
                              .total_length = rte_cpu_to_be_16(ip_bytes),
                              .time_to_live = 64,
                              .next_proto_id = IPPROTO_UDP,
                              .src_addr = RTE_BE32(RTE_IPV4(10, 0, 0, 2)),
                              .dst_addr = RTE_BE32(RTE_IPV4(10, 0, 0, 1))};
    struct rte_udp_hdr udp = {.dst_port = RTE_BE16(9),
                              .dgram_len = rte_cpu_to_be_16((uint16_t)(ip_bytes - sizeof ip))};

    ip.hdr_checksum = rte_ipv4_cksum(&ip);
    memcpy(l->head, ether, sizeof ether);
    memcpy(l->head + RTE_ETHER_HDR_LEN, &ip, sizeof ip);
    memcpy(l->head + SPORT_AT, &udp, sizeof udp);
    l->flow = 0;
}

static void frame_make(struct load *l, struct rte_mbuf *m)
{
    rte_be16_t sport = rte_cpu_to_be_16((uint16_t)(SPORT_FIRST + l->flow));

    l->flow = (uint16_t)(l->flow + 1 < l->flows ? l->flow + 1 : 0);
    m->data_len = l->frame_bytes;
    m->pkt_len = l->frame_bytes;
    memcpy(rte_pktmbuf_mtod(m, void *), l->head, HEAD_BYTES);
    memcpy(rte_pktmbuf_mtod_offset(m, void *, SPORT_AT), &sport, sizeof sport);
}

static void send_burst(struct load *l, uint16_t n)
{
    struct rte_mbuf *m[BURST];
    uint16_t sent;

    if (rte_pktmbuf_alloc_bulk(l->pool, m, n) != 0)
        return;
    for (uint16_t i = 0; i < n; i++)
        frame_make(l, m[i]);
    sent = rte_eth_tx_burst(0, 0, m, n);
    l->sent += sent;
    l->refused += n - sent;
    if (sent < n)
        rte_pktmbuf_free_bulk(m + sent, (unsigned int)(n - sent));
}

static void drain_burst(struct load *l)
{
    struct rte_mbuf *m[BURST];
    uint16_t n = rte_eth_rx_burst(1, 0, m, BURST);

    for (uint16_t i = 0; i < n; i++)
        l->bytes += m[i]->pkt_len;
    l->drained += n;
    rte_pktmbuf_free_bulk(m, n);
}

static void run(struct load *l, double seconds)
{
    uint64_t start = rte_rdtsc(), end = start + (uint64_t)(seconds * (double)l->hz), now;
    double apart = l->pps > 0 ? (double)l->hz / l->pps : 0;
    double due = (double)start;

    l->sent = l->refused = l->drained = l->bytes = 0;
    while ((now = rte_rdtsc()) < end) {
        if (l->pps == 0) {
            send_burst(l, BURST);
        } else if ((double)now >= due) {
            /* after more than 64 missed frames the core was away: they are not made up for */
            due = (double)now - due > 64 * apart ? (double)now : due + apart;
            send_burst(l, 1);
        }
        drain_burst(l);
        drain_burst(l);
    }
}

static double raw_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void window(struct load *l, double seconds, double warmup)
{
    double begin;

    if (warmup > 0)
        run(l, warmup);
    begin = raw_s();
    run(l, seconds);
    seconds = raw_s() - begin;
    printf("{\"bytes\": %u, \"seconds\": %.6f, \"sent\": %lu, \"refused\": %lu, \"drained\": %lu, "
           "\"sent_pps\": %.1f, \"drained_pps\": %.1f, \"drained_bps\": %.1f}\n",
           l->frame_bytes, seconds, l->sent, l->refused, l->drained, (double)l->sent / seconds,
           (double)l->drained / seconds, (double)l->bytes * 8 / seconds);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    struct load l = {0};
    char line[128];

    if (rte_eal_init(argc, argv) < 0)
        return 1;
    if (rte_eth_dev_count_avail() != 2)
        die("usage: load [EAL with two ports]; windows are lines of input");
    l.pool = rte_pktmbuf_pool_create("load", 16383, 256, 0, 2176, SOCKET_ID_ANY);
    if (l.pool == NULL)
        die("no memory");
    port_open(0, l.pool);
    port_open(1, l.pool);
    link_wait(0);
    link_wait(1);
    l.hz = rte_get_tsc_hz();
    puts("{\"ready\": true}");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin) != NULL) {
        double seconds, warmup;
        unsigned int bytes;

        l.flows = 1;
        if (sscanf(line, "%u %lf %lf %lf %hu", &bytes, &seconds, &l.pps, &warmup, &l.flows) < 4 ||
            bytes < 60 || bytes > 2048 || l.flows < 1 || l.flows > FLOWS_MAX)
            die("a window is a line: BYTES SECONDS PPS WARMUP_SECONDS [FLOWS], with 60 to 2048 "
                "bytes and 1 to 50000 flows");
        l.frame_bytes = (uint16_t)bytes;
        head_make(&l);
        window(&l, seconds, warmup);
    }
    for (uint16_t p = 0; p < 2; p++) {
        rte_eth_dev_stop(p);
        rte_eth_dev_close(p);
    }
    rte_eal_cleanup();
    return 0;
}
