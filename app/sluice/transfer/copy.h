/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a transfer needs to know if it is one end of `sluice cp`: its two ends were started for each
 * other, and share a token.
 *
 * The sender shows the token in its first record, and the receiver takes no other sender. The near
 * end, which the user sees, reports how the files ended; the far end says nothing about that.
 */
#ifndef SLUICE_COMMAND_COPY_H
#define SLUICE_COMMAND_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include "client/sluice.h"
#include "sluice/files/record.h"

struct copy {
    const char *host; /* of the far end, for messages; NULL: this is the far end */
    uint8_t token[RECORD_TOKEN_BYTES];
    char *const *paths; /* near end, as the receiver: what it asked for, by paths of the far host */
    int n_paths;        /* 0: any name is taken */
    bool recursive;     /* near end, as the receiver: it asked for directories, too */
    bool contents;      /* near end, as the receiver: of "DIR/", it asked for what is in there */

    void *context;
    /* Receiver: it accepts on `service` now. Returns an exit code. */
    int (*ready)(void *context, struct sluice *session, uint16_t service);
    /* Near end: whether the far end has ended. NULL at the far end. */
    bool (*over)(void *context);
    /* Near end: waits until the far end has ended. Returns an exit code: `code`, if that is not 0.
     * NULL at the far end. */
    int (*finish)(void *context, int code);
};

static inline bool copy_is_far(const struct copy *c)
{
    return c != NULL && c->host == NULL;
}

/* Whether the token is that of the copy; takes the same time wherever they differ. */
bool copy_proves(const struct copy *c, const uint8_t token[RECORD_TOKEN_BYTES]);
/* Whether a file, or a directory, of this name, which name_check() has passed, was asked for. */
bool copy_asked(const struct copy *c, const char *name, bool directory);

#endif
