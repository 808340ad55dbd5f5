/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One ethdev port: asked for what it can do, set up, and started. It has one queue for each worker,
 * and one set of packet pools for each queue, so workers share no pool. port_caps.c decides what is
 * used, port_pool.c makes the pools, port_find.c finds or makes the device, port_mtu.c sets the
 * MTU, port_giveback.c tests whether the driver returns the mbufs of sent frames when asked to,
 * port_rss.c sets up receive-side scaling, port_steer.c makes the NIC's rules, port.c does the
 * rest.
 *
 * Invariant: one received frame of mtu bytes of IP fits `buffers` mbufs: one, unless the frame has
 * more than BUFFER_BYTES_MAX bytes (common/buffer.h).
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

#define PORT_BURST       32  /* frames per RX and TX call */
#define PORT_FOREIGN     256 /* frames in transit from one worker to another */
/* Ethernet header, VLAN tag and frame check sequence. */
#define PORT_FRAME_EXTRA (RTE_ETHER_HDR_LEN + 4 + RTE_ETHER_CRC_LEN)
#define PORT_BLOCKS      31  /* blocks of UDP ports: 1 for udp_port, at most 30 for source_ports */
#define EXCEPTION_WAIT   256 /* frames that wait for the kernel: exception.h */

/* Traits of a driver that ethdev cannot tell. */
struct port_driver {
    const char *name;
    bool shared_memory; /* the other end is memory of this machine: checksums protect nothing */
    bool virtio; /* the other end may be a virtual machine, with its own rules for checksums */
    bool reads_memory;  /* sends by copying with the CPU, from any memory of the process */
    bool software;      /* not a NIC: its "offloads" are the CPU's work */
    bool keeps_buffers; /* does not give back the buffers in its rings when it is closed */
    bool chains;        /* puts a received frame into several buffers if one does not hold it */
};

struct port_pools {
    /* Either attach or copy is NULL: payload is copied or attached. */
    struct rte_mempool *rx, *head, *attach, *copy;
};

struct port {
    const struct config_port *cfg;
    uint16_t id; /* ethdev's number */
    bool attached, started;
    char driver[32];
    struct port_driver traits;
    bool is_memif;
    struct memif_args memif; /* if is_memif */
    struct rte_device *device;
    struct rte_ether_addr mac;
    int socket;     /* NUMA node, or SOCKET_ID_ANY */
    uint16_t share; /* how many queues there are lcores for */
    uint16_t queues, rx_desc, tx_desc;
    bool scaled;  /* receive-side scaling is on */
    bool steered; /* `rules` are complete, and spread our packets over the queues */
    struct rte_flow *rules[2][PORT_BLOCKS]; /* [0] for IPv4, [1] for IPv6; NULL: no such rule */
    bool interrupts;       /* queues have receive interrupts, which wake napping workers */
    uint32_t rx_held;      /* receive buffers the driver may hold, per queue */
    uint32_t rx_min;       /* received frames that a queue has room for, at least */
    uint32_t tx_held;      /* TX frames the driver may hold, sent or not, per queue */
    uint32_t buffers;      /* mbufs that the longest received frame takes */
    uint32_t buffer_bytes; /* room for a frame in one of them */
    enum host_sum tx_sum, rx_sum;
    bool rx_unsummed; /* as in struct host_config */
    uint64_t rx_offloads, tx_offloads;
    bool timed; /* the NIC sends frames at the times they carry */
    int tx_time_offset;
    uint64_t tx_time_flag;
    bool attach;       /* payload is attached, not copied */
    bool dma;          /* attached memory must first be mapped for the device */
    bool done_cleanup; /* rte_eth_tx_done_cleanup() works */
    struct host_rss rss;
    struct port_pools pools[HOST_WORKERS_MAX];
    int sockets[HOST_WORKERS_MAX]; /* AF_XDP: each queue's; -1: not known */
};

/* port.c. port_open() and port_start() return 0, or negative errno with a line in err. port_open()
 * leaves the port stopped. interrupts: use receive interrupts if the port has them. share: how many
 * queues there are lcores for. */
int port_open(struct port *p, const struct config_port *cfg, bool interrupts, uint16_t share,
              char *err, size_t err_len);
/* A memif client whose server is not there yet stays stopped; that is no error. */
int port_start(struct port *p, char *err, size_t err_len);
/* True if the port cannot come up again by itself: a memif client without a server. */
bool port_needs_restart(const struct port *p);
/* Stops and starts the port; no worker may poll it meanwhile. True if it started. */
bool port_restart(struct port *p);
/* Stops the port if it runs; frames in the driver's rings go back to their pools. */
void port_stop(struct port *p);
/* Closes the port and frees its pools. Returns how many mbufs of the pools were still in use; there
 * should be none. */
uint32_t port_close(struct port *p);
/* To call after the start: frames that arrive at this queue wake its worker, if interrupts are on.
 * False: they cannot. */
bool port_add_wakeup(const struct port *p, uint16_t queue, struct wakeup *w);
/* Rate of the link in bytes/s. 0: not known, or a software driver, which does not keep to it. */
uint64_t port_link_Bps(const struct port *p);

/* port_caps.c: decides on checksums, offloads and attached payload. */
int port_decide(struct port *p, const struct rte_eth_dev_info *info, char *err, size_t err_len);
const struct port_driver *port_driver_find(const char *name);
bool port_link_up(const struct port *p);

uint32_t port_arg_number(const struct port *p, const char *name, uint32_t standard);
/* Arguments that the device was made with, "" if none are known. */
const char *port_args(const struct port *p);

/* port_socket.c: the socket from which the driver takes a queue's frames; -1: there is none, or it
 * is not known. It is readable while frames wait. port_socket() is to be called after the start. An
 * AF_XDP socket is made with its queue: port_sockets_note() before that, and port_socket_made()
 * after it, find the socket, which belongs into sockets[]. */
#define PORT_SOCKET_FDS 1024 /* descriptors that are looked at */
struct port_sockets {
    bool open[PORT_SOCKET_FDS];
};
void port_sockets_note(const struct port *p, struct port_sockets *s);
int port_socket_made(const struct port *p, const struct port_sockets *before);
int port_socket(const struct port *p, uint16_t queue);

/* port_giveback.c: does the driver give sent frames back? The port is started, and its driver has
 * rte_eth_tx_done_cleanup(). Waits for the link to come up; false if it does not. */
bool port_gives_back(const struct port *p);

/* port_steer.c: makes the rules of a started port; a rule that the NIC refuses is skipped silently.
 * port_unsteer() removes them, before the port is stopped. */
void port_steer(struct port *p);
void port_unsteer(struct port *p);

/* port_find.c: sets p->id to a port that exists, or to one that it makes from cfg->vdev. */
int port_find(struct port *p, char *err, size_t err_len);

/* port_rss.c: port_rss_want() writes the wanted hash into conf, before the port is configured.
 * port_rss_ask() writes how the started port chooses queues into p->rss. */
void port_rss_want(const struct port *p, const struct rte_eth_dev_info *info,
                   struct rte_eth_conf *conf);
void port_rss_ask(struct port *p);

/* port_mtu.c: lets frames of cfg->mtu_bytes pass, or says why they cannot. */
int port_mtu_set(const struct port *p, const struct rte_eth_dev_info *info, char *err,
                 size_t err_len);

/* port_pool.c. port_hold() sets rx_held, rx_min and tx_held. */
void port_hold(struct port *p, const struct rte_eth_dev_info *info);
int port_pools_create(struct port *p, char *err, size_t err_len);
/* Switches from attached to copied payload. To call before anything is sent. */
int port_pools_copy(struct port *p, char *err, size_t err_len);
void port_pools_free(struct port *p);
/* Number of the port's mbufs that are not in their pools. */
uint32_t port_pools_in_use(const struct port *p);

#endif
