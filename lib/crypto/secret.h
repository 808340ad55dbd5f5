/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes that nobody else may learn: wiped after use, compared in constant time. */
#ifndef SLUICE_CRYPTO_SECRET_H
#define SLUICE_CRYPTO_SECRET_H

#include <stdbool.h>
#include <stddef.h>

/* Overwrites len bytes; the compiler cannot leave this out. */
void secret_wipe(void *p, size_t len);

/* True if the len bytes at a and b are equal. The time it takes depends on len only. */
bool secret_equal(const void *a, const void *b, size_t len);

/* True if all len bytes are 0: no key was given. */
bool secret_unset(const void *p, size_t len);

#endif
