/* SPDX-License-Identifier: BSD-3-Clause */
/* One line of a manifest. See entry.h. */
#include "sluice/manifest/entry.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sluice/files/digest.h"

#define HASH_DIGITS (2 * RECORD_HASH_BYTES)
#define BEGIN       "# sluice-manifest "
#define VERSION     "1"
#define LINK        "# link: "
#define ARROW       " -> "
#define TAG         "XXH128 (" /* of a BSD line: "XXH128 (NAME) = HASH" */
#define TAG_END     ") = "

/* ---- writing ------------------------------------------------------------------------------- */

/* Writes the name with escapes: those of xxhsum, and \> if `arrow`. Returns the end. */
static char *escape(char *to, const char *name, bool arrow)
{
    for (; *name != 0; name++) {
        char c = *name == '\n' ? 'n' : *name == '\r' ? 'r' : *name;

        if (c != *name || c == '\\' || (arrow && c == '>'))
            *to++ = '\\';
        *to++ = c;
    }
    *to = 0;
    return to;
}

bool entry_escape(char *out, const char *name)
{
    bool breaks = strpbrk(name, "\n\r") != NULL;

    if (breaks)
        escape(out, name, false);
    else
        strcpy(out, name);
    return breaks;
}

static size_t write_file(const struct entry *e, char *text)
{
    char *at = text;

    if (strpbrk(e->name, "\n\r") != NULL)
        *at++ = '\\';
    digest_hex(at, e->hash);
    at += HASH_DIGITS;
    *at++ = ' ';
    *at++ = ' ';
    entry_escape(at, e->name);
    at += strlen(at);
    *at++ = '\n';
    return (size_t)(at - text);
}

static size_t write_link(const struct entry *e, char *text)
{
    char *at = stpcpy(text, LINK);

    at = escape(at, e->name, true);
    at = stpcpy(at, ARROW);
    at = escape(at, e->target, false);
    *at++ = '\n';
    return (size_t)(at - text);
}

static size_t write_end(const struct entry *e, char *text)
{
    return (size_t)snprintf(
        text, ENTRY_TEXT_MAX, "# %s: files %" PRIu64 ", links %" PRIu64 ", bytes %" PRIu64 "\n",
        e->kind == ENTRY_COMPLETE ? "complete" : "incomplete", e->files, e->links, e->bytes);
}

size_t entry_write(const struct entry *e, char text[ENTRY_TEXT_MAX])
{
    switch (e->kind) {
    case ENTRY_BEGIN:
        return (size_t)(stpcpy(text, BEGIN VERSION "\n") - text);
    case ENTRY_FILE:
        return write_file(e, text);
    case ENTRY_LINK:
        return write_link(e, text);
    case ENTRY_COMPLETE:
    case ENTRY_INCOMPLETE:
        return write_end(e, text);
    default:
        return (size_t)(stpcpy(text, "#\n") - text);
    }
}

/* ---- reading ------------------------------------------------------------------------------- */

static int digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Reads hex digits at `text`, as many as there are, for a hash. Returns their number. */
static size_t parse_hash(uint8_t hash[RECORD_HASH_BYTES], const char *text)
{
    size_t n;

    for (n = 0; digit(text[n]) >= 0; n++) {
        if (n < HASH_DIGITS)
            hash[n / 2] =
                (uint8_t)(n % 2 == 0 ? digit(text[n]) << 4 : hash[n / 2] | digit(text[n]));
    }
    return n;
}

/* Replaces the escapes. False: there is an escape that does not exist. */
static bool unescape(char *text, bool arrow)
{
    char *to = text;

    for (; *text != 0; text++) {
        char c = *text;

        if (c == '\\') {
            c = *++text;
            if (c != 'n' && c != 'r' && c != '\\' && !(arrow && c == '>'))
                return false;
            c = c == 'n' ? '\n' : c == 'r' ? '\r' : c;
        }
        *to++ = c;
    }
    *to = 0;
    return true;
}

/* Finds hash and name of a line with a tag, as BSD writes it. False: it is none. */
static bool parse_tagged(struct entry *e, char *text, char **name)
{
    char *end = NULL, *next = text;

    if (strncmp(text, TAG, sizeof TAG - 1) != 0)
        return false;
    while ((next = strstr(next, TAG_END)) != NULL)
        end = next++;
    if (end == NULL || parse_hash(e->hash, end + sizeof TAG_END - 1) != HASH_DIGITS ||
        end[sizeof TAG_END - 1 + HASH_DIGITS] != 0)
        return false;
    *name = text + sizeof TAG - 1;
    *end = 0;
    return true;
}

static const char *parse_file(struct entry *e, char *text)
{
    bool escaped = text[0] == '\\';
    size_t digits;
    char *name;

    text += escaped;
    if (!parse_tagged(e, text, &name)) {
        digits = parse_hash(e->hash, text);
        if (digits < 8 || text[digits] != ' ' ||
            (text[digits + 1] != ' ' && text[digits + 1] != '*'))
            return "is no hash and name";
        if (digits != HASH_DIGITS)
            return "has a hash that is no XXH3-128, as xxhsum -H2 writes it";
        name = text + HASH_DIGITS + 2;
    }
    if (escaped && !unescape(name, false))
        return "has a backslash that is followed by none of \\, n and r";
    if (name[0] == 0)
        return "has no name";
    if (!escaped && name[strlen(name) - 1] == '\r')
        return "ends in CR LF; convert the manifest to lines that end in LF";
    e->kind = ENTRY_FILE;
    e->name = name;
    return NULL;
}

static const char *parse_link(struct entry *e, char *text)
{
    char *name = text + sizeof LINK - 1, *arrow = strstr(name, ARROW);

    if (arrow == NULL)
        return "is a link without a target";
    e->target = arrow + sizeof ARROW - 1;
    *arrow = 0;
    if (!unescape(name, true) || !unescape(arrow + sizeof ARROW - 1, false))
        return "has a backslash that is followed by none of \\, n, r and >";
    if (name[0] == 0 || e->target[0] == 0)
        return "is a link without a name, or without a target";
    e->kind = ENTRY_LINK;
    e->name = name;
    return NULL;
}

/* Whether the line is a last one, exactly as write_end() writes it. */
static bool parse_end(struct entry *e, const char *text, size_t len)
{
    char written[ENTRY_TEXT_MAX];

    e->kind = strncmp(text, "# c", 3) == 0 ? ENTRY_COMPLETE : ENTRY_INCOMPLETE;
    if (sscanf(text, "# %*[a-z]: files %" SCNu64 ", links %" SCNu64 ", bytes %" SCNu64, &e->files,
               &e->links, &e->bytes) == 3 &&
        write_end(e, written) == len + 1 && memcmp(written, text, len) == 0)
        return true;
    e->kind = ENTRY_COMMENT;
    return false;
}

static const char *parse_comment(struct entry *e, char *text, size_t len, bool ours)
{
    e->kind = ENTRY_COMMENT;
    if (!ours && strncmp(text, BEGIN, sizeof BEGIN - 1) == 0) {
        if (text[len - 1] == '\r')
            return "ends in CR LF; convert the manifest to lines that end in LF";
        if (strcmp(text + sizeof BEGIN - 1, VERSION) != 0)
            return "begins a manifest of another version of sluice; use that version";
        e->kind = ENTRY_BEGIN;
        return NULL;
    }
    if (ours && strncmp(text, LINK, sizeof LINK - 1) == 0)
        return parse_link(e, text);
    if (ours)
        parse_end(e, text, len);
    return NULL;
}

const char *entry_parse(struct entry *e, char *text, size_t len, bool ours)
{
    memset(e, 0, sizeof *e);
    if (memchr(text, 0, len) != NULL)
        return "has a zero byte";
    if (text[0] == '#' || text[0] == 0)
        return parse_comment(e, text, len, ours);
    return parse_file(e, text);
}
