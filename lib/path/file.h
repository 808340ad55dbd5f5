/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads tables that a spec names: text files of whole numbers, separated by white space; # begins a
 * comment that ends with the line. */
#ifndef SLUICE_PATH_FILE_H
#define SLUICE_PATH_FILE_H

#include <stdint.h>

#include "path/spec.h"

/* Takes the file's name from the spec and reads 1 .. max numbers, each in least .. INT32_MAX. The
 * caller frees the array with rte_free(). 0, or an error kept in s that names file and line. of:
 * what the file is, for messages, such as "distribution". */
int file_numbers_alloc(struct spec *s, const char *of, int32_t least, uint32_t max,
                       const int32_t **numbers, uint32_t *n);

#endif
