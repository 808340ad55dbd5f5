/* SPDX-License-Identifier: BSD-3-Clause */
/* Turns files into records and packs these into requests: the steps of sender_step(). */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "console/text.h"
#include "sluice/files/name.h"
#include "sluice/files/part_name.h"
#include "sluice/say.h"
#include "sluice/sender/sender.h"

#define STREAM_MIN  (64u << 10)  /* bytes; a stream is read only into a request with so much room */
#define FLUSH_EARLY (256u << 10) /* with nothing in flight, send a request from this size on */

static struct record file_record(const struct sender *s, enum record_type type)
{
    return (struct record){.type = (uint8_t)type, .file = s->file};
}

/* Numbers a file, directory or link, for whose RESULT the sender waits. False: no memory. */
static bool file_number(struct sender *s, const char *name, bool directory)
{
    s->file++;
    if (sender_expect(s, name, directory))
        return true;
    s->file--;
    s->giving_up = true;
    sender_failed(s, say_error(SAY_RESOURCE, "no memory; send fewer files at once"));
    return false;
}

/* Adds the OFFER or DIR of a file or directory, with its attributes. False: no memory. */
static bool file_announce(struct sender *s, enum record_type type, uint16_t flags,
                          const struct tree_entry *e, uint64_t link)
{
    const char *name = *e->name != 0 ? e->name : ".";
    bool ends = type == RECORD_DIR && (flags & RECORD_BEGIN) == 0;
    struct record r;

    if (!file_number(s, name, type == RECORD_DIR))
        return false;
    sender_attributes(s, e, type == RECORD_OFFER ? s->source.fd : -1, link, ends);
    r = file_record(s, type);
    r.flags = flags;
    sender_describe(&r, name, &e->st);
    if (type == RECORD_OFFER) {
        r.flags = s->source.stream ? RECORD_SIZE_UNKNOWN
                                   : (s->resume.comparing ? RECORD_RESUME : 0) |
                                         (s->delta.on ? RECORD_COPIES : 0) |
                                         (source_solid(&s->source) ? RECORD_SOLID : 0);
        r.size = s->source.size;
        text_safe(s->current, sizeof s->current, name);
    }
    pack_add(&s->pack, &r, name);
    return true;
}

/* Opens the file and adds its OFFER, for which the caller has made room. resume: the receiver has a
 * part of it. link: its number, if it has several names. */
static void file_start(struct sender *s, const struct tree_entry *e, bool resume, uint64_t link)
{
    struct tree_entry now = *e;
    int err = sender_reads(s, &s->source, e);

    if (err < 0) {
        sender_file_failed(s, e->path, strerror(-err), "make it readable or leave it out");
        source_close(&s->source);
        return;
    }
    now.st = s->source.st;
    if (s->source.stream)
        now.st.st_mode = 0644; /* a pipe's mode says nothing about what comes out of it */
    s->resume.offers++;
    s->resume.comparing = resume && !s->source.stream;
    s->resume.heard_all = false;
    s->resume.from = s->resume.to = 0;
    if (s->options->resume)
        sender_outdates(s, e->name);
    s->in_file = file_announce(s, RECORD_OFFER, 0, &now, link);
    s->refused = false;
    if (!s->in_file)
        source_close(&s->source);
}

static void file_end(struct sender *s, enum record_type type)
{
    struct record r = file_record(s, type);
    bool waiting = s->last != NULL && s->last->file == s->file;

    sender_delta_flush(s);
    if (type == RECORD_END_FILE) {
        r.size = s->source.at_bytes;
        digest_value(s->source.digest, r.hash);
        if (waiting) {
            s->last->bytes = s->source.at_bytes;
            s->last->hole_bytes = s->source.hole_bytes;
            s->last->kept_bytes = s->source.kept_bytes;
            memcpy(s->last->hash, r.hash, sizeof r.hash);
        }
    } else if (waiting) {
        s->last->dropped = true;
    }
    pack_add(&s->pack, &r, NULL);
    source_close(&s->source);
    s->in_file = false;
}

/* The file cannot be read any further: has the receiver remove it. */
static enum sender_step file_broken(struct sender *s, int err)
{
    char why[64];

    snprintf(why, sizeof why, "%s",
             err == -ENODATA ? "it shrank while it was read" : strerror(-err));
    sender_file_failed(s, s->current, why, "send it again when no program writes to it");
    s->summary.failed--; /* the file's RESULT will count it */
    file_end(s, RECORD_DROP_FILE);
    return SENDER_WORKED;
}

/* Adds the next piece of the open file. The caller has made room for a header. */
static enum sender_step file_piece(struct sender *s)
{
    struct record r = file_record(s, RECORD_DATA);
    enum sender_step step;
    uint64_t len, max_bytes;
    uint32_t want;
    int64_t n;
    bool hole;
    int err;

    if (s->refused || s->giving_up) {
        file_end(s, RECORD_DROP_FILE);
        return SENDER_WORKED;
    }
    err = s->ahead.err;
    s->ahead.err = 0;
    if (err < 0)
        return file_broken(s, err);
    if (sender_compares(s, &step, &max_bytes)) {
        if (step == SENDER_WAITS)
            sender_flush(s);
        return step;
    }
    err = source_next(&s->source, &len, &hole);
    if (err < 0)
        return file_broken(s, err);
    if (len == 0) {
        file_end(s, RECORD_END_FILE);
        return SENDER_WORKED;
    }
    len = len < max_bytes ? len : max_bytes;
    if (s->delta.on) {
        step = sender_delta(s, max_bytes, hole ? len : 0, &err);
        return err < 0 ? file_broken(s, err) : step;
    }
    if (hole)
        return sender_hole(s, len);
    if (sender_ahead_takes(s, len))
        return sender_ahead_begin(s, len) ? SENDER_WORKED : SENDER_FULL;
    want = len < RECORD_DATA_MAX ? (uint32_t)len : RECORD_DATA_MAX;
    if (!sender_room(s, s->source.stream ? STREAM_MIN : want))
        return SENDER_FULL;
    if (want > pack_room(&s->pack))
        want = pack_room(&s->pack);
    r.offset = s->source.at_bytes;
    n = source_read(&s->source, pack_data(&s->pack), want);
    if (n == -EAGAIN || n == -EINTR) {
        if (s->in_flight == 0)
            sender_flush(s);
        return SENDER_INPUT;
    }
    if (n < 0)
        return file_broken(s, (int)n);
    if (n == 0) {
        file_end(s, RECORD_END_FILE);
        return SENDER_WORKED;
    }
    r.len_bytes = (uint32_t)n;
    pack_add(&s->pack, &r, NULL);
    return SENDER_WORKED;
}

/* Adds a further name of a file that came before. */
static enum sender_step file_hard(struct sender *s, const struct tree_entry *e, uint64_t link)
{
    struct record r;

    if (!file_number(s, e->name, true))
        return SENDER_WORKED;
    sender_attributes(s, e, -1, 0, false);
    r = file_record(s, RECORD_HARD);
    sender_describe(&r, e->name, &e->st);
    r.size = (uint64_t)e->st.st_size;
    r.offset = link;
    pack_add(&s->pack, &r, e->name);
    writer_source(s->options->manifest, e->name, e->path, &e->st);
    return SENDER_WORKED;
}

/* Passes over a file that the receiver has. */
static void file_there(struct sender *s, const struct tree_entry *e)
{
    s->summary.there_files++;
    s->summary.there_bytes += (uint64_t)e->st.st_size;
    if (s->resume.hashed)
        writer_file(s->options->manifest, e->name, s->resume.hash, (uint64_t)e->st.st_size);
    else
        writer_source(s->options->manifest, e->name, e->path, &e->st);
}

/* Starts a file, unless the receiver has it. SENDER_WAITS: it is not known yet. */
static enum sender_step file_take(struct sender *s, const struct sender_entry *q)
{
    const struct tree_entry *e = &q->e;
    bool links = sender_links(s, e),
         dry_run = s->options->sync != NULL && s->options->sync->dry_run;
    uint64_t link = links ? link_table_find(&s->links, &e->st) : 0;
    enum sender_has has = SENDER_HAS_NOTHING;

    if (link != 0)
        return file_hard(s, e, link);
    if (s->options->resume)
        has = sender_receiver_has(s, q, &link);
    if (has == SENDER_HAS_UNKNOWN) {
        sender_flush(s);
        return SENDER_WAITS;
    }
    if (has == SENDER_HAS_ALL && !dry_run) {
        file_there(s, e);
    } else if (!dry_run) { /* else the receiver has said what it would do */
        if (links && link == 0)
            link = ++s->last_link; /* the receiver was not asked about it */
        file_start(s, e, has == SENDER_HAS_PART, link);
        link = s->in_file ? link : 0;
    }
    /* Other names belong to what was opened, which need not be what the walk has seen. Without
     * memory, they are sent as files. */
    if (link != 0)
        (void)!link_table_add(&s->links, s->in_file ? &s->source.st : &e->st, link);
    return SENDER_WORKED;
}

/* Leaves out what an interrupted transfer has left in the tree, with a note. */
static bool file_is_part(const struct sender *s, const struct tree_entry *e)
{
    const char *slash = strrchr(e->name, '/');
    char safe[512];

    if (!part_name_is(slash != NULL ? slash + 1 : e->name))
        return false;
    if (!s->options->common.quiet)
        say_note("%s: an incomplete file of another transfer: not sent",
                 text_safe(safe, sizeof safe, e->path));
    return true;
}

/* Adds a symbolic link. */
static enum sender_step file_link(struct sender *s, const struct tree_entry *e)
{
    char data[RECORD_LINK_MAX + 1];
    size_t len = strlen(e->name);
    struct record r;
    ssize_t n;

    if (!sender_room(s, RECORD_LINK_MAX + sender_attributes_room(s)))
        return SENDER_FULL;
    memcpy(data, e->name, len + 1);
    n = tree_link(e, data + len + 1, RECORD_TARGET_MAX + 1);
    if (n <= 0 || n > RECORD_TARGET_MAX) {
        sender_file_failed(s, e->path,
                           n < 0 ? strerror((int)-n)
                                 : "it points to nothing, or to a path that is too long",
                           "point it elsewhere or leave it out");
        return SENDER_WORKED;
    }
    if (!file_number(s, e->name, true))
        return SENDER_WORKED;
    sender_attributes(s, e, -1, 0, true);
    r = file_record(s, RECORD_LINK);
    sender_describe(&r, e->name, &e->st);
    r.mode = 0;
    r.len_bytes = (uint32_t)(len + 1 + (size_t)n);
    pack_add(&s->pack, &r, data);
    data[r.len_bytes] = 0;
    writer_link(s->options->manifest, e->name, data + len + 1);
    return SENDER_WORKED;
}

/* Passes over what is neither a file nor a directory, with a note. In a sync, what has its name at
 * the receiver stays. */
static void file_skip(struct sender *s, const struct tree_entry *e)
{
    struct record r = {.type = RECORD_NAME, .len_bytes = (uint32_t)strlen(e->name)};
    char safe[512];

    if (!s->options->common.quiet)
        say_note("%s: %s: not sent", text_safe(safe, sizeof safe, e->path), e->why);
    if (s->options->sync != NULL)
        pack_add(&s->pack, &r, e->name);
}

/* Takes what the walk has found: opens the file, announces the directory, or prints a message. */
static enum sender_step file_entry(struct sender *s, const struct sender_entry *q)
{
    const struct tree_entry *e = &q->e;
    const char *refused = *e->name == 0 ? NULL : name_check(e->name, strlen(e->name));
    bool sync = s->options->sync != NULL;

    if (refused != NULL && e->kind != TREE_FAILED) {
        sender_file_failed(s, e->path, refused, "rename it");
        return SENDER_WORKED;
    }
    if (sync && *e->name == 0 && e->kind != TREE_FAILED && s->options->sync->chosen != NULL)
        return SENDER_WORKED; /* the target itself is not named */
    if ((e->kind == TREE_FILE || e->kind == TREE_LINK) && file_is_part(s, e))
        return SENDER_WORKED;
    switch (e->kind) {
    case TREE_FILE:
        return file_take(s, q);
    case TREE_DIR:
        if (*e->name != 0 || sync)
            file_announce(s, RECORD_DIR, 0, e, 0);
        break;
    case TREE_ENTER:
        file_announce(s, RECORD_DIR, RECORD_BEGIN, e, 0);
        break;
    case TREE_LINK:
        return file_link(s, e);
    case TREE_SKIPPED:
        file_skip(s, e);
        break;
    case TREE_FAILED:
        sender_file_failed(s, e->path, strerror(e->error), "make it readable or leave it out");
        break;
    }
    return SENDER_WORKED;
}

/* Submits the last request. */
static enum sender_step file_last(struct sender *s)
{
    sender_flush(s);
    return s->slot < 0 || s->status != 0 ? SENDER_DONE : SENDER_FULL;
}

/* Goes on with the walk, or with what it has found. */
static enum sender_step file_next(struct sender *s)
{
    struct record end = {.type = RECORD_END_ALL, .size = s->file};
    struct sender_entry *q;
    enum sender_step step = SENDER_WORKED;

    if (!s->giving_up && sender_walks(s))
        return SENDER_WORKED;
    q = s->walk.first;
    if (q == NULL || s->giving_up) {
        if (s->options->sync != NULL && (s->unread || s->giving_up))
            end.flags = RECORD_UNREAD;
        sender_failed(s, losses_say(&s->inspect.losses));
        sender_names_end(s);
        pack_add(&s->pack, &end, NULL);
        s->end_sent = true;
        return file_last(s);
    }
    if (q->input)
        file_start(s, &q->e, false, 0);
    else
        step = file_entry(s, q);
    if (step != SENDER_WAITS && step != SENDER_FULL)
        sender_walked(s);
    return step;
}

/* Shows the receiver that this is the sender for which it waits. */
static void sender_introduce(struct sender *s)
{
    struct record r = {.type = RECORD_TOKEN};

    if (s->options->copy != NULL && !s->introduced) {
        memcpy(r.hash, s->options->copy->token, sizeof r.hash);
        pack_add(&s->pack, &r, NULL);
    }
    if (!s->introduced)
        sender_streams_ask(s);
    s->introduced = true;
}

enum sender_step sender_step(struct sender *s)
{
    enum sender_step step;

    if (s->end_sent)
        return file_last(s);
    if (s->ahead.on)
        return sender_ahead(s);
    /* An ASK with a hash has room, and so has any record but a long DATA and a LINK; a token, a
     * question for connections and attributes may come before it. */
    if (!sender_room(s, RECORD_NAME_MAX + RECORD_HASH_BYTES + 2 * RECORD_HEADER_BYTES +
                            sender_attributes_room(s)))
        return SENDER_FULL;
    sender_introduce(s);
    if (sender_names_due(s)) {
        sender_names(s);
        step = SENDER_WORKED;
    } else {
        step = s->in_file ? file_piece(s) : file_next(s);
    }
    if (s->in_flight == 0 && s->slot >= 0 && s->pack.used_bytes >= FLUSH_EARLY)
        sender_flush(s);
    return step;
}
