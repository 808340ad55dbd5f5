/* SPDX-License-Identifier: BSD-3-Clause */
/* The counts of the fuzz target of the daemon's configuration. Its input is the file. */
#ifndef SLUICE_TEST_FUZZ_CONFIG_H
#define SLUICE_TEST_FUZZ_CONFIG_H

#include <stdint.h>

#include "fuzz.h"

struct fuzz_config_counts {
    uint64_t loaded, refused, ports, peers, differences;
};

extern struct fuzz_config_counts fuzz_config_counts;

#endif
