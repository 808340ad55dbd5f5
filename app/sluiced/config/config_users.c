/* SPDX-License-Identifier: BSD-3-Clause */
/* See config_users.h. */
#include "sluiced/config/config_users.h"

#include <ctype.h>
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/value.h"

#define BETWEEN " \t,"

/* Is the word a user's or group's number? (uid_t)-1 is none. A number needs no name here: it may be
 * that of a user of a container. */
static bool number_is(const char *word, uint32_t *id)
{
    uint64_t n;

    if (!isdigit((unsigned char)word[0]) || value_number(word, &n) != NULL || n >= UINT32_MAX)
        return false;
    *id = (uint32_t)n;
    return true;
}

static bool user_find(const char *name, uint32_t *id)
{
    const struct passwd *p = getpwnam(name);

    if (p != NULL)
        *id = p->pw_uid;
    return p != NULL;
}

static bool group_find(const char *name, uint32_t *id)
{
    const struct group *g = getgrnam(name);

    if (g != NULL)
        *id = g->gr_gid;
    return g != NULL;
}

static int user_parse(const char *word, struct config_user *u, char *cause, size_t cause_len)
{
    const char *name = word + (word[0] == '@');
    bool found;

    u->group = word[0] == '@';
    found = number_is(name, &u->id) ||
            (name[0] != '\0' && (u->group ? group_find(name, &u->id) : user_find(name, &u->id)));
    if (found)
        return 0;
    snprintf(cause, cause_len, "there is no %s \"%.40s\" on this host", u->group ? "group" : "user",
             name);
    return -ENOENT;
}

int config_users_parse(const char *text, struct config_users *out, char *cause, size_t cause_len)
{
    char words[CONFIG_LIST_MAX], *rest = words, *word;
    int rc = 0;

    memset(out, 0, sizeof *out);
    snprintf(out->text, sizeof out->text, "%s", text);
    snprintf(words, sizeof words, "%s", text);
    while (rc == 0 && (word = strtok_r(rest, BETWEEN, &rest)) != NULL) {
        if (out->n == CONFIG_USERS_MAX) {
            snprintf(cause, cause_len, "it names more than %d users and groups", CONFIG_USERS_MAX);
            return -E2BIG;
        }
        rc = user_parse(word, &out->at[out->n++], cause, cause_len);
    }
    if (rc == 0 && out->n == 0) {
        snprintf(cause, cause_len, "it names nobody");
        return -EINVAL;
    }
    return rc;
}

/* Parses FIRST-LAST, or FIRST alone. */
static bool range_parse(char *word, uint32_t *first, uint32_t *last)
{
    char *dash = strchr(word, '-');
    uint64_t a, b;

    if (dash != NULL)
        *dash = '\0';
    if (value_number(word, &a) != NULL || value_number(dash != NULL ? dash + 1 : word, &b) != NULL)
        return false;
    *first = (uint32_t)a;
    *last = (uint32_t)b;
    return a >= 1 && a <= b && b <= UINT16_MAX;
}

int config_services_parse(const char *text, struct config_services *out, char *cause,
                          size_t cause_len)
{
    char words[CONFIG_LIST_MAX], *rest = words, *word;

    memset(out, 0, sizeof *out);
    snprintf(out->text, sizeof out->text, "%s", text);
    snprintf(words, sizeof words, "%s", text);
    if (strcmp(text, "none") == 0) {
        out->n = 1; /* the range 0-0: no service has the number 0 */
        return 0;
    }
    while ((word = strtok_r(rest, BETWEEN, &rest)) != NULL) {
        if (out->n == CONFIG_SERVICES_MAX) {
            snprintf(cause, cause_len, "it has more than %d ranges", CONFIG_SERVICES_MAX);
            return -E2BIG;
        }
        if (!range_parse(word, &out->range[out->n].first, &out->range[out->n].last)) {
            snprintf(cause, cause_len, "it is not a list of services");
            return -EINVAL;
        }
        out->n++;
    }
    if (out->n == 0) {
        snprintf(cause, cause_len, "it lists no service");
        return -EINVAL;
    }
    return 0;
}
