/* SPDX-License-Identifier: BSD-3-Clause */
/* Command lines of programs on DPDK: PROGRAM [EAL arguments] -- [options]. Needs no EAL. */
#ifndef SLUICE_COMMON_OPTION_H
#define SLUICE_COMMON_OPTION_H

#include <stdbool.h>
#include <stddef.h>

/* A table of them ends with name == NULL. */
struct option {
    const char *name;
    const char *value; /* what it needs, for messages; NULL: nothing */
    bool alone;        /* needs no EAL, so no "--" before it if it is the first */
    bool may_lack;     /* the value: then it is NULL */
    bool may_be_empty; /* the value */
};

/* The index in argv of the first option. Without "--" all arguments are the EAL's, unless the first
 * stands alone. argv[0 .. *eal_argc - 1] are the EAL's. */
int option_first(const struct option *table, int argc, char **argv, int *eal_argc);
/*
 * The option at argv[*i], as --name VALUE or --name=VALUE, by its index in table; *i ends at its
 * last argument. -EINVAL with a line in err, which names the nearest option, or closes with hint.
 */
int option_take(const struct option *table, int argc, char **argv, int *i, const char **value,
                const char *hint, char *err, size_t err_len);

#endif
