/* SPDX-License-Identifier: BSD-3-Clause */
/* Command lines of DPDK programs: PROGRAM [EAL arguments] -- [options]. Needs no EAL. */
#ifndef SLUICE_COMMON_OPTION_H
#define SLUICE_COMMON_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A table of options ends with name == NULL. */
struct option {
    const char *name;
    const char *value; /* what messages call the option's value; NULL: it takes none */
    bool alone;        /* needs no EAL, so no "--" before it if it is the first argument */
    bool may_lack;     /* the value may be missing, and is then NULL */
    bool may_be_empty; /* the value may be "" */
};

/* Returns the index in argv of the first option; argv[0 .. *eal_argc - 1] are the EAL's. Without
 * "--", all arguments are the EAL's, unless the first is an option that stands alone. */
int option_first(const struct option *table, int argc, char **argv, int *eal_argc);
/*
 * Takes the option at argv[*i], --name VALUE or --name=VALUE, and returns its index in table; *i
 * ends at the last argument taken. On error -EINVAL with a line in err, which names the nearest
 * option or ends with `hint`.
 */
int option_take(const struct option *table, int argc, char **argv, int *i, const char **value,
                const char *hint, char *err, size_t err_len);

/* Writes that the value of an option is wrong, and `what` is, to err. Returns -EINVAL. */
int option_wrong(const char *name, const char *value, const char *what, char *err, size_t err_len);
/* Reads a number from min to max. Returns 0, or what option_wrong() does. */
int option_number(const char *name, const char *value, uint64_t min, uint64_t max, uint64_t *out,
                  char *err, size_t err_len);

#endif
