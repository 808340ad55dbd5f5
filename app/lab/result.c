/* SPDX-License-Identifier: BSD-3-Clause */
/* See result.h. */
#include "lab/result.h"

#include <math.h>
#include <stdarg.h>

#include "base/check.h"
#include "base/utf8.h"
#include "lab/text.h"

void result_init(struct result *r)
{
    *r = (struct result){json_object(), json_object(), json_object()};
    CHECK(r->values != NULL && r->units != NULL && r->series != NULL);
}

void result_free(struct result *r)
{
    json_decref(r->values);
    json_decref(r->units);
    json_decref(r->series);
}

static json_t *number(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

void result_value(struct result *r, double value, const char *unit, const char *name, ...)
{
    char full[120];
    va_list ap;

    va_start(ap, name);
    vsnprintf(full, sizeof full, name, ap);
    va_end(ap);
    json_object_set_new(r->values, full, number(value));
    json_object_set_new(r->units, full, json_string(unit));
}

json_t *result_series(struct result *r, const char *unit, const char *name, ...)
{
    char full[120];
    va_list ap;
    json_t *s = json_pack("{s:s, s:[], s:[]}", "unit", unit, "t", "v");

    CHECK(s != NULL);
    va_start(ap, name);
    vsnprintf(full, sizeof full, name, ap);
    va_end(ap);
    json_object_set_new(r->series, full, s);
    return s;
}

void result_point(json_t *series, uint64_t time_ns, double value)
{
    json_array_append_new(json_object_get(series, "t"), json_real((double)time_ns / 1e9));
    json_array_append_new(json_object_get(series, "v"), number(value));
}

static void print(json_t *line, FILE *out)
{
    CHECK(line != NULL);
    json_dumpf(line, out, JSON_COMPACT | JSON_REAL_PRECISION(9));
    fputc('\n', out);
    fflush(out);
    json_decref(line);
}

void result_print(const struct result *r, FILE *out)
{
    print(json_pack("{s:O, s:O, s:O}", "values", r->values, "units", r->units, "series", r->series),
          out);
}

/* JSON is UTF-8. A message quotes a text of others, which it may cut inside a character. */
void result_print_error(const char *what, FILE *out)
{
    char shown[TEXT_ERR_MAX];

    print(json_pack("{s:s}", "error", utf8_safe(shown, sizeof shown, what)), out);
}
