/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory for keys: pages of their own that are left out of core dumps, stay out of the swap space
 * where the limit of locked memory allows that, and are wiped before they are given back. Hosts
 * keep copies in the EAL's memory.
 */
#ifndef COMMON_KEY_MEMORY_H
#define COMMON_KEY_MEMORY_H

#include <stddef.h>

/* Memory that is all zero. NULL: there is none, or the kernel would put it into core dumps. */
void *key_memory_new(size_t len_bytes);
/* p: from key_memory_new() with the same length, or NULL. */
void key_memory_free(void *p, size_t len_bytes);
/* Leaves all memory of the EAL out of core dumps, what it has and what it gets later. To be called
 * once, after the EAL has started. Returns 0 or a negative errno. */
int key_memory_hide_eal(void);

#endif
