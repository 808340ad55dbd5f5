/* SPDX-License-Identifier: BSD-3-Clause */
/* The ports of sluice-emu and sluice-load: found, configured, started, promiscuous. */
#ifndef COMMON_PORT_H
#define COMMON_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>

struct port {
    uint16_t id;
    uint16_t queues; /* RX and TX queues that it is started with; 0: one of each */
    char name[64], driver[32];
};

/* Finds a port by name; with name "", takes the n-th port there is, from 0. Returns 0, or negative
 * errno with a line in err. */
int port_find(struct port *p, const char *name, unsigned int n, char *err, size_t err_len);
/* Is this driver, or the device of this --vdev, a packet socket? */
bool port_is_packet_socket(const char *driver);
/* Is the port a Linux interface, through a packet socket or AF_XDP? */
bool port_is_interface(const struct port *p);
/* Bytes that a frame has at most, of mtu bytes of IP, and with what both ports need beside it. */
uint32_t port_frame_bytes(const struct port p[2], uint64_t mtu);
/* Can this port receive and send frames of mtu bytes of IP? Returns 0, or negative errno with a
 * line in err. */
int port_frame_check(const struct port *p, uint64_t mtu, char *err, size_t err_len);
/*
 * Checks that the port can have `asked` queues. 0: nobody asks; *usual is then how many it should
 * have (common/queues.h), with one for each worker as its share. Returns 0, or -EINVAL with a line
 * in err.
 */
int port_queues(const struct port *p, uint16_t asked, uint16_t workers, uint16_t *usual, char *err,
                size_t err_len);
int port_start(struct port *p, uint64_t mtu, struct rte_mempool *pool, char *err, size_t err_len);
/* The value of `name` among the device's arguments. If there is no such argument: `standard`, or
 * the text "". */
uint32_t port_arg_number(const struct port *p, const char *name, uint32_t standard);
void port_arg_text(const struct port *p, const char *name, char *out, size_t out_len);
/* How many frames the rings of the port may hold. */
uint32_t port_held(const struct port *p);
void port_stop(struct port *p);

#endif
