/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables that a spec names: text files of whole numbers apart by white space, # to the end of the
 * line being a comment. */
#ifndef SLUICE_PATH_FILE_H
#define SLUICE_PATH_FILE_H

#include <stdint.h>

#include "path/spec.h"

/* Takes the file's name from the spec and reads 1 .. max numbers of least .. INT32_MAX; the array
 * is the caller's, for rte_free(). 0, or an error kept in s that names file and line. of:
 * "distribution". */
int file_numbers_alloc(struct spec *s, const char *of, int32_t least, uint32_t max,
                       const int32_t **numbers, uint32_t *n);

#endif
