/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts what cannot be kept of files, so that one line tells it however many files there are. */
#ifndef SLUICE_COMMAND_LOSS_H
#define SLUICE_COMMAND_LOSS_H

#include <stdint.h>

enum loss_kind { LOSS_OWNER, LOSS_GROUP, LOSS_ACL, LOSS_XATTR, LOSS_UNREAD, LOSSES };

struct losses {
    struct loss {
        uint64_t n;      /* files */
        int err;         /* positive errno of the first */
        char first[256]; /* its name, fit for a terminal */
    } of[LOSSES];
};

/* err: a negative errno. */
void loss_note(struct losses *l, enum loss_kind kind, const char *name, int err);
/* Prints a line for each kind. Returns an exit code. */
int losses_say(const struct losses *l);

#endif
