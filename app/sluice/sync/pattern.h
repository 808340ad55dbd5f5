/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Wildcards in names, as rsync has them: * and ? match anything but a slash, ** also slashes,
 * [a-z], [!a-z], [^a-z] and [[:digit:]] one byte that is no slash, and \ the next byte as it is.
 */
#ifndef SLUICE_COMMAND_PATTERN_H
#define SLUICE_COMMAND_PATTERN_H

#include <stdbool.h>

/* Whether the whole text matches. Takes time in proportion to both lengths, and to that of the text
 * once more if there is a **. */
bool pattern_matches(const char *pattern, const char *text);

#endif
