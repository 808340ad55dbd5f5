/* SPDX-License-Identifier: BSD-3-Clause */
/* Converts JSON objects to rte_telemetry's. DPDK 23.03 gave unsigned 64-bit values another name;
 * 25.11 removed the old one. */
#ifndef SLUICED_TELEMETRY_DATA_H
#define SLUICED_TELEMETRY_DATA_H

#include <stdint.h>

#include <jansson.h>

#include <rte_telemetry.h>
#include <rte_version.h>

#if RTE_VERSION >= RTE_VERSION_NUM(23, 3, 0, 0)
#define TELEMETRY_UINT RTE_TEL_UINT_VAL
#else
#define TELEMETRY_UINT RTE_TEL_U64_VAL
#endif

static inline int telemetry_dict_uint(struct rte_tel_data *d, const char *name, uint64_t n)
{
#if RTE_VERSION >= RTE_VERSION_NUM(23, 3, 0, 0)
    return rte_tel_data_add_dict_uint(d, name, n);
#else
    return rte_tel_data_add_dict_u64(d, name, n);
#endif
}

static inline int telemetry_array_uint(struct rte_tel_data *d, uint64_t n)
{
#if RTE_VERSION >= RTE_VERSION_NUM(23, 3, 0, 0)
    return rte_tel_data_add_array_uint(d, n);
#else
    return rte_tel_data_add_array_u64(d, n);
#endif
}

/* Puts all of an object but its arrays, which have commands of their own. Takes over the reference
 * `o`. Returns 0 or negative errno; -ENOENT if o is NULL. */
int telemetry_object(struct rte_tel_data *to, json_t *o);
/* Puts an object with its arrays of counts, otherwise as telemetry_object(). */
int telemetry_histograms(struct rte_tel_data *to, json_t *o);
/* Adds `inner` to the dict `to`. Takes ownership of `inner`, even if the call fails. */
int telemetry_join(struct rte_tel_data *to, const char *name, struct rte_tel_data *inner);
/* Frees inner; returns rc. */
int telemetry_drop(struct rte_tel_data *inner, int rc);

#endif
