/* SPDX-License-Identifier: BSD-3-Clause */
/* Public structs whose size the application and the library may know differently (sluice.h). */
#include <string.h>

#include "client/state.h"

void client_sized_copy(void *out, size_t out_bytes, const void *in, size_t in_bytes)
{
    size_t both_bytes = out_bytes < in_bytes ? out_bytes : in_bytes;

    memcpy(out, in, both_bytes);
    memset((uint8_t *)out + both_bytes, 0, out_bytes - both_bytes);
}
