/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a transfer needs to know if it is one end of `sluice cp`: its two ends were started for each
 * other, and share a token.
 *
 * The sender shows the token in its first record, and the receiver takes no other sender. The near
 * end, which the user sees, reports how the files ended; the far end says nothing about that,
 * unless both ends are far ones: then the sender does.
 */
#ifndef SLUICE_COMMAND_COPY_H
#define SLUICE_COMMAND_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include "client/sluice.h"
#include "sluice/files/record.h"

struct progress_view;
struct summary;

/* A far sender hands these what a near end would report itself. */
struct copy_report {
    void (*progress)(void *context, const struct progress_view *v);
    /* A file is in its place at the receiver. */
    void (*file)(void *context, const char *name, uint64_t bytes);
    /* A file, directory or link is not, or not as it should be. code: of its RESULT, which nobody
     * has told the user; 0: the user knows, or need not. */
    void (*failed)(void *context, const char *name, uint32_t code, const char *cause);
    /* Of a connection that was open. */
    void (*summary)(void *context, const struct summary *s);
};

struct copy {
    const char *host; /* of the far end, for messages; NULL: this is the far end */
    const char
        *origin; /* far receiver: stands for the host that sends; NULL: that is the near end */
    uint8_t token[RECORD_TOKEN_BYTES];
    /* Receiver: what the user asked for, by paths of the host that sends. */
    char *const *paths;
    int n_paths;                      /* 0: any name is taken */
    bool recursive;                   /* receiver: the user asked for directories, too */
    bool contents;                    /* receiver: of "DIR/", the user asked for what is in there */
    const struct copy_report *report; /* far sender; NULL: the near end, which receives, reports */

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

/* Whether two tokens are equal; takes the same time wherever they differ. */
bool copy_same_token(const uint8_t a[RECORD_TOKEN_BYTES], const uint8_t b[RECORD_TOKEN_BYTES]);
/* Whether the token is that of the copy. */
bool copy_proves(const struct copy *c, const uint8_t token[RECORD_TOKEN_BYTES]);
/* Whether a file, or a directory, of this name, which name_check() has passed, was asked for. */
bool copy_asked(const struct copy *c, const char *name, bool directory);

#endif
