/* SPDX-License-Identifier: BSD-3-Clause */
/* The library's version. */
#include "client/sluice.h"

const char *sluice_version(void)
{
    return SLUICE_VERSION;
}
