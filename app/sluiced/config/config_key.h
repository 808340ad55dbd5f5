/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The keys of the configuration file: each with its kind, limits, default and an example. Defaults
 * are texts that go through the same parser as the file's values.
 */
#ifndef SLUICED_CONFIG_KEY_H
#define SLUICED_CONFIG_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum config_kind {
    CONFIG_TEXT,    /* char[max + 1] */
    CONFIG_RATE,    /* u64 bytes/s */
    CONFIG_SIZE,    /* u64 bytes */
    CONFIG_SIZE32,  /* u32 bytes */
    CONFIG_TIME,    /* u64 ns */
    CONFIG_NUMBER,  /* u32 */
    CONFIG_POWER,   /* u32, a power of two */
    CONFIG_WORD,    /* u32: index in words[] */
    CONFIG_MAC,     /* struct config_mac */
    CONFIG_PREFIX4, /* struct config_prefix */
    CONFIG_PREFIX6,
    CONFIG_ADDR4, /* struct addr */
    CONFIG_ADDR6,
    CONFIG_LCORES,    /* struct config_lcores */
    CONFIG_RANGE,     /* struct config_range */
    CONFIG_NEIGHBORS, /* struct config_neighbors */
    CONFIG_PUBLIC,    /* u8[KEY_BYTES]: a public key */
    CONFIG_USERS,     /* struct config_users */
    CONFIG_SERVICES,  /* struct config_services */
};

struct config_key {
    const char *name;
    enum config_kind kind;
    size_t offset;        /* of the field in its struct */
    uint64_t min, max;    /* in the field's unit */
    bool zero;            /* 0 is allowed although below min */
    const char *standard; /* default; NULL: the field stays zero */
    const char *example;
    const char *const *words; /* CONFIG_WORD: NULL after the last */
};

/* Each table ends with name == NULL. */
extern const struct config_key config_daemon_keys[];
extern const struct config_key config_port_keys[];
extern const struct config_key config_peer_keys[];
extern const struct config_key config_service_keys[];

const struct config_key *config_key_find(const struct config_key *keys, const char *name);
/* The key with the most similar name, NULL if none is similar. */
const struct config_key *config_key_nearest(const struct config_key *keys, const char *name);

/* Sets the key's field in *base from text: 0, or -EINVAL with "CAUSE; CURE" in err. */
int config_key_parse(const struct config_key *key, const char *text, void *base, char *err,
                     size_t err_len);
/* Sets every field that has a default. */
void config_key_defaults(const struct config_key *keys, void *base);

#endif
