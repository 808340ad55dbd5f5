/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One operand of `sluice cp`: a local path, or a path on another host, as scp has it.
 *
 *     [USER@]HOST:PATH   remote; HOST may be an IPv6 address in brackets
 *     anything else      local: there is no colon, or a slash comes before it, or it comes first
 */
#ifndef SLUICE_COMMAND_OPERAND_H
#define SLUICE_COMMAND_OPERAND_H

#define OPERAND_HOST_MAX 256

struct operand {
    const char *path;            /* within the text; of a remote one, "" is the home directory */
    char host[OPERAND_HOST_MAX]; /* "USER@HOST" or "HOST", without brackets; "": local */
};

/* Returns NULL, or what is wrong with the text. A host that passes has no character that means
 * something to a shell, and does not look like an option. */
const char *operand_read(struct operand *o, const char *text);

#endif
