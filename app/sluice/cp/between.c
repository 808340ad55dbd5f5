/* SPDX-License-Identifier: BSD-3-Clause */
/* The near end of sluice cp between two other hosts. See between.h. */
#include "sluice/cp/between.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "console/text.h"
#include "sluice/cp/far.h"
#include "sluice/cp/message_report.h"
#include "sluice/files/tree.h"
#include "sluice/loop.h"
#include "sluice/report/json_lines.h"
#include "sluice/report/progress.h"
#include "sluice/report/summary.h"
#include "sluice/say.h"

#define LAST_WORDS_NS 2000000000u /* once one end has failed, the other may say so long why */
#define EARLY_NS      100000000u  /* PROGRESS may come so much earlier than it is due */

struct between {
    const struct near_options *options;
    struct far from, to;
    uint8_t token[RECORD_TOKEN_BYTES];
    char **asked; /* what the receiver is told of the sources; n_asked of them */
    int n_asked;
    char origin[DIGEST_HEX_BYTES];
    struct progress progress;
    struct summary summary;
    bool summed; /* the sender has told how all ended */
};

/* ---- what the sender reports ---------------------------------------------------------------- */

static const char *between_progress(struct between *b, const struct message *m)
{
    struct message_progress p;
    const char *why = message_progress_decode(&p, m);

    /* The sender keeps the time between two, but not to the last millisecond on the way. */
    if (why == NULL && loop_now() + EARLY_NS >= b->progress.next_ns)
        b->progress.next_ns = 0;
    if (why == NULL)
        progress_show(&b->progress, loop_now(),
                      &(struct progress_view){.name = p.name,
                                              .done_bytes = p.done_bytes,
                                              .total_bytes = p.total_bytes,
                                              .moved_bytes = p.done_bytes,
                                              .all_bytes = p.total_bytes,
                                              .repeats = p.repeats,
                                              .limit = limits_word(p.limit, LIMITS_FROM_AFAR)});
    return why;
}

static const char *between_file(struct between *b, const struct message *m)
{
    struct message_file f;
    const char *why = message_file_decode(&f, m);

    if (why != NULL)
        return why;
    /* The sender's summary replaces this, unless the sender is lost before. */
    b->summary.files++;
    b->summary.bytes += f.bytes;
    json_lines_file(options_lines(&b->options->common), f.name, f.bytes);
    return NULL;
}

static const char *between_failed(struct between *b, const struct message *m)
{
    char name[256], cause[RECORD_MESSAGE_MAX + 1];
    struct message_failed f;
    const char *why = message_failed_decode(&f, m);

    if (why != NULL)
        return why;
    b->summary.failed++;
    json_lines_failed(options_lines(&b->options->common), f.name,
                      text_safe(cause, sizeof cause, f.cause));
    if (f.code == RECORD_OK)
        return NULL;
    say_error(SAY_REMOTE, "%s: %s: %s; %s", b->to.host, text_safe(name, sizeof name, f.name), cause,
              record_code_cure(f.code));
    b->from.said = true;
    return NULL;
}

static const char *between_summary(struct between *b, const struct message *m)
{
    struct summary *s = &b->summary;
    struct summary told = *s;
    const char *why = b->summed ? "out of order" : message_summary_decode(&told, m);

    if (why != NULL)
        return why;
    b->summed = true;
    *s = told;
    /* Another host has chosen these bytes, and JSON and the terminal show them. */
    text_safe(s->stats.peer, sizeof s->stats.peer, told.stats.peer);
    text_safe(s->peer, sizeof s->peer, told.peer);
    text_safe(s->stats.tx_why, sizeof s->stats.tx_why, told.stats.tx_why);
    return NULL;
}

static const char *between_hears(void *context, const struct message *m)
{
    struct between *b = context;

    switch (m->type) {
    case MESSAGE_PROGRESS:
        return between_progress(b, m);
    case MESSAGE_FILE:
        return between_file(b, m);
    case MESSAGE_FAILED:
        return between_failed(b, m);
    case MESSAGE_SUMMARY:
        return between_summary(b, m);
    default:
        return "unknown type";
    }
}

/* ---- what the ends are told ----------------------------------------------------------------- */

/* Of a path of the sender, the part that decides which names may come (copy_asked()), so that the
 * receiver does not learn where the sender has them. NULL: no memory. */
static char *between_ask(const char *path)
{
    const char *base;
    char *out;
    int len;

    tree_base(path, &base, &len);
    if (len == 0 || (base == path && base[0] == '~'))
        return strdup(len == 0 ? "." : "~");
    out = malloc((size_t)len + sizeof ".//");
    if (out != NULL)
        sprintf(out, "./%.*s%s", len, base, base[len] == '/' ? "/" : "");
    return out;
}

/* Finds what the receiver is told of the sender. 0 or -ENOMEM. */
static int between_name(struct between *b)
{
    const struct near_options *o = b->options;
    bool named = o->sync != NULL && o->sync->chosen != NULL; /* the list says what may come */
    struct digest *d = digest_create();
    uint8_t hash[RECORD_HASH_BYTES];

    b->asked = calloc((size_t)o->n_sources, sizeof *b->asked);
    if (d == NULL || b->asked == NULL) {
        digest_destroy(d);
        return -ENOMEM;
    }
    digest_update(d, o->from_host, strlen(o->from_host));
    digest_value(d, hash);
    digest_hex(b->origin, hash);
    digest_destroy(d);
    while (!named && b->n_asked < o->n_sources) {
        b->asked[b->n_asked] = between_ask(o->sources[b->n_asked]);
        if (b->asked[b->n_asked] == NULL)
            return -ENOMEM;
        b->n_asked++;
    }
    return 0;
}

/* Has the target's host receive. Returns an exit code. */
static int between_order_to(struct between *b)
{
    const struct near_options *o = b->options;
    char *target[] = {(char *)(uintptr_t)o->target};
    struct far_order order = {.start = near_start_receiver(o, b->token, near_names_directory(o)),
                              .paths = target,
                              .n_paths = 1,
                              .sync = o->sync,
                              .asked = b->asked,
                              .n_asked = b->n_asked,
                              .origin = b->origin};

    order.start.flags |= o->recursive ? MESSAGE_RECURSIVE : 0; /* its sender may send directories */
    return far_order(&b->to, &order);
}

/* Has the sources' host send to where the target's accepts. Returns an exit code. */
static int between_order_from(struct between *b)
{
    const struct near_options *o = b->options;
    struct address_list given = {.n = 1};
    bool one_file = !b->to.directory && o->sync == NULL;
    struct far_order order = {.start = near_start_sender(o, b->token, one_file, b->to.service),
                              .paths = o->sources,
                              .n_paths = o->n_sources,
                              .sync = o->sync,
                              .addresses = &b->to.addresses,
                              .limit = allowance_limits(&o->allowance) ? o->allowance.text : NULL};

    if (o->address != NULL) {
        given.list[0] = *o->address;
        order.addresses = &given;
    }
    if (order.addresses->n == 0)
        return say_error(SAY_PEER, "%s: its daemon has no address; give its port one", b->to.host);
    order.start.flags |= MESSAGE_REPORT | (o->common.json_stream ? MESSAGE_FILES : 0);
    return far_order(&b->from, &order);
}

/* ---- until the end -------------------------------------------------------------------------- */

/* Waits until one end is over, or both are; at most until end_ns. */
static void between_wait(struct between *b, bool both, uint64_t end_ns)
{
    struct loop none = {.fd = -1};

    while (loop_code() == 0 && loop_now() < end_ns) {
        bool from = far_over(&b->from), to = far_over(&b->to);

        if (both ? from && to : from || to)
            return;
        loop_wait_until(&none, -1, end_ns);
    }
}

/* Whether an end that is over has failed as a whole, so that the other one cannot succeed. A sender
 * that has told how all ended has only failed in some of the files. */
static int between_broken(const struct between *b)
{
    bool files = b->summed && (b->from.code == SAY_LOCAL || b->from.code == SAY_REMOTE);

    if (far_over(&b->from) && b->from.code != SAY_OK && !files)
        return b->from.code;
    return far_over(&b->to) ? b->to.code : SAY_OK;
}

/* Ends both. Returns the exit code of the copy. code: why they are to give up; 0: they need not. */
static int between_finish(struct between *b, int code)
{
    int from, to;

    if (code == SAY_OK) {
        between_wait(b, false, UINT64_MAX);
        code = between_broken(b);
        if (code != SAY_OK && (b->summed || !far_over(&b->from)))
            between_wait(b, true, loop_now() + LAST_WORDS_NS);
        if (loop_code() != 0)
            code = loop_code();
    }
    if (code != SAY_OK) { /* both at once */
        far_leave(&b->from);
        far_leave(&b->to);
    }
    from = far_finish(&b->from, code);
    to = far_finish(&b->to, code);
    return from != SAY_OK ? from : to;
}

/* Prints how all ended. */
static void between_tell(struct between *b, int code, uint64_t start_ns)
{
    const struct options *o = &b->options->common;
    struct summary *s = &b->summary;

    progress_clear(&b->progress);
    s->sending = s->copy = true;
    s->sync = b->options->sync != NULL;
    s->stream = o->json_stream;
    s->from = b->from.host;
    s->to = b->to.host;
    if (!b->summed) {
        s->start_ns = start_ns;
        s->end_ns = loop_now();
        s->unhashed = true;
    }
    if (o->json)
        summary_json(s, code, stdout);
    if (code == SAY_OK && options_talk(o))
        summary_say(s);
}

static int between_copy(struct between *b)
{
    const struct near_options *o = b->options;
    bool quiet = o->common.quiet, begun = false;
    uint64_t start_ns;
    int code;

    b->from.source = true;
    b->from.report = between_hears;
    b->from.context = b;
    code = far_start(&b->from, o->from_words, o->from_host, quiet);
    if (code == SAY_OK)
        code = far_start(&b->to, o->words, o->host, quiet);
    if (code == SAY_OK)
        code = between_order_to(b);
    if (code == SAY_OK)
        code = far_wait(&b->to);
    start_ns = loop_now();
    if (code == SAY_OK) {
        code = between_order_from(b);
        begun = code == SAY_OK;
    }
    code = between_finish(b, code);
    if (begun)
        between_tell(b, code, start_ns);
    return code;
}

int between_run(const struct near_options *o)
{
    struct between *b = calloc(1, sizeof *b);
    int code = SAY_OK, flushed;

    if (b == NULL || summary_init(&b->summary, true) < 0) {
        free(b);
        return say_error(SAY_RESOURCE, "no memory; end other programs first");
    }
    b->options = o;
    loop_signals();
    progress_init(&b->progress, o->common.quiet || o->common.json, options_lines(&o->common));
    if (between_name(b) < 0)
        code = say_error(SAY_RESOURCE, "no memory; end other programs first");
    else if (getrandom(b->token, sizeof b->token, 0) != (ssize_t)sizeof b->token)
        code = say_error(SAY_LOCAL, "the kernel gives no random numbers; see getrandom(2)");
    else
        code = between_copy(b);
    flushed = say_flush();
    summary_fini(&b->summary);
    while (b->n_asked > 0)
        free(b->asked[--b->n_asked]);
    free(b->asked);
    free(b);
    return code != SAY_OK ? code : flushed;
}
