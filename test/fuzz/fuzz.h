/* SPDX-License-Identifier: BSD-3-Clause */
/* What driver.c needs of a fuzz target: the target, and golden inputs that reach all of it. */
#ifndef SLUICE_TEST_FUZZ_H
#define SLUICE_TEST_FUZZ_H

#include <stddef.h>
#include <stdint.h>

#define FUZZ_INPUT_MAX 2048 /* bytes a golden input may have */

/* Feeds one input to the code under test; aborts if a promise of its headers does not hold. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* How many mutations take one to two seconds with AddressSanitizer. */
extern const uint64_t golden_runs;

/* Writes golden input number i and returns its length; 0 past the last. */
size_t golden_put(unsigned int i, uint8_t *p);

/* Aborts unless the golden inputs, which have just run, reached all code: else their mutations test
 * nothing. */
void golden_check(void);

/* Prints what was accepted since the start. */
void golden_print(void);

#endif
