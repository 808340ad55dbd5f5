/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/option.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/value.h"

int option_first(const struct option *table, int argc, char **argv, int *eal_argc)
{
    int i;

    for (i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0) {
            *eal_argc = i;
            return i + 1;
        }
    }
    for (; argc > 1 && table->name != NULL; table++) {
        size_t len = strlen(table->name);

        if (table->alone && strncmp(argv[1], table->name, len) == 0 &&
            (argv[1][len] == '\0' || (argv[1][len] == '=' && table->value != NULL)))
            return *eal_argc = 1;
    }
    return *eal_argc = argc;
}

static int option_unknown(const struct option *table, const char *arg, const char *hint, char *err,
                          size_t err_len)
{
    const char *nearest = NULL;
    unsigned int best = 3;

    for (; table->name != NULL; table++) {
        unsigned int d = value_distance(table->name, arg);

        if (d < best && table->name[1] == '-') {
            best = d;
            nearest = table->name;
        }
    }
    if (nearest != NULL)
        snprintf(err, err_len, "unknown argument %s; did you mean %s?", arg, nearest);
    else
        snprintf(err, err_len, "unknown argument %s; EAL arguments stand before --, %s", arg, hint);
    return -EINVAL;
}

int option_take(const struct option *table, int argc, char **argv, int *i, const char **value,
                const char *hint, char *err, size_t err_len)
{
    const char *arg = argv[*i];
    int k;

    *value = NULL;
    for (k = 0; table[k].name != NULL; k++) {
        const struct option *o = &table[k];
        size_t len = strlen(o->name);
        bool glued;

        if (strncmp(arg, o->name, len) != 0)
            continue;
        glued = arg[1] == '-' && o->value != NULL && arg[len] == '=';
        if (arg[len] != '\0' && !glued)
            continue;
        if (o->value == NULL)
            return k;
        if (glued)
            *value = arg + len + 1;
        else if (*i + 1 < argc && (!o->may_lack || argv[*i + 1][0] != '-'))
            *value = argv[++*i];
        if (*value == NULL ? o->may_lack : **value != '\0' || o->may_be_empty)
            return k;
        snprintf(err, err_len, "%s needs a value; write %s %s", o->name, o->name, o->value);
        return -EINVAL;
    }
    return option_unknown(table, arg, hint, err, err_len);
}

int option_wrong(const char *name, const char *value, const char *what, char *err, size_t err_len)
{
    snprintf(err, err_len, "%s %s: %s", name, value, what);
    return -EINVAL;
}

int option_number(const char *name, const char *value, uint64_t min, uint64_t max, uint64_t *out,
                  char *err, size_t err_len)
{
    char range[80];
    const char *what = value_number(value, out);

    if (what == NULL && (*out < min || *out > max)) {
        snprintf(range, sizeof range, "out of range; give %llu to %llu", (unsigned long long)min,
                 (unsigned long long)max);
        what = range;
    }
    return what != NULL ? option_wrong(name, value, what, err, err_len) : 0;
}
