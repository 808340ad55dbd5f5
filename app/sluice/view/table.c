/* SPDX-License-Identifier: BSD-3-Clause */
/* Objects of a JSON array as a table for people. */
#include "sluice/view/table.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "console/text.h"

#define TABLE_CELL        64
#define TABLE_COLUMNS_MAX 32

/* The cell's text; "-" where there is nothing. */
static const char *table_cell(char out[TABLE_CELL], const json_t *row,
                              const struct table_column *column)
{
    const json_t *v = json_object_get(row, column->key);
    double n = json_number_value(v);

    if (v == NULL || json_is_null(v) || (json_is_string(v) && *json_string_value(v) == 0))
        return "-";
    if (json_is_string(v))
        return text_safe(out, TABLE_CELL, json_string_value(v));
    if (json_is_boolean(v))
        return json_is_true(v) ? "yes" : "no";
    if (n == 0 && (column->format == TABLE_RATE || column->format == TABLE_TIME))
        return "-";
    switch (column->format) {
    case TABLE_BYTES:
        return text_bytes(out, TABLE_CELL, n);
    case TABLE_RATE:
        return text_rate(out, TABLE_CELL, n);
    case TABLE_TIME:
        return text_time(out, TABLE_CELL, (uint64_t)n);
    case TABLE_PPM:
        snprintf(out, TABLE_CELL, n > 0 && n < 100 ? "<0.01 %%" : "%.*f %%", n > 0 ? 2 : 0,
                 n / 1e4);
        return out;
    default:
        snprintf(out, TABLE_CELL, "%.0f", n);
        return out;
    }
}

static int table_width(const json_t *rows, const struct table_column *column)
{
    char cell[TABLE_CELL];
    size_t i, widest = strlen(column->title);
    json_t *row;

    json_array_foreach(rows, i, row)
    {
        size_t n = strlen(table_cell(cell, row, column));

        widest = n > widest ? n : widest;
    }
    return (int)widest;
}

/* Prints one line of the table; row NULL: the titles. */
static void table_line(const json_t *row, const struct table_column *columns, const int *width,
                       FILE *out)
{
    char cell[TABLE_CELL];

    for (size_t i = 0; columns[i].title != NULL; i++) {
        const char *text = row == NULL ? columns[i].title : table_cell(cell, row, &columns[i]);

        fprintf(out, "%s%*s", i == 0 ? "" : "  ",
                columns[i].format == TABLE_TEXT ? -width[i] : width[i], text);
    }
    fputc('\n', out);
}

void table_print(const json_t *rows, const struct table_column *columns, FILE *out)
{
    int width[TABLE_COLUMNS_MAX];
    json_t *row;
    size_t i;

    for (i = 0; columns[i].title != NULL && i < TABLE_COLUMNS_MAX; i++)
        width[i] = table_width(rows, &columns[i]);
    table_line(NULL, columns, width, out);
    json_array_foreach(rows, i, row) table_line(row, columns, width, out);
}

void table_json(const json_t *value, FILE *out)
{
    json_dumpf(value, out, JSON_COMPACT);
    fputc('\n', out);
}
