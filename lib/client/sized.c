/* SPDX-License-Identifier: BSD-3-Clause */
/* Public structs whose size the application and the library may know differently (sluice.h). */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "client/state.h"

/* The last field ends with its struct. Otherwise the next one to be added would lie in padding,
 * which an older library copies: a newer program would take what is there for a value. */
#define ENDS_WITH(type, last)                                                                      \
    static_assert(offsetof(type, last) + sizeof(((type *)0)->last) == sizeof(type), "padding")

ENDS_WITH(struct sluice_completion, op);
ENDS_WITH(struct sluice_stats, port_Bps);

void client_sized_copy(void *out, size_t out_bytes, const void *in, size_t in_bytes)
{
    size_t both_bytes = out_bytes < in_bytes ? out_bytes : in_bytes;

    memcpy(out, in, both_bytes);
    memset((uint8_t *)out + both_bytes, 0, out_bytes - both_bytes);
}
