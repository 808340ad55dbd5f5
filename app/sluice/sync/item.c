/* SPDX-License-Identifier: BSD-3-Clause */
/* The lines of --itemize. See item.h. */
#include "sluice/sync/item.h"

#include <stdio.h>
#include <string.h>

#include "console/text.h"

#define LETTERS  11
#define LINE_MAX 4000 /* a message to the near end holds it */

/* Places of the letters. */
enum { AT_DONE, AT_KIND, AT_CONTENT, AT_SIZE, AT_TIME, AT_MODE, AT_OWNER, AT_GROUP };
enum { AT_ACL = 9, AT_XATTR };

static void item_say(const struct sync_options *o, const char *letters, const char *name,
                     const char *rest)
{
    char raw[LETTERS + 2 + RECORD_NAME_MAX + 5 + RECORD_TARGET_MAX], line[LINE_MAX];

    snprintf(raw, sizeof raw, "%-*s %s%s", LETTERS, letters, name, rest);
    o->say(o->context, text_safe(line, sizeof line, raw));
}

/* Notes what settle_look() has found. */
static void item_settled(char letters[LETTERS + 1], uint32_t differs)
{
    if ((differs & SETTLE_MODE) != 0)
        letters[AT_MODE] = 'p';
    if ((differs & SETTLE_OWNER) != 0)
        letters[AT_OWNER] = 'o';
    if ((differs & SETTLE_GROUP) != 0)
        letters[AT_GROUP] = 'g';
    if ((differs & SETTLE_ACL) != 0)
        letters[AT_ACL] = 'a';
    if ((differs & SETTLE_XATTR) != 0)
        letters[AT_XATTR] = 'x';
}

/* Notes what differs in `letters`. True if anything does, or if nothing was there. */
static bool item_compare(const struct sync *s, char letters[LETTERS + 1], const struct stat *before,
                         const struct record *r, bool content)
{
    bool mode = r->type != RECORD_LINK;

    memset(letters, before == NULL ? '+' : '.', LETTERS);
    letters[LETTERS] = 0;
    if (before == NULL)
        return true;
    if (content)
        letters[AT_CONTENT] = 'c';
    if (r->type != RECORD_DIR && mode && (uint64_t)before->st_size != r->size)
        letters[AT_SIZE] = 's';
    if (before->st_mtim.tv_sec != r->mtime_s || before->st_mtim.tv_nsec != (int64_t)r->mtime_ns)
        letters[AT_TIME] = 't';
    if (mode && ((before->st_mode ^ r->mode) & 0777) != 0)
        letters[AT_MODE] = 'p';
    item_settled(letters, s->settle.differs);
    return strspn(letters, ".") < LETTERS;
}

void item_file(const struct sync *s, const char *name, const struct stat *before,
               const struct record *r, bool moved)
{
    const struct sync_options *o = s->options;
    const struct stat *file = before != NULL && S_ISREG(before->st_mode) ? before : NULL;
    char letters[LETTERS + 1];

    if (!o->itemize || (!item_compare(s, letters, file, r, moved && o->checksum) && !moved))
        return;
    letters[AT_DONE] = moved ? (o->push ? '<' : '>') : '.';
    letters[AT_KIND] = 'f';
    item_say(o, letters, name, "");
}

void item_directory(const struct sync *s, const char *name, const struct stat *before,
                    const struct record *r)
{
    char letters[LETTERS + 1];

    if (!s->options->itemize || !item_compare(s, letters, before, r, false))
        return;
    letters[AT_DONE] = before == NULL ? 'c' : '.';
    letters[AT_KIND] = 'd';
    item_say(s->options, letters, name[0] == 0 ? "." : name, "/");
}

void item_link(const struct sync *s, const char *name, const char *target,
               const struct stat *before, bool same, const struct record *r)
{
    char letters[LETTERS + 1], rest[5 + RECORD_TARGET_MAX];

    if (!s->options->itemize || !item_compare(s, letters, before, r, !same))
        return;
    letters[AT_DONE] = before == NULL || !same ? 'c' : '.';
    letters[AT_KIND] = 'L';
    snprintf(rest, sizeof rest, " -> %s", target);
    item_say(s->options, letters, name, rest);
}

void item_hard(const struct sync *s, const char *name, const char *first, const struct stat *before,
               const struct record *r)
{
    const struct stat *file = before != NULL && S_ISREG(before->st_mode) ? before : NULL;
    char letters[LETTERS + 1], rest[5 + RECORD_NAME_MAX];

    if (!s->options->itemize)
        return;
    /* As rsync has it: dots are blanks where only the link is new. */
    if (!item_compare(s, letters, file, r, false))
        memset(letters, ' ', LETTERS);
    letters[AT_DONE] = 'h';
    letters[AT_KIND] = 'f';
    snprintf(rest, sizeof rest, " => %s", first);
    item_say(s->options, letters, name, rest);
}

void item_deleted(const struct sync_options *o, const char *name, bool directory)
{
    if (o->itemize)
        item_say(o, "*deleting", name, directory ? "/" : "");
}
