/* SPDX-License-Identifier: BSD-3-Clause */
/* sluiced --check: checks a configuration, and prints what it comes to. Touches no port. */
#ifndef SLUICED_CHECK_H
#define SLUICED_CHECK_H

#include "common/say.h"
#include "sluiced/config/config.h"

/* c: filled by config_load() from path. Prints a summary and returns EXIT_OK, or prints the first
 * mistake and returns EXIT_CONFIG. */
enum say_exit check_run(struct config *c, const char *path);

#endif
