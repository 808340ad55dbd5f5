/* SPDX-License-Identifier: BSD-3-Clause */
/* The far end, as the near end sees it. See far.h. */
#include "sluice/cp/far.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "console/text.h"
#include "sluice/cp/rsh.h"
#include "sluice/loop.h"
#include "sluice/say.h"

#define END_NS     10000000000u /* the far end has this long to say END once all is over */
#define SHELL_NS   2000000000u  /* and the remote shell to end after that */
#define NOT_FOUND  127          /* exit status of a shell that finds no such program */
#define SSH_FAILED 255          /* exit status of ssh that cannot connect */

/* What an exit code of the far end means at the near end: its files are those of the other side. Of
 * a copy between two other hosts, the source takes the place of this side. */
static int far_exit(const struct far *f, int code)
{
    switch (code) {
    case SAY_LOCAL:
        return f->source ? SAY_LOCAL : SAY_REMOTE;
    case SAY_REMOTE:
        return f->source ? SAY_REMOTE : SAY_LOCAL;
    case SAY_DAEMON:
        return f->source ? SAY_DAEMON : SAY_PEER;
    case SAY_USAGE:
        return f->source ? SAY_USAGE : SAY_TRANSFER; /* of an option that it was told */
    case SAY_OK:
    case SAY_PEER:
    case SAY_RESOURCE:
        return code;
    default:
        return SAY_TRANSFER;
    }
}

/* Closes the pipes, and ends the remote shell. Returns its exit status. */
static int far_close(struct far *f, uint64_t wait_ns)
{
    int status = 0;

    loop_unwatch(f->talk.in_fd);
    talk_close(&f->talk);
    if (f->pid > 0)
        status = rsh_end(f->pid, wait_ns);
    f->pid = 0;
    return status;
}

/* The far end cannot be used any more. Keeps the exit code, with which the near end stops. */
static void far_stop(struct far *f, int code)
{
    f->lost = true;
    f->code = code;
    far_close(f, SHELL_NS);
    loop_end(code);
}

/* The pipe has ended without END. */
static void far_lost(struct far *f)
{
    int status = far_close(f, SHELL_NS), code = f->greeted ? SAY_TRANSFER : SAY_PEER;

    if (f->leaving || loop_code() != 0 || f->said)
        ;
    else if (f->greeted)
        say_error(
            code,
            "%s: sluice there ended without a result (%s: status %d); see its output and try again",
            f->host, f->program, status);
    else if (status == NOT_FOUND)
        say_error(code,
                  "%s: sluice is not found there; install it, or say where it is with "
                  "--remote-path",
                  f->host);
    else if (status == SSH_FAILED)
        say_error(code, "%s: %s cannot log in (status %d); see its output above", f->host,
                  f->program, status);
    else
        say_error(
            code,
            "%s: %s ended with status %d before sluice there began; see its output, and check "
            "\"sluice --version\" there",
            f->host, f->program, status);
    far_stop(f, code);
}

/* What came is no message, or not one that may come now. */
static void far_wrong(struct far *f, int err, const char *why)
{
    char raw[64], safe[64];
    size_t len = f->talk.len - f->talk.used;

    snprintf(raw, sizeof raw, "%.*s", (int)(len < 40 ? len : 40),
             (const char *)f->talk.in + f->talk.used);
    raw[strcspn(raw, "\r\n")] = 0;
    if (err == -EPROTONOSUPPORT)
        say_error(SAY_PEER,
                  "%s: sluice cp there has version %u of its protocol, here %u; install the "
                  "same version of Sluice on both hosts",
                  f->host, f->talk.version, MESSAGE_VERSION);
    else if (!f->greeted)
        say_error(SAY_PEER,
                  "%s: printed \"%s\" where sluice was to begin; let the startup files of the "
                  "shell there print nothing, and check --remote-path",
                  f->host, text_safe(safe, sizeof safe, raw));
    else
        say_error(SAY_PEER,
                  "%s: invalid message (%s); install the same version of Sluice on both hosts",
                  f->host, why);
    far_stop(f, SAY_PEER);
}

/* Prints a line of the far end behind the name of its host. */
static void far_say(struct far *f, const struct message *m)
{
    char raw[MESSAGE_DATA_MAX + 1], safe[MESSAGE_TEXT_MAX + 1];

    message_text(m, raw);
    text_safe(safe, sizeof safe, raw);
    if (m->type == MESSAGE_ERROR) {
        say_error(SAY_REMOTE, "%s: %s", f->host, safe);
        f->said = true;
    } else if (!f->quiet) {
        say_note("%s: %s", f->host, safe);
    }
}

/* Prints a line of --itemize. */
static void far_item(const struct message *m)
{
    char raw[MESSAGE_DATA_MAX + 1], safe[MESSAGE_DATA_MAX + 1];

    message_text(m, raw);
    puts(text_safe(safe, sizeof safe, raw));
}

/* Takes one message. Returns NULL, or what is wrong with it. */
static const char *far_take(struct far *f, const struct message *m)
{
    struct address_list *l = &f->addresses;
    bool where = m->type == MESSAGE_ADDRESS || m->type == MESSAGE_READY;

    if (f->greeted == (m->type == MESSAGE_HELLO) || (where && !f->receives) ||
        (m->type == MESSAGE_ITEM && !f->itemizes))
        return "out of order";
    if (m->type >= MESSAGE_PROGRESS)
        return f->reports ? f->report(f->context, m) : "out of order";
    switch (m->type) {
    case MESSAGE_HELLO:
        f->greeted = true;
        return NULL;
    case MESSAGE_ADDRESS:
        if (f->ready || l->n == ADDRESS_LIST_MAX || !address_decode(&l->list[l->n], m->data))
            return "an address that cannot be";
        l->n++;
        return NULL;
    case MESSAGE_READY:
        f->service = bytes_get_u16(m->data);
        if (f->ready || f->service == 0 || m->data[2] > 1)
            return "a service that cannot be";
        f->directory = m->data[2] != 0;
        f->ready = true;
        return NULL;
    case MESSAGE_ERROR:
    case MESSAGE_NOTE:
        far_say(f, m);
        return NULL;
    case MESSAGE_ITEM:
        far_item(m);
        return NULL;
    case MESSAGE_END:
        f->ended = true;
        f->code = far_exit(f, m->data[0]);
        loop_unwatch(f->talk.in_fd);
        return NULL;
    default:
        return "one that only the near end sends";
    }
}

/* Hears what the far end has said. */
static void far_hear(void *context)
{
    struct far *f = context;
    struct message m;
    const char *why = NULL;
    int err = 0;

    talk_read(&f->talk);
    while (!f->ended && why == NULL && (err = talk_next(&f->talk, &m)) > 0)
        why = far_take(f, &m);
    if (f->ended)
        return;
    if (err < 0 || why != NULL)
        far_wrong(f, err, why != NULL ? why : f->talk.why);
    else if (f->talk.end)
        far_lost(f);
}

/* Waits until *flag, the end of the far end, or a signal. Returns an exit code. */
static int far_until(struct far *f, const bool *flag)
{
    struct loop none = {.fd = -1};

    while (!*flag && !far_over(f) && loop_code() == 0)
        loop_wait(&none, -1, UINT64_MAX);
    if (*flag)
        return SAY_OK;
    if (loop_code() == 0 && f->ended && !f->said)
        say_error(f->code, "%s: ended before it was ready; see its output and try again", f->host);
    if (loop_code() != 0)
        return loop_code();
    return f->code != SAY_OK ? f->code : SAY_TRANSFER;
}

int far_start(struct far *f, char *const *words, const char *host, bool quiet)
{
    int in_fd = -1, out_fd = -1;
    char safe[128];

    text_safe(f->host, sizeof f->host, host);
    f->program = words[0];
    f->quiet = quiet;
    f->pid = rsh_start(words, &in_fd, &out_fd);
    if (f->pid < 0) {
        int err = -f->pid;

        f->pid = 0;
        return say_error(SAY_PEER, "%s: %s; install it, or name another remote shell with --rsh",
                         text_safe(safe, sizeof safe, words[0]), strerror(err));
    }
    talk_init(&f->talk, in_fd, out_fd);
    loop_watch(in_fd, far_hear, f);
    return far_until(f, &f->greeted);
}

/* Tells a far end what takes part in a sync. A receiver whose sender is a far end, too, keeps to
 * the names as well. 0 or a negative errno. */
static int far_rules(struct far *f, const struct sync_options *o, bool chosen)
{
    size_t i;
    int err = 0;

    for (i = 0; o->filter != NULL && i < o->filter->n && err == 0; i++)
        err = talk_write(&f->talk, MESSAGE_RULE, o->filter->rules[i].text,
                         strlen(o->filter->rules[i].text));
    for (i = 0; o->chosen != NULL && chosen && i < o->chosen->n && err == 0; i++)
        err = talk_write(&f->talk, MESSAGE_CHOSEN, o->chosen->list[i], strlen(o->chosen->list[i]));
    return err;
}

/* Tells a far end that receives what its sender is, and may do. 0 or a negative errno. */
static int far_sender(struct far *f, const struct far_order *o)
{
    int err = 0, k;

    if (o->origin != NULL)
        err = talk_write(&f->talk, MESSAGE_ORIGIN, o->origin, strlen(o->origin));
    for (k = 0; k < o->n_asked && err == 0; k++)
        err = talk_write(&f->talk, MESSAGE_ASKED, o->asked[k], strlen(o->asked[k]));
    return err;
}

int far_order(struct far *f, const struct far_order *o)
{
    uint8_t start[MESSAGE_START_BYTES], address[ADDRESS_BYTES];
    uint32_t i, n = o->addresses != NULL ? o->addresses->n : 0;
    int k, err;

    f->receives = (o->start.flags & MESSAGE_PULL) == 0;
    f->reports = (o->start.flags & MESSAGE_REPORT) != 0;
    f->itemizes = (o->start.flags & MESSAGE_ITEMIZE) != 0 && f->receives;
    message_start_encode(start, &o->start);
    err = talk_write(&f->talk, MESSAGE_START, start, sizeof start);
    for (k = 0; k < o->n_paths && err == 0; k++) {
        if (strlen(o->paths[k]) > MESSAGE_PATH_MAX)
            return say_error(SAY_USAGE, "%s: a path is longer than %d bytes; shorten it", f->host,
                             MESSAGE_PATH_MAX);
        err = talk_write(&f->talk, MESSAGE_PATH, o->paths[k], strlen(o->paths[k]));
    }
    if (err == 0)
        err = far_sender(f, o);
    if (o->sync != NULL && err == 0)
        err = far_rules(f, o->sync, !f->receives || o->origin != NULL);
    if (o->limit != NULL && err == 0)
        err = talk_write(&f->talk, MESSAGE_LIMIT, o->limit, strlen(o->limit));
    for (i = 0; i < n && err == 0; i++) {
        address_encode(address, &o->addresses->list[i]);
        err = talk_write(&f->talk, MESSAGE_ADDRESS, address, sizeof address);
    }
    if (err == 0)
        err = talk_write(&f->talk, MESSAGE_GO, NULL, 0);
    /* If the pipe is broken, the next wait hears why. */
    return err == -EINTR ? loop_code() : SAY_OK;
}

int far_wait(struct far *f)
{
    return far_until(f, &f->ready);
}

bool far_over(const struct far *f)
{
    return f->ended || f->lost;
}

void far_leave(struct far *f)
{
    f->leaving = true;
    if (f->pid == 0 || f->talk.out_fd < 0)
        return;
    close(f->talk.out_fd);
    f->talk.out_fd = -1;
}

int far_finish(struct far *f, int code)
{
    uint64_t end = loop_now() + END_NS;
    struct loop none = {.fd = -1};
    bool said = f->said || code != SAY_OK;

    if (f->pid == 0)
        return code != SAY_OK ? code : f->code;
    if (code != SAY_OK)
        far_leave(f);
    while (!far_over(f) && loop_code() == 0 && loop_now() < end)
        loop_wait_until(&none, -1, end);
    if (!far_over(f) && code == SAY_OK)
        code = loop_code(); /* it may have failed, which was not heard */
    if (!far_over(f) && loop_code() == 0 && !said)
        code = say_error(SAY_TRANSFER, "%s: sluice there does not end; see what it does", f->host);
    if (f->ended && f->code != SAY_OK && !said && !f->said)
        say_error(f->code, "%s: sluice there failed; see its output and try again", f->host);
    far_close(f, SHELL_NS);
    return code != SAY_OK ? code : f->code;
}
