/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads a manifest from a file. See reader.h. */
#include "sluice/manifest/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console/text.h"
#include "sluice/files/name.h"
#include "sluice/manifest/entry.h"
#include "sluice/say.h"

#define ERRORS_MAX 10 /* lines that are named */

struct reader {
    struct manifest *manifest;
    bool anywhere;
    const char *shown; /* the file, for messages */
    uint64_t line, errors;
    bool began, ended, no_memory;
    struct entry end; /* the last line */
};

static void reader_wrong(struct reader *r, uint64_t line, const char *why)
{
    const char *cure = strchr(why, ';') != NULL ? "" : "; correct it, or get the manifest again";

    if (++r->errors <= ERRORS_MAX)
        say_error(SAY_LOCAL, "%s: line %" PRIu64 " %s%s", r->shown, line, why, cure);
}

/* Removes components "." and empty ones, as `find .` and xxhsum leave them. */
static void name_clean(char *name)
{
    const char *at = name;
    char *to = name;

    if (*at == '/')
        *to++ = *at++;
    while (*at != 0) {
        size_t len = strcspn(at, "/");

        if (len > 0 && !(len == 1 && at[0] == '.')) {
            memmove(to, at, len);
            to += len;
            if (at[len] == '/')
                *to++ = '/';
        }
        at += len + (at[len] == '/');
    }
    *to = 0;
}

/* NULL, or why no file is looked for under this name. */
static const char *name_wrong(const struct reader *r, const char *name, char *why, size_t size)
{
    const char *wrong = name_check(name, strlen(name));

    if (wrong == NULL || (r->anywhere && name[0] != 0 && strlen(name) <= ENTRY_NAME_MAX))
        return NULL;
    snprintf(why, size, "has a name that is refused: %s%s", wrong,
             strstr(wrong, "absolute") != NULL || strstr(wrong, "\"..\"") != NULL
                 ? "; --anywhere takes it, if you trust the manifest"
                 : "");
    return why;
}

static void reader_add(struct reader *r, const struct entry *e)
{
    struct manifest_item *item;
    char why[192];

    name_clean((char *)(uintptr_t)e->name);
    if (name_wrong(r, e->name, why, sizeof why) != NULL) {
        reader_wrong(r, r->line, why);
        return;
    }
    item = manifest_add(r->manifest, e->name, e->target);
    if (item == NULL) {
        r->no_memory = true;
        return;
    }
    item->line = r->line;
    memcpy(item->hash, e->hash, sizeof item->hash);
}

static void reader_line(struct reader *r, char *text, size_t len)
{
    struct entry e;
    const char *wrong = entry_parse(&e, text, len, r->began);

    if (wrong == NULL && r->ended)
        wrong = "follows the last line of the manifest; keep one manifest in a file";
    if (wrong == NULL && e.kind == ENTRY_BEGIN && r->line > 1)
        wrong = "begins a manifest within another; keep one manifest in a file";
    if (wrong != NULL) {
        reader_wrong(r, r->line, wrong);
        return;
    }
    r->began |= e.kind == ENTRY_BEGIN;
    if (e.kind == ENTRY_FILE || e.kind == ENTRY_LINK)
        reader_add(r, &e);
    if (e.kind == ENTRY_COMPLETE || e.kind == ENTRY_INCOMPLETE) {
        r->ended = true;
        r->end = e;
    }
}

/* Compares the last line with what stands above it. */
static void reader_end(struct reader *r)
{
    struct manifest *m = r->manifest;
    uint64_t links = 0;
    size_t i;

    if (!r->began || r->errors > 0)
        return;
    for (i = 0; i < m->n; i++)
        links += m->items[i].target != NULL;
    if (!r->ended)
        reader_wrong(r, r->line, "is no last line; the manifest was cut off, so get it again");
    else if (r->end.files + r->end.links != m->n || r->end.links != links)
        reader_wrong(r, r->line, "names another number of files; the manifest was changed");
    m->ours = true;
    m->incomplete = r->end.kind == ENTRY_INCOMPLETE;
    m->bytes = r->end.bytes;
}

/* Two lines may name one file, if they say the same of it. */
static void reader_compare(struct reader *r)
{
    const struct manifest *m = r->manifest;
    char why[64];
    size_t i;

    for (i = 1; i < m->n; i++) {
        const struct manifest_item *a = &m->items[i - 1], *b = &m->items[i];
        bool links = a->target != NULL && b->target != NULL;

        if (strcmp(a->name, b->name) != 0 ||
            (links ? strcmp(a->target, b->target) == 0
                   : a->target == b->target && memcmp(a->hash, b->hash, sizeof a->hash) == 0))
            continue;
        snprintf(why, sizeof why, "says something else than line %" PRIu64 " of the same name",
                 a->line);
        reader_wrong(r, b->line, why);
    }
}

static int reader_lines(struct reader *r, FILE *in)
{
    char *line = NULL;
    size_t size = 0;
    ssize_t n;
    int err = 0;

    while (errno = 0, (n = getline(&line, &size, in)) >= 0) {
        r->line++;
        if (n > 0 && line[n - 1] == '\n')
            line[--n] = 0;
        reader_line(r, line, (size_t)n);
    }
    if (!feof(in))
        err = errno == 0 ? -EIO : -errno;
    free(line);
    return err;
}

int reader_read(struct manifest *m, const char *path, bool anywhere)
{
    FILE *in = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    char shown[256];
    struct reader r = {.manifest = m, .anywhere = anywhere, .shown = shown};
    int err;

    text_safe(shown, sizeof shown, in == stdin ? "standard input" : path);
    if (in == NULL)
        return say_error(SAY_LOCAL, "%s: %s; name a manifest that can be read", shown,
                         strerror(errno));
    err = reader_lines(&r, in);
    if (in != stdin)
        fclose(in);
    if (err < 0)
        return say_error(SAY_LOCAL, "%s: %s; name a manifest that can be read", shown,
                         strerror(-err));
    if (r.no_memory)
        return say_error(SAY_RESOURCE, "%s: no memory; end other programs first", shown);
    reader_end(&r);
    manifest_sort(m);
    reader_compare(&r);
    manifest_unique(m);
    if (r.errors > ERRORS_MAX)
        say_error(SAY_LOCAL, "%s: %" PRIu64 " more lines are wrong", shown, r.errors - ERRORS_MAX);
    if (r.errors > 0)
        return SAY_LOCAL;
    if (m->n == 0 && !m->ours)
        return say_error(SAY_LOCAL, "%s: has no hash; name a manifest", shown);
    return SAY_OK;
}
