/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes client memory reachable by devices (DMA). For a NIC, the memory is registered with DPDK and
 * mapped at its virtual address. Ports that copy with the CPU need none of this.
 */
#ifndef SLUICED_MEMORY_H
#define SLUICED_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

struct rte_device;
struct port;

/* Tests with one page whether memory from outside DPDK can be mapped for the device. */
bool memory_dma_works(struct rte_device *device);
/* Maps the memory for every port with port->dma. Returns 0, or negative errno with nothing mapped.
 * len_bytes is rounded up to whole pages. */
int memory_map(struct port *ports, uint32_t n, void *memory, uint64_t len_bytes);
void memory_unmap(struct port *ports, uint32_t n, void *memory, uint64_t len_bytes);

#endif
