/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads files below the doctor's root, and reports findings. See doctor.h. */
#include "sluice/doctor/doctor.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void doctor_tell(const struct doctor *d, const char *check, enum doctor_level level,
                 const char *format, ...)
{
    struct doctor_finding f = {.check = check, .level = level};
    char text[2 * DOCTOR_TEXT];
    va_list args;
    char *cure;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    cure = strchr(text, '\n');
    if (cure != NULL) {
        *cure = 0;
        snprintf(f.cure, sizeof f.cure, "%.*s", DOCTOR_TEXT - 1, cure + 1);
    }
    snprintf(f.text, sizeof f.text, "%.*s", DOCTOR_TEXT - 1, text);
    d->tell(d->ctx, &f);
}

static void tree_path(const struct doctor *d, char out[DOCTOR_PATH], const char *format,
                      va_list args)
{
    size_t len = (size_t)snprintf(out, DOCTOR_PATH, "%s", d->root);

    if (len < DOCTOR_PATH)
        vsnprintf(out + len, DOCTOR_PATH - len, format, args);
}

const char *doctor_path(const struct doctor *d, char out[DOCTOR_PATH], const char *format, ...)
{
    va_list args;

    va_start(args, format);
    tree_path(d, out, format, args);
    va_end(args);
    return out;
}

static bool tree_text(const char *path, char *out, size_t out_len)
{
    FILE *f = fopen(path, "re");
    size_t n;

    *out = 0;
    if (f == NULL)
        return false;
    n = fread(out, 1, out_len - 1, f);
    fclose(f);
    while (n > 0 && isspace((unsigned char)out[n - 1]))
        n--;
    out[n] = 0;
    return true;
}

bool doctor_read(const struct doctor *d, char *out, size_t out_len, const char *format, ...)
{
    char path[DOCTOR_PATH];
    va_list args;

    va_start(args, format);
    tree_path(d, path, format, args);
    va_end(args);
    return tree_text(path, out, out_len);
}

long doctor_number(const struct doctor *d, const char *format, ...)
{
    char path[DOCTOR_PATH], text[64], *end;
    va_list args;
    long n;

    va_start(args, format);
    tree_path(d, path, format, args);
    va_end(args);
    if (!tree_text(path, text, sizeof text))
        return -1;
    n = strtol(text, &end, 0);
    return end == text ? -1 : n;
}

const char *doctor_value(const char *text, const char *name)
{
    const char *at = strstr(text, name);

    if (at == NULL)
        return NULL;
    at += strlen(name);
    return at + strspn(at, ": \t");
}

void doctor_cpu_list(const char *list, cpu_set_t *out)
{
    CPU_ZERO(out);
    while (*list >= '0' && *list <= '9') {
        char *end;
        unsigned long first = strtoul(list, &end, 10), last = first;

        if (*end == '-')
            last = strtoul(end + 1, &end, 10);
        for (; first <= last && first < CPU_SETSIZE; first++)
            CPU_SET(first, out);
        if (*end != ',')
            break;
        list = end + 1;
    }
}

bool doctor_there(const struct doctor *d, const char *format, ...)
{
    char path[DOCTOR_PATH];
    va_list args;

    va_start(args, format);
    tree_path(d, path, format, args);
    va_end(args);
    return access(path, F_OK) == 0;
}

bool doctor_link(const struct doctor *d, char *out, size_t out_len, const char *format, ...)
{
    char path[DOCTOR_PATH], to[DOCTOR_PATH];
    const char *last;
    va_list args;
    ssize_t n;

    va_start(args, format);
    tree_path(d, path, format, args);
    va_end(args);
    n = readlink(path, to, sizeof to - 1);
    if (n < 0)
        return false;
    to[n] = 0;
    last = strrchr(to, '/');
    snprintf(out, out_len, "%s", last != NULL ? last + 1 : to);
    return true;
}

size_t doctor_glob(const struct doctor *d, glob_t *g, const char *format, ...)
{
    char path[DOCTOR_PATH];
    va_list args;

    va_start(args, format);
    tree_path(d, path, format, args);
    va_end(args);
    memset(g, 0, sizeof *g);
    return glob(path, 0, NULL, g) == 0 ? g->gl_pathc : 0;
}
