/* SPDX-License-Identifier: BSD-3-Clause */
/* See config_lines.h. */
#include "sluiced/config/config_lines.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <rte_cfgfile.h>

#include "base/value.h"

struct scan {
    struct config_map *map;
    const char *path;
    uint32_t line;
    char section[64];
    char *err;
    size_t err_len;
};

__attribute__((format(printf, 2, 3))) static int scan_error(struct scan *s, const char *format, ...)
{
    char text[256];
    va_list ap;

    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    if (s->section[0] != '\0')
        snprintf(s->err, s->err_len, "%s:%u: [%s] %s", s->path, s->line, s->section, text);
    else
        snprintf(s->err, s->err_len, "%s:%u: %s", s->path, s->line, text);
    return -EINVAL;
}

static int map_add(struct scan *s, const char *key)
{
    struct config_line *l;

    if (s->map->n == CONFIG_LINES_MAX)
        return scan_error(s, "the file has more than %d settings; remove some", CONFIG_LINES_MAX);
    l = &s->map->lines[s->map->n++];
    snprintf(l->section, sizeof l->section, "%s", s->section);
    snprintf(l->key, sizeof l->key, "%s", key);
    l->line = s->line;
    return 0;
}

static int scan_section(struct scan *s, char *text)
{
    char *end = strchr(text, ']');
    char *name;
    uint32_t before;

    s->section[0] = '\0';
    if (end == NULL)
        return scan_error(s, "\"%.60s\": a section without its ']'; write [name]", text);
    if (*value_strip(end + 1) != '\0')
        return scan_error(s, "\"%.60s\" follows a section's ']'; put it on a line of its own",
                          value_strip(end + 1));
    *end = '\0';
    name = value_strip(text + 1);
    if (*name == '\0')
        return scan_error(s, "a section without a name; write [daemon] or [port NAME]");
    if (strlen(name) >= sizeof s->section)
        return scan_error(s, "a section's name is longer than %zu bytes; shorten it",
                          sizeof s->section - 1);
    before = config_lines_find(s->map, name, "");
    if (before != 0)
        return scan_error(s, "[%s] occurs twice, first in line %u; merge them", name, before);
    snprintf(s->section, sizeof s->section, "%s", name);
    return map_add(s, "");
}

static int scan_key(struct scan *s, char *text)
{
    char *equal = strchr(text, '=');
    char *key, *value;
    uint32_t before;

    if (equal == NULL)
        return scan_error(s,
                          "\"%.60s\" is neither [section] nor key = value; write '=' between the "
                          "key and its value, or # before a comment",
                          text);
    *equal = '\0';
    key = value_strip(text);
    value = value_strip(equal + 1);
    if (*key == '\0')
        return scan_error(s, "\"= %.60s\": a value without a key; write key = value", value);
    if (s->section[0] == '\0')
        return scan_error(
            s, "%.60s: a key before any section; put [daemon] or [port NAME] above it", key);
    if (*value == '\0')
        return scan_error(s, "%.60s: no value; give it one, or remove the line for the default",
                          key);
    if (strlen(key) >= CFG_NAME_LEN)
        return scan_error(s, "%.60s...: unknown key; remove the line", key);
    if (strlen(value) >= CFG_VALUE_LEN)
        return scan_error(s, "%s: the value is longer than %d bytes; shorten it", key,
                          CFG_VALUE_LEN - 1);
    before = config_lines_find(s->map, s->section, key);
    if (before != 0)
        return scan_error(s, "%s: occurs twice, first in line %u; remove one", key, before);
    return map_add(s, key);
}

static int scan_line(struct scan *s, char *text)
{
    text = value_line(text);
    if (*text == '\0')
        return 0;
    return *text == '[' ? scan_section(s, text) : scan_key(s, text);
}

int config_lines_read(struct config_map *map, const char *path, char *err, size_t err_len)
{
    struct scan s = {.map = map, .path = path, .err = err, .err_len = err_len};
    char text[CFG_NAME_LEN + CFG_VALUE_LEN + 4];
    FILE *f = fopen(path, "r");
    int rc = 0;

    map->n = 0;
    if (f == NULL) {
        rc = -errno;
        snprintf(err, err_len, "%s: cannot be read: %s; name a readable file with --config FILE",
                 path, strerror(-rc));
        return rc;
    }
    while (rc == 0 && fgets(text, sizeof text, f) != NULL) {
        size_t len = strlen(text);

        s.line++;
        if (len == sizeof text - 1 && text[len - 1] != '\n')
            rc = scan_error(&s, "the line is longer than %zu bytes; shorten it", sizeof text - 2);
        else
            rc = scan_line(&s, text);
    }
    if (rc == 0 && ferror(f)) {
        rc = -EIO;
        snprintf(err, err_len, "%s: cannot be read: %s; name a readable file with --config FILE",
                 path, strerror(errno));
    }
    fclose(f);
    return rc;
}

uint32_t config_lines_find(const struct config_map *map, const char *section, const char *key)
{
    uint32_t i;

    for (i = 0; i < map->n; i++) {
        const struct config_line *l = &map->lines[i];

        if (strcmp(l->section, section) == 0 && strcmp(l->key, key) == 0)
            return l->line;
    }
    return 0;
}

uint32_t config_lines_after(const char *path, uint32_t line, const char *key)
{
    struct config_map map;
    char err[256];

    if (config_lines_read(&map, path, err, sizeof err) == 0)
        for (uint32_t i = 0; i < map.n; i++)
            if (map.lines[i].line >= line && strcmp(map.lines[i].key, key) == 0)
                return map.lines[i].line;
    return line;
}

void config_lines_error(const char *path, uint32_t line, const char *section, const char *key,
                        const char *why, char *err, size_t err_len)
{
    snprintf(err, err_len, "%s:%u: [%s] %s: %s", path, config_lines_after(path, line, key), section,
             key, why);
}
