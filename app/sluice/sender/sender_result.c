/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads what the receiver says; RESULT: one for each file and directory, in the order of sending.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console/text.h"
#include "sluice/report/json_lines.h"
#include "sluice/say.h"
#include "sluice/sender/sender.h"

bool sender_expect(struct sender *s, const char *name, bool directory)
{
    size_t len = strlen(name) + 1;
    struct sender_pending *p = calloc(1, sizeof *p + len);

    if (p == NULL)
        return false;
    memcpy(p->name, name, len);
    p->file = s->file;
    p->directory = directory;
    if (s->first == NULL)
        s->first = p;
    else
        s->last->next = p;
    s->last = p;
    return true;
}

static void result_pop(struct sender *s)
{
    struct sender_pending *p = s->first;

    s->first = p->next;
    if (s->first == NULL)
        s->last = NULL;
    free(p);
}

void sender_forget(struct sender *s)
{
    while (s->first != NULL)
        result_pop(s);
}

void sender_report_failed(const struct sender *s, const char *name, uint32_t code,
                          const char *cause)
{
    const struct copy_report *report = sender_reports(s);

    json_lines_failed(sender_lines(s), name, cause);
    if (report != NULL)
        report->failed(s->options->copy->context, name, code, cause);
}

/* The receiver refused the file: says which and why. */
static void result_refused(struct sender *s, const struct sender_pending *p, const struct record *r,
                           const char *message)
{
    char name[256], why[RECORD_MESSAGE_MAX + 1], raw[RECORD_MESSAGE_MAX + 1];
    const struct copy *c = s->options->copy;
    const char *cause;

    snprintf(raw, sizeof raw, "%.*s", (int)r->len_bytes, message);
    text_safe(why, sizeof why, raw);
    s->summary.failed++;
    text_safe(name, sizeof name, p->name);
    cause = why[0] != 0 ? why : record_code_cause(r->mode);
    if (!p->dropped)
        sender_report_failed(s, p->name, s->giving_up ? 0 : r->mode, cause);
    /* For a full disk one line is enough, however many files were in flight. */
    if (p->dropped || s->giving_up)
        ;
    else if (c == NULL)
        sender_failed(s, say_error(SAY_REMOTE, "%s: at the receiver: %s; %s", name, cause,
                                   record_code_cure(r->mode)));
    else if (copy_is_far(c))
        sender_failed(s, SAY_REMOTE);
    else
        sender_failed(s, say_error(SAY_REMOTE, "%s: %s: %s; %s", c->host, name, cause,
                                   record_code_cure(r->mode)));
    if (p->file == s->file && s->in_file)
        s->refused = true;
    /* The next file would be refused for the same reason. */
    if (r->mode == RECORD_NO_SPACE || r->mode == RECORD_ONE_FILE)
        s->giving_up = true;
}

/* The receiver has the whole file. */
static void result_file(struct sender *s, const struct sender_pending *p)
{
    const struct copy_report *report = sender_reports(s);

    summary_file(&s->summary, p->bytes, p->hole_bytes, p->kept_bytes, p->hash);
    writer_file(s->options->manifest, p->name, p->hash, p->bytes);
    json_lines_file(sender_lines(s), p->name, p->bytes);
    if (report != NULL)
        report->file(s->options->copy->context, p->name, p->bytes);
}

/* Handles one record. False, with *why, if it is impossible. */
static bool result_take(struct sender *s, const struct record *r, const char *message,
                        const char **why)
{
    struct sender_pending *p = s->first;
    bool under_way = p != NULL && p->file == s->file && s->in_file;

    *why = "a result for no file that waits for one";
    if (r->type != RECORD_RESULT || p == NULL || r->file != p->file)
        return false;
    *why = "a success before the file's end";
    if (r->mode == RECORD_OK && (under_way || p->dropped))
        return false;
    if (r->mode != RECORD_OK)
        result_refused(s, p, r, message);
    else if (!p->directory)
        result_file(s, p);
    result_pop(s);
    return true;
}

void sender_results(struct sender *s, const uint8_t *bytes, uint64_t len)
{
    struct record r;
    const char *why;

    while (len > 0 && s->status == 0) {
        bool right = record_decode(bytes, len, &r, &why) == 0;

        if (right && (r.type == RECORD_ANSWER || r.type == RECORD_HAVE || r.type == RECORD_BLOCKS))
            right = sender_hears(s, &r, bytes + RECORD_HEADER_BYTES, &why);
        else if (right && r.type == RECORD_STREAMS)
            right = sender_streams_heard(s, &r, &why);
        else if (right)
            right = result_take(s, &r, (const char *)bytes + RECORD_HEADER_BYTES, &why);
        if (!right) {
            s->status = -1;
            sender_failed(s, say_error(SAY_TRANSFER,
                                       "%s: invalid answer from the receiver (%s); use the same "
                                       "version of sluice on both sides",
                                       sender_peer(s), why));
            return;
        }
        bytes += RECORD_HEADER_BYTES + r.len_bytes;
        len -= RECORD_HEADER_BYTES + r.len_bytes;
    }
}
