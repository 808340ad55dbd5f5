/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scans the lines of an INI file. It finds the line of each section and key, because rte_cfgfile
 * has no line numbers. It rejects what rte_cfgfile would pass over in silence (a line without '=',
 * text after ']', a key twice).
 *
 *   [section]
 *   key = value   # from # to the end of the line is a comment; \# is a #
 *
 * Invariant: after config_lines_read() returned 0, every section and key of the file is in the map
 * once, and names and values are not empty and fit rte_cfgfile's buffers.
 */
#ifndef SLUICED_CONFIG_LINES_H
#define SLUICED_CONFIG_LINES_H

#include <stddef.h>
#include <stdint.h>

#define CONFIG_LINES_MAX 1024

struct config_line {
    char section[64];
    char key[64]; /* "": the line of the section itself */
    uint32_t line;
};

struct config_map {
    uint32_t n;
    struct config_line lines[CONFIG_LINES_MAX];
};

/* 0, or negative errno with a line in err. */
int config_lines_read(struct config_map *map, const char *path, char *err, size_t err_len);
/* Line of a key, or of the section if key is ""; 0 if it is not in the file. */
uint32_t config_lines_find(const struct config_map *map, const char *section, const char *key);
/* For errors that are found later: line of the first `key` at or after a line of the file, such as
 * that of its section; that line itself if there is none. */
uint32_t config_lines_after(const char *path, uint32_t line, const char *key);
/* Writes "PATH:LINE: [SECTION] KEY: WHY" to err, where LINE is config_lines_after(). */
void config_lines_error(const char *path, uint32_t line, const char *section, const char *key,
                        const char *why, char *err, size_t err_len);

#endif
