/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists in the configuration that say which services and peers may be used, and by which users:
 * `users` names local users, `services` ranges of service numbers. Names become numbers when the
 * configuration is read.
 *
 * Errors: a negative errno, with the cause in `cause`. All bytes of a list are set, so that two may
 * be compared with memcmp().
 */
#ifndef SLUICED_CONFIG_USERS_H
#define SLUICED_CONFIG_USERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONFIG_USERS_MAX    32
#define CONFIG_SERVICES_MAX 16  /* ranges in a list */
#define CONFIG_LIST_MAX     256 /* as CONFIG_VALUE_MAX */

struct config_user {
    uint32_t group; /* 1: id is a group's, else a user's */
    uint32_t id;
};

struct config_users {
    uint32_t n; /* 0: there is no list, and every user may */
    struct config_user at[CONFIG_USERS_MAX];
    char text[CONFIG_LIST_MAX]; /* as written */
};

struct config_services {
    uint32_t n; /* 0: there is no list, and every service may be used */
    struct {
        uint32_t first, last; /* 0, 0: none */
    } range[CONFIG_SERVICES_MAX];
    char text[CONFIG_LIST_MAX];
};

/* "alice 1001 @staff": users by name or number, groups behind an @; blanks or commas in between. */
int config_users_parse(const char *text, struct config_users *out, char *cause, size_t cause_len);
/* "7000 7100-7199", or "none"; blanks or commas in between. */
int config_services_parse(const char *text, struct config_services *out, char *cause,
                          size_t cause_len);

#endif
