/* SPDX-License-Identifier: BSD-3-Clause */
/* Paces packets in virtual time, without DPDK, and prints how long they took. */
#include <stdio.h>
#include <stdlib.h>

#include <pace/pacer.h>

#define PACKETS   100u
#define LEN_BYTES 1250u
#define RATE_BPS  125000u

int main(void)
{
    struct pacer_config cfg = {.flows = 1, .lines = PACKETS, .hz = 1000000000};
    void *storage = aligned_alloc(64, (pacer_storage_bytes(&cfg) + 63) / 64 * 64);
    struct pacer *p = storage == NULL ? NULL : pacer_init(storage, &cfg, 0);
    static char packet[LEN_BYTES];
    uint64_t now = 0;
    void *out[PACKETS];
    uint32_t i, sent = 0;

    if (p == NULL)
        return 1;
    pacer_flow_set(p, 0, RATE_BPS, LEN_BYTES, now);
    for (i = 0; i < PACKETS; i++)
        if (!pacer_push(p, 0, packet, LEN_BYTES, now))
            return 1;
    while (sent < PACKETS) {
        now = pacer_next(p) > now ? pacer_next(p) : now;
        sent += pacer_poll(p, now, out, PACKETS);
    }
    printf("%u packets in %u ms\n", sent, (unsigned)(now / 1000000));
    free(storage);
    return 0;
}
