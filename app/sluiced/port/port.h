/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One ethdev port, asked for what it can do, set up and started: queues = workers, one set of
 * packet pools per queue, so that workers share none. port_caps.c decides, port_pool.c makes pools,
 * port_find.c finds or makes the device, port_mtu.c sets the MTU, port_giveback.c looks at what it
 * keeps, port_steer.c makes its rules, port.c does the rest.
 *
 * Invariant: one received frame of mtu bytes of IP fits one mbuf.
 */
#ifndef SLUICED_PORT_H
#define SLUICED_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_ethdev.h>
#include <rte_mempool.h>

#include "host/host.h"
#include "sluiced/config/config.h"
#include "sluiced/port/memif.h"
#include "sluiced/worker/wakeup.h"

#define PORT_BURST     32  /* frames per RX and TX call */
#define PORT_FOREIGN   256 /* frames on their way from one worker to another */
#define PORT_BLOCKS    31  /* udp_port, and 30 blocks that any range of 16 bits falls into */
#define EXCEPTION_WAIT 256 /* frames that wait for the kernel: exception.h */

/* What a driver is, where ethdev cannot say. */
struct port_driver {
    const char *name;
    bool shared_memory; /* the other end is memory of this machine: nothing to protect by a sum */
    bool virtio;        /* but it may be a virtual machine's, which has its own rules for sums */
    bool reads_memory;  /* sends by copying with the CPU: any memory of the process will do */
    bool software;      /* no NIC of its own: its "offloads" are the CPU's work */
    bool keeps_buffers; /* does not give back what its rings hold when it is closed */
};

struct port_pools {
    struct rte_mempool *rx, *head, *attach, *copy; /* copy: NULL if payload is attached */
};

struct port {
    const struct config_port *cfg;
    uint16_t id; /* of ethdev */
    bool attached, started;
    char driver[32];
    struct port_driver traits;
    bool is_memif;
    struct memif_args memif; /* if is_memif */
    struct rte_device *device;
    struct rte_ether_addr mac;
    int socket; /* NUMA, or SOCKET_ID_ANY */
    uint16_t queues, rx_desc, tx_desc;
    bool scaled;  /* receive-side scaling is on */
    bool steered; /* what is ours comes to the queues by the NIC's rules: */
    struct rte_flow *rules[2][PORT_BLOCKS]; /* for IPv4, IPv6; NULL: it has none */
    bool interrupts;                        /* a worker that naps wants them of receive queues */
    uint32_t rx_held;                       /* receive buffers the driver may hold, per queue */
    uint32_t rx_min;                        /* received frames that a queue holds, at least */
    uint32_t tx_held;                       /* frames that it may hold, sent or not, per queue */
    uint32_t frame_bytes;                   /* room for one received frame */
    enum host_sum tx_sum, rx_sum;
    bool rx_unsummed; /* host.h */
    uint64_t rx_offloads, tx_offloads;
    bool timed; /* frames with a time are sent at it: */
    int tx_time_offset;
    uint64_t tx_time_flag;
    bool attach;       /* payload is attached, not copied */
    bool dma;          /* what is attached must be mapped for the device first */
    bool done_cleanup; /* rte_eth_tx_done_cleanup() works */
    struct host_rss rss;
    struct port_pools pools[HOST_WORKERS_MAX];
};

/* port.c. Each: 0, or negative errno with a line in err. port_open() leaves the port stopped.
 * interrupts: wanted, but no port is refused that has none. */
int port_open(struct port *p, const struct config_port *cfg, bool interrupts, char *err,
              size_t err_len);
/* A memif client whose server is not there yet stays stopped, which is no error. */
int port_start(struct port *p, char *err, size_t err_len);
/* True if the port does not come up again by itself: a memif client without a server. */
bool port_needs_restart(const struct port *p);
/* Stops and starts it; no worker may poll it meanwhile. True if it is started. */
bool port_restart(struct port *p);
/* Stops what runs; frames in the driver's rings go back to their pools. */
void port_stop(struct port *p);
/* Closes the port and frees its pools; returns how many of their mbufs somebody still had: 0. */
uint32_t port_close(struct port *p);
bool port_link_up(const struct port *p);
/* Once started: what comes to this queue wakes its worker, if interrupts are wanted. False: it
 * cannot. */
bool port_add_wakeup(const struct port *p, uint16_t queue, struct wakeup *b);
/* Bytes a second on its link; 0: not known, or nothing that a driver in software keeps to. */
uint64_t port_link_Bps(const struct port *p);

/* port_caps.c: fills in sums, offloads and attach. */
int port_decide(struct port *p, const struct rte_eth_dev_info *info, char *err, size_t err_len);
const struct port_driver *port_driver_find(const char *name);

uint32_t port_arg_number(const struct port *p, const char *name, uint32_t standard);
/* Arguments that the device was made with, "" if none are known. */
const char *port_args(const struct port *p);

/* port_giveback.c: of a started port whose driver has rte_eth_tx_done_cleanup(). Takes as long as
 * its link takes to come up; false if it does not. */
bool port_gives_back(const struct port *p);

/* port_steer.c: of a started port; what the NIC refuses is not used, without a word. Then before it
 * is stopped. */
void port_steer(struct port *p);
void port_unsteer(struct port *p);

/* port_find.c: p->id, of a port that exists or is made from cfg->vdev. */
int port_find(struct port *p, char *err, size_t err_len);

/* port_rss.c: what the port is asked for when it is configured, and, once it is started, how it
 * chooses queues, into p->rss. */
void port_rss_want(const struct port *p, const struct rte_eth_dev_info *info,
                   struct rte_eth_conf *conf);
void port_rss_ask(struct port *p);

/* port_mtu.c: makes frames of cfg->mtu_bytes pass, or says why they cannot. */
int port_mtu_set(const struct port *p, const struct rte_eth_dev_info *info, char *err,
                 size_t err_len);

/* port_pool.c. port_hold(): fills in rx_held, rx_min and tx_held. */
void port_hold(struct port *p, const struct rte_eth_dev_info *info);
int port_pools_create(struct port *p, char *err, size_t err_len);
/* Payload is copied from now on, instead of attached. Before anything was sent. */
int port_pools_copy(struct port *p, char *err, size_t err_len);
void port_pools_free(struct port *p);
/* Mbufs of the port's pools that are not in their pools. */
uint32_t port_pools_in_use(const struct port *p);

#endif
