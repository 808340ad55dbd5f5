/* SPDX-License-Identifier: BSD-3-Clause */
/* Objects of a JSON array as a table for people: one row each, chosen members as columns. */
#ifndef SLUICE_COMMAND_TABLE_H
#define SLUICE_COMMAND_TABLE_H

#include <stdio.h>

#include <jansson.h>

enum table_format {
    TABLE_TEXT,
    TABLE_COUNT,
    TABLE_BYTES,
    TABLE_RATE, /* bytes per second, shown in bits; 0: "-" */
    TABLE_TIME, /* ns; 0: "-" */
    TABLE_FLAG, /* true: "yes" */
    TABLE_PPM,  /* millionths, shown in % */
};

struct table_column {
    const char *key, *title; /* title NULL: end of the list */
    enum table_format format;
};

/* Prints titles and rows. Each column is as wide as its widest cell; numbers are right-aligned. */
void table_print(const json_t *rows, const struct table_column *columns, FILE *out);

/* Prints the value as JSON, on one line. */
void table_json(const json_t *value, FILE *out);

#endif
