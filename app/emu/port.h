/* SPDX-License-Identifier: BSD-3-Clause */
/* The two ports of the box: found, configured with one queue each, started, promiscuous. */
#ifndef EMU_PORT_H
#define EMU_PORT_H

#include <stddef.h>
#include <stdint.h>

#include <rte_mempool.h>

struct port {
    uint16_t id;
    char name[64], driver[32];
};

/* Finds a port by name; with name "", takes the n-th port there is, from 0. Returns 0, or negative
 * errno with a line in err. */
int port_find(struct port *p, const char *name, unsigned int n, char *err, size_t err_len);
/* Bytes that a buffer must have so that frames of mtu bytes of IP fit at both ports. */
uint32_t port_frame_bytes(const struct port p[2], uint64_t mtu);
int port_start(struct port *p, uint64_t mtu, struct rte_mempool *pool, char *err, size_t err_len);
/* The value of `name` among the device's arguments. If there is no such argument: `standard`, or
 * the text "". */
uint32_t port_arg_number(const struct port *p, const char *name, uint32_t standard);
void port_arg_text(const struct port *p, const char *name, char *out, size_t out_len);
/* How many frames the rings of the port may hold. */
uint32_t port_held(const struct port *p);
void port_stop(struct port *p);

#endif
