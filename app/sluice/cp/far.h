/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The far end of `sluice cp`, as the near end sees it: the remote shell that runs it, and what it
 * says. loop_wait() hears it, whatever the near end does meanwhile.
 *
 * Each line that the far end has for people is printed at once, behind the name of its host. If the
 * far end is lost, that is printed, and loop_end() stops the near end. A copy between two other
 * hosts has two far ends, which are heard at the same time (between.h).
 */
#ifndef SLUICE_COMMAND_FAR_H
#define SLUICE_COMMAND_FAR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sluice/cp/address.h"
#include "sluice/cp/operand.h"
#include "sluice/cp/talk.h"
#include "sluice/sync/sync.h"

struct far {
    /* Set before far_start(), for a copy between two other hosts. */
    bool source; /* it has the source, and not only of this end's view the other side */
    /* Takes a message of a far sender that reports. NULL, or what is wrong with it. */
    const char *(*report)(void *context, const struct message *m);
    void *context;

    struct talk talk;
    pid_t pid;                   /* of the remote shell; 0: it does not run */
    char host[OPERAND_HOST_MAX]; /* for messages */
    const char *program;         /* the remote shell, for messages */
    bool quiet;
    bool itemizes;  /* it was told to say what it changes */
    bool greeted;   /* it has said HELLO */
    bool receives;  /* it was told to receive, so it says where */
    bool reports;   /* it was told to report */
    bool ready;     /* it accepts on `service` */
    bool ended;     /* it has said END */
    bool lost;      /* it has gone without END, or broke the protocol */
    bool leaving;   /* its end does not matter any more */
    bool said;      /* it had an error, which was printed */
    bool directory; /* its target is one, or is to become one */
    uint16_t service;
    struct address_list addresses; /* of its daemon */
    int code;                      /* exit code that its end means here */
};

/* What the far end is asked to do. */
struct far_order {
    struct message_start start;
    char *const *paths;
    int n_paths;
    const struct sync_options *sync;      /* NULL: it is none */
    const struct address_list *addresses; /* of the receiver, if the far end sends; else NULL */
    const char *limit; /* a calendar, to which a far end that sends keeps; NULL: there is none */
    /* For a far end that receives from another far end, else NULL and 0. */
    char *const *asked; /* names that the sender may use */
    int n_asked;
    const char *origin; /* stands for the sender */
};

/* Starts the far end: words are the command of the remote shell. Waits for its HELLO. Returns an
 * exit code; the error is printed. f is zero before, but for what is set before. */
int far_start(struct far *f, char *const *words, const char *host, bool quiet);
/* Tells the far end what to do. Returns an exit code. */
int far_order(struct far *f, const struct far_order *o);
/* Waits until the far end accepts. Returns an exit code. */
int far_wait(struct far *f);
/* Whether the far end has ended, or is lost. */
bool far_over(const struct far *f);
/* Has the far end give up, if it has not ended yet: its input ends. */
void far_leave(struct far *f);
/* Waits until the far end has ended; if code is not 0, has it end. May be called again. Returns the
 * exit code of the whole copy: code, or if that is 0, what the far end's end means. */
int far_finish(struct far *f, int code);

#endif
