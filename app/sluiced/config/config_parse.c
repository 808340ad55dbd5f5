/* SPDX-License-Identifier: BSD-3-Clause */
/* Converts one value of the configuration from text to its field, by the key's kind. See
 * config_key.h. */
#include "sluiced/config/config_key.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/value.h"
#include "crypto/key.h"
#include "crypto/secret.h"
#include "sluiced/config/config.h"

struct set {
    const struct config_key *key;
    const char *text;
    char *err;
    size_t err_len;
};

static int set_error(const struct set *s, const char *cause, const char *cure)
{
    snprintf(s->err, s->err_len, "\"%.80s\": %s; write %s, for example %s", s->text, cause, cure,
             s->key->example);
    return -EINVAL;
}

static bool is_size(enum config_kind kind)
{
    return kind == CONFIG_SIZE || kind == CONFIG_SIZE32;
}

static const char *limit_text(enum config_kind kind, uint64_t limit, char *buf)
{
    if (kind == CONFIG_RATE)
        return value_rate_text(limit, buf);
    if (kind == CONFIG_TIME)
        return value_time_text(limit, buf);
    if (kind == CONFIG_SIZE)
        return value_size_text(limit, buf);
    snprintf(buf, VALUE_TEXT_MAX, "%llu", (unsigned long long)limit);
    return buf;
}

static int set_limit_error(const struct set *s, bool low)
{
    const struct config_key *k = s->key;
    char min[VALUE_TEXT_MAX], max[VALUE_TEXT_MAX], cure[128];

    snprintf(cure, sizeof cure, "%s%s to %s%s", k->zero ? "0, or " : "",
             limit_text(k->kind, k->min, min), limit_text(k->kind, k->max, max),
             k->kind == CONFIG_SIZE32 ? " bytes" : "");
    return set_error(s, low ? "it is too small" : "it is too large", cure);
}

/* Parses a rate, size, time or plain number, and checks it against the key's limits. */
static int set_number(const struct set *s, uint64_t *out)
{
    const struct config_key *k = s->key;
    const char *cause;

    if (k->kind == CONFIG_RATE)
        cause = value_rate(s->text, out);
    else if (k->kind == CONFIG_TIME)
        cause = value_time(s->text, out);
    else if (is_size(k->kind))
        cause = value_size(s->text, out);
    else
        cause = value_number(s->text, out);
    if (cause != NULL) {
        return set_error(s, cause,
                         k->kind == CONFIG_RATE   ? "a rate"
                         : k->kind == CONFIG_TIME ? "a time"
                         : is_size(k->kind)       ? "a size"
                                                  : "a whole number");
    }
    if (*out == 0 && k->zero)
        return 0;
    if (*out < k->min || *out > k->max)
        return set_limit_error(s, *out < k->min);
    if (k->kind == CONFIG_POWER && (*out & (*out - 1)) != 0)
        return set_error(s, "it is not a power of two", "2, 4, 8, ...");
    return 0;
}

static int set_word(const struct set *s, uint32_t *out)
{
    const char *const *words = s->key->words;
    const char *nearest = NULL;
    char cause[160];
    size_t len;
    uint32_t i;

    for (i = 0; words[i] != NULL; i++) {
        if (strcmp(words[i], s->text) == 0) {
            *out = i;
            return 0;
        }
        if (nearest == NULL && value_distance(words[i], s->text) <= 2)
            nearest = words[i];
    }
    len = (size_t)snprintf(cause, sizeof cause, "it is none of");
    for (i = 0; words[i] != NULL; i++)
        len += (size_t)snprintf(cause + len, sizeof cause - len, " %s", words[i]);
    snprintf(s->err, s->err_len, "\"%.80s\": %s; %s %s", s->text, cause,
             nearest != NULL ? "did you mean" : "write for example",
             nearest != NULL ? nearest : s->key->example);
    return -EINVAL;
}

static int set_mac(const struct set *s, const char *text, struct config_mac *out)
{
    unsigned int b[6], i;
    char rest;

    if (strlen(text) != 17 || sscanf(text, "%2x:%2x:%2x:%2x:%2x:%2x%c", &b[0], &b[1], &b[2], &b[3],
                                     &b[4], &b[5], &rest) != 6)
        return set_error(s, "it is not a MAC address", "six hexadecimal bytes");
    for (i = 0; i < 6; i++)
        out->b[i] = (uint8_t)b[i];
    if (b[0] & 1)
        return set_error(s, "it is a multicast address", "one with an even first byte");
    if ((b[0] | b[1] | b[2] | b[3] | b[4] | b[5]) == 0)
        return set_error(s, "it is all zero", "a unicast address");
    out->set = true;
    return 0;
}

/* Parses an IPv4 address if `v4`, else an IPv6 address. Rejects one that no station can have. */
static int set_addr(const struct set *s, const char *text, bool v4, struct addr *out)
{
    static const struct addr loopback6 = {{[15] = 1}};
    const char *cure = v4 ? "an IPv4 address" : "an IPv6 address";

    if (addr_parse(text, out) != 0)
        return set_error(s, v4 ? "it is not an IPv4 address" : "it is not an IPv6 address", cure);
    if (addr_is_v4(out) != v4)
        return set_error(s, v4 ? "it is an IPv6 address" : "it is an IPv4 address", cure);
    if (addr_is_unset(out) || addr_is_multicast(out))
        return set_error(s, "no station can have this address", "a unicast address");
    if (v4 ? addr_to_v4(out) >> 24 == 127 : addr_equal(out, &loopback6))
        return set_error(s, "it is a loopback address", "one of the port's network");
    return 0;
}

/* Splits a list at its commas; returns the next entry without the blanks around it. */
static char *list_next(char **list)
{
    char *entry = strsep(list, ",");
    char *end;

    if (entry == NULL)
        return NULL;
    while (isspace((unsigned char)*entry))
        entry++;
    end = entry + strlen(entry);
    while (end > entry && isspace((unsigned char)end[-1]))
        *--end = '\0';
    return entry;
}

static int set_neighbor(const struct set *s, char *entry, struct config_neighbors *out)
{
    static const char cure[] = "ADDRESS MAC, for each neighbour, with commas between them";
    char *mac = entry + strcspn(entry, " \t");
    struct addr *a = &out->addr[out->n];
    int rc;

    if (*entry == '\0' || *mac == '\0')
        return set_error(s, "a neighbour has an address and a MAC address", cure);
    if (out->n == CONFIG_NEIGHBORS_MAX)
        return set_error(s, "it names more than 8 neighbours", "at most 8");
    *mac++ = '\0';
    mac += strspn(mac, " \t");
    rc = set_addr(s, entry, strchr(entry, ':') == NULL, a);
    if (rc == 0)
        rc = set_mac(s, mac, &out->mac[out->n]);
    if (rc != 0)
        return rc;
    for (uint32_t i = 0; i < out->n; i++)
        if (addr_equal(&out->addr[i], a))
            return set_error(s, "it names a neighbour twice", "each address once");
    out->n++;
    return 0;
}

static int set_neighbors(const struct set *s, struct config_neighbors *out)
{
    char text[CONFIG_VALUE_MAX], *list = text, *entry;
    int rc = 0;

    snprintf(text, sizeof text, "%s", s->text);
    *out = (struct config_neighbors){0};
    while (rc == 0 && (entry = list_next(&list)) != NULL)
        rc = set_neighbor(s, entry, out);
    return rc;
}

static int set_prefix(const struct set *s, struct config_prefix *out)
{
    bool v4 = s->key->kind == CONFIG_PREFIX4;
    char text[CONFIG_VALUE_MAX];
    char *slash;
    uint64_t len;
    int rc;

    snprintf(text, sizeof text, "%s", s->text);
    slash = strchr(text, '/');
    if (slash == NULL)
        return set_error(s, "its prefix length is missing",
                         v4 ? "ADDRESS/BITS" : "IPv6-ADDRESS/BITS");
    *slash = '\0';
    rc = set_addr(s, text, v4, &out->addr);
    if (rc != 0)
        return rc;
    if (!isdigit((unsigned char)slash[1]) || value_number(slash + 1, &len) != NULL ||
        len < s->key->min || len > s->key->max)
        return set_error(s, "its prefix length is wrong",
                         v4 ? "one of 1 to 32 bits" : "one of 1 to 128 bits");
    out->len = (uint32_t)len;
    return 0;
}

static int set_lcores(const struct set *s, struct config_lcores *out)
{
    static const char cure[] = "numbers and ranges of lcores";
    const char *p = s->text;

    out->n = 0;
    for (;;) {
        unsigned long first, last, i;
        char *end;

        if (!isdigit((unsigned char)*p))
            return set_error(s, "it is not a list of lcores", cure);
        first = last = strtoul(p, &end, 10);
        if (*end == '-') {
            if (!isdigit((unsigned char)end[1]))
                return set_error(s, "a range without its end", cure);
            last = strtoul(end + 1, &end, 10);
        }
        if (first > last)
            return set_error(s, "a range that runs backwards", cure);
        if (last > s->key->max)
            return set_error(s, "lcores end at 1023", cure);
        for (i = first; i <= last; i++) {
            if (out->n == CONFIG_LCORES_MAX)
                return set_error(s, "it names more than 32 lcores", "at most 32");
            out->id[out->n++] = (uint32_t)i;
        }
        p = end;
        while (isspace((unsigned char)*p))
            p++;
        if (*p == '\0')
            return 0;
        if (*p != ',')
            return set_error(s, "it is not a list of lcores", cure);
        p++;
        while (isspace((unsigned char)*p))
            p++;
    }
}

static int set_range(const struct set *s, struct config_range *out)
{
    char text[CONFIG_VALUE_MAX];
    uint64_t first, last;
    char *dash;

    snprintf(text, sizeof text, "%s", s->text);
    dash = strchr(text, '-');
    if (dash != NULL)
        *dash = '\0';
    if (value_number(text, &first) != NULL ||
        value_number(dash != NULL ? dash + 1 : text, &last) != NULL)
        return set_error(s, "it is not a range of numbers", "FIRST-LAST");
    if (first > last)
        return set_error(s, "a range that runs backwards", "FIRST-LAST");
    if (first < s->key->min)
        return set_limit_error(s, true);
    if (last > s->key->max)
        return set_limit_error(s, false);
    *out = (struct config_range){(uint32_t)first, (uint32_t)last};
    return 0;
}

static int set_public(const struct set *s, uint8_t *out)
{
    static const char cure[] = "the 44 characters that sluice key public prints on that host";

    if (key_parse(s->text, out) != 0)
        return set_error(s, "it is not a public key", cure);
    if (secret_unset(out, KEY_BYTES))
        return set_error(s, "no host has this key", cure);
    return 0;
}

static int set_users(const struct set *s, struct config_users *out)
{
    char cause[128];

    if (config_users_parse(s->text, out, cause, sizeof cause) != 0)
        return set_error(s, cause, "names or numbers of users, and groups behind an @");
    return 0;
}

static int set_services(const struct set *s, struct config_services *out)
{
    char cause[128];

    if (config_services_parse(s->text, out, cause, sizeof cause) != 0)
        return set_error(s, cause, "numbers from 1 to 65535, ranges of them, or none");
    return 0;
}

static int set_text(const struct set *s, char *out)
{
    char cause[64];

    if (strlen(s->text) > s->key->max) {
        snprintf(cause, sizeof cause, "it is longer than %llu bytes",
                 (unsigned long long)s->key->max);
        return set_error(s, cause, "a shorter one");
    }
    snprintf(out, s->key->max + 1, "%s", s->text);
    return 0;
}

int config_key_parse(const struct config_key *key, const char *text, void *base, char *err,
                     size_t err_len)
{
    const struct set s = {key, text, err, err_len};
    void *field = (char *)base + key->offset;
    uint64_t number = 0;
    int rc;

    switch (key->kind) {
    case CONFIG_TEXT:
        return set_text(&s, field);
    case CONFIG_RATE:
    case CONFIG_SIZE:
    case CONFIG_TIME:
        return set_number(&s, field);
    case CONFIG_SIZE32:
    case CONFIG_NUMBER:
    case CONFIG_POWER:
        rc = set_number(&s, &number);
        *(uint32_t *)field = (uint32_t)number;
        return rc;
    case CONFIG_WORD:
        return set_word(&s, field);
    case CONFIG_MAC:
        return set_mac(&s, text, field);
    case CONFIG_PREFIX4:
    case CONFIG_PREFIX6:
        return set_prefix(&s, field);
    case CONFIG_ADDR4:
    case CONFIG_ADDR6:
        return set_addr(&s, text, key->kind == CONFIG_ADDR4, field);
    case CONFIG_LCORES:
        return set_lcores(&s, field);
    case CONFIG_RANGE:
        return set_range(&s, field);
    case CONFIG_NEIGHBORS:
        return set_neighbors(&s, field);
    case CONFIG_PUBLIC:
        return set_public(&s, field);
    case CONFIG_USERS:
        return set_users(&s, field);
    case CONFIG_SERVICES:
        return set_services(&s, field);
    }
    return -EINVAL;
}
