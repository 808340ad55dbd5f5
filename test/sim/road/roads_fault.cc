// SPDX-License-Identifier: BSD-3-Clause
// Path control with a fault. The linker plants it around the function that writes grants into CNTL,
// and the program `roads` must report that such roads fail. ROADS_FAULT names the fault:
//
//   low      no grant rises above 10 Mbit/s
//   greedy   grants are half as much again as decided
//   unfair   all connections but the first get a quarter
#include <cstdlib>
#include <cstring>

extern "C" {
#include "wire/packet.h"

uint32_t __real_wire_put_cntl(uint8_t *p, const struct wire_cntl *v);

uint32_t __wrap_wire_put_cntl(uint8_t *p, const struct wire_cntl *v)
{
    static const char *fault = std::getenv("ROADS_FAULT");
    static uint64_t first_key;
    struct wire_cntl planted = *v;

    if (fault == nullptr || v->rate_Bps == 0)
        return __real_wire_put_cntl(p, v);
    first_key = first_key == 0 ? v->own_key : first_key;
    if (std::strcmp(fault, "low") == 0 && planted.rate_Bps > 1250000)
        planted.rate_Bps = 1250000;
    else if (std::strcmp(fault, "greedy") == 0)
        planted.rate_Bps += planted.rate_Bps / 2;
    else if (std::strcmp(fault, "unfair") == 0 && v->own_key != first_key)
        planted.rate_Bps = 1 + planted.rate_Bps / 4;
    return __real_wire_put_cntl(p, &planted);
}
}
