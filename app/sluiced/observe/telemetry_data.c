/* SPDX-License-Identifier: BSD-3-Clause */
/* See telemetry_data.h. */
#include "sluiced/observe/telemetry_data.h"

#include <errno.h>

static int data_put(struct rte_tel_data *to, const char *name, const json_t *value);

int telemetry_drop(struct rte_tel_data *inner, int rc)
{
    rte_tel_data_free(inner);
    return rc;
}

/* Takes ownership of `inner`, even if the call fails. */
int telemetry_join(struct rte_tel_data *to, const char *name, struct rte_tel_data *inner)
{
    int rc = rte_tel_data_add_dict_container(to, name, inner, 0);

    return rc == 0 ? 0 : telemetry_drop(inner, rc);
}

/* Puts all of an object but its arrays, which have commands of their own. */
static int data_fill(struct rte_tel_data *to, json_t *from)
{
    const char *name;
    json_t *value;
    int rc = 0;

    rte_tel_data_start_dict(to);
    json_object_foreach(from, name, value) rc = rc == 0 ? data_put(to, name, value) : rc;
    return rc;
}

static int data_put(struct rte_tel_data *to, const char *name, const json_t *value)
{
    struct rte_tel_data *inner;
    int rc;

    switch (json_typeof(value)) {
    case JSON_INTEGER:
        return telemetry_dict_uint(to, name, (uint64_t)json_integer_value(value));
    case JSON_STRING:
        return rte_tel_data_add_dict_string(to, name, json_string_value(value));
    case JSON_TRUE:
    case JSON_FALSE:
        return rte_tel_data_add_dict_int(to, name, json_is_true(value));
    case JSON_OBJECT:
        inner = rte_tel_data_alloc();
        if (inner == NULL)
            return -ENOMEM;
        rc = data_fill(inner, (json_t *)(uintptr_t)value);
        return rc == 0 ? telemetry_join(to, name, inner) : telemetry_drop(inner, rc);
    default:
        return 0;
    }
}

static int counts_put(struct rte_tel_data *to, const char *name, const json_t *from)
{
    struct rte_tel_data *inner = rte_tel_data_alloc();
    const json_t *value;
    size_t i;

    if (inner == NULL)
        return -ENOMEM;
    rte_tel_data_start_array(inner, TELEMETRY_UINT);
    json_array_foreach(from, i, value)
        telemetry_array_uint(inner, (uint64_t)json_integer_value(value));
    return telemetry_join(to, name, inner);
}

int telemetry_histograms(struct rte_tel_data *to, json_t *o)
{
    int rc = o != NULL ? data_fill(to, o) : -ENOENT;
    const char *name;
    json_t *value;

    json_object_foreach(o, name, value)
    {
        if (rc == 0 && json_is_array(value))
            rc = counts_put(to, name, value);
    }
    json_decref(o);
    return rc;
}

int telemetry_object(struct rte_tel_data *to, json_t *o)
{
    int rc = o != NULL ? data_fill(to, o) : -ENOENT;

    json_decref(o);
    return rc;
}
