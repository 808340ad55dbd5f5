/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One line of a manifest: the hashes of files, as `xxhsum -H2` writes and checks them, with
 * comments that only sluice reads. sluice(1), "Manifests", describes the format.
 *
 *     # sluice-manifest 1                           the first line of a manifest of sluice
 *     b5e9c1ad071b3e7fc779cfaa5e523818  NAME        a file, and the XXH3-128 of its content
 *     \b5e9c1ad071b3e7fc779cfaa5e523818  NA\nME     the same; NAME has \n, \r or \\ in it
 *     # link: NAME -> TARGET                        a symbolic link
 *     # complete: files 1, links 1, bytes 5         the last line: all files are listed
 *     # incomplete: files 1, links 1, bytes 5       or some are missing
 *
 * Invariant: entry_parse() reads what entry_write() writes, whatever bytes a name has, but for
 * zero. A name is escaped only if it has a line break: versions of xxhsum before 0.8.2 know no
 * escapes, and check all other names.
 */
#ifndef SLUICE_COMMAND_ENTRY_H
#define SLUICE_COMMAND_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/files/record.h"

#define ENTRY_NAME_MAX RECORD_NAME_MAX
/* Bytes of a line that entry_write() writes, with its line break. */
#define ENTRY_TEXT_MAX (64 + 2 * ENTRY_NAME_MAX + 2 * RECORD_TARGET_MAX)

enum entry_kind {
    ENTRY_COMMENT, /* or an empty line */
    ENTRY_BEGIN,
    ENTRY_FILE,
    ENTRY_LINK,
    ENTRY_COMPLETE,
    ENTRY_INCOMPLETE,
};

struct entry {
    enum entry_kind kind;
    uint8_t hash[RECORD_HASH_BYTES];
    const char *name, *target;
    uint64_t files, links, bytes; /* COMPLETE, INCOMPLETE: how many stand above, and their bytes */
};

/* Writes the line, with its line break. Returns its length. */
size_t entry_write(const struct entry *e, char text[ENTRY_TEXT_MAX]);

/*
 * Reads a line of len bytes without its line break, and text[len] is 0. ours: the manifest began
 * with ENTRY_BEGIN, so that its comments have a meaning. Returns NULL, or what is wrong with the
 * line. Names point into the text, which is overwritten.
 */
const char *entry_parse(struct entry *e, char *text, size_t len, bool ours);

/* Writes the name with escapes, if it has a line break, else as it is; size: of `out`, at least
 * 2 * strlen(name) + 1. Returns whether there are escapes. */
bool entry_escape(char *out, const char *name);

#endif
