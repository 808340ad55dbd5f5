/* SPDX-License-Identifier: BSD-3-Clause */
/* What the receiver of a sync does besides that of a copy. See incoming.h. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "sluice/say.h"
#include "sluice/sync/hard.h"
#include "sluice/sync/item.h"
#include "sluice/sync/place.h"
#include "sluice/sync/prune.h"
#include "sluice/transfer/incoming.h"

void incoming_sync_begin(struct incoming *in)
{
    const struct sync_options *o = in->sync.options;

    settle_fini(&in->sync.settle);
    settle_init(&in->sync.settle, o != NULL ? o->attributes : 0);
    in->sync.settle.name = in->name;
    link_files_fini(&in->sync.links);
    in->sync.named = false;
    in->part.settle = o != NULL ? &in->sync.settle : NULL;
    in->attributed = false;
}

/* NULL, or why a record cannot come that tells names before anything is sent, or cannot come yet.
 */
static const char *sync_names_fault(const struct incoming *in, const struct record *r)
{
    bool due = in->sync.options->prune_before && !in->sync.named;
    bool tells = r->type == RECORD_NAMED || (r->type == RECORD_NAME && r->flags != 0);

    if (tells && !due)
        return "names that are not told beforehand";
    return due && r->type != RECORD_NAME && r->type != RECORD_NAMED ? "a record before all names"
                                                                    : NULL;
}

const char *incoming_sync_fault(const struct incoming *in, const struct record *r)
{
    const struct sync_options *o = in->sync.options;
    bool of_sync = r->type == RECORD_LINK || r->type == RECORD_NAME || r->type == RECORD_ATTR ||
                   r->type == RECORD_HARD || r->type == RECORD_NAMED ||
                   (r->type == RECORD_OFFER && (r->flags & RECORD_COPIES) != 0) ||
                   ((r->type == RECORD_DIR || r->type == RECORD_ASK || r->type == RECORD_END_ALL) &&
                    r->flags != 0);

    if (of_sync && o == NULL)
        return "a record that only sluice sync takes";
    if (o != NULL && sync_names_fault(in, r) != NULL)
        return sync_names_fault(in, r);
    if (r->type == RECORD_OFFER && o != NULL && o->dry_run)
        return "a file in a dry run";
    if (r->type == RECORD_ATTR && o->attributes == 0)
        return "attributes that were not asked for";
    if (r->type == RECORD_HARD && r->offset > in->sync.links.n)
        return "a further name of a file that has not come";
    if (in->attributed && in->sync.settle.link != 0 && r->type != RECORD_ASK &&
        r->type != RECORD_OFFER)
        return "a number of a link at what has no content";
    return NULL;
}

/* A sender keeps to the same rules, unless it is dishonest: then they protect what is here. */
bool incoming_sync_takes(const struct incoming *in, bool directory)
{
    const struct sync_options *o = in->sync.options;

    if (o == NULL)
        return true;
    if (o->chosen != NULL && !chosen_has(o->chosen, in->name, directory))
        return false;
    return in->name[0] == 0 || !filter_hides(o->filter, in->name, directory);
}

/* Notes that the sender has something of this name, which is to stay. 0 or -ENOMEM. */
static int sync_note(struct incoming *in, enum sync_kind kind)
{
    if (!in->sync.options->prune || in->sync.named)
        return 0;
    return name_set_add(&in->sync.names, (char)kind, in->name) < 0 ? -ENOMEM : 0;
}

int incoming_sync_attributes(struct incoming *in, const struct record *r, const uint8_t *data,
                             const char **why)
{
    struct settle *s = &in->sync.settle;
    int err;

    *why = settle_take(s, data, r->len_bytes, r->flags);
    if (*why != NULL)
        return strcmp(*why, SETTLE_NO_MEMORY) == 0 ? -ENOMEM : -EPROTO;
    *why = "a number of a link out of order";
    err = s->link == 0 ? 0 : link_files_number(&in->sync.links, s->link);
    in->attributed = err == 0;
    return err;
}

/* A file with several names is, or in a dry run would be, in its place. 0 or -ENOMEM. */
static int sync_place(struct incoming *in, const struct stat *st)
{
    const struct settle *s = &in->sync.settle;

    return s->given && s->link != 0 ? link_files_place(&in->sync.links, s->link, in->name, st) : 0;
}

int incoming_sync_asked(struct incoming *in, const struct record *r, bool whole)
{
    const struct stat *before = in->part.there ? &in->part.before : NULL;
    struct stat new = {.st_uid = geteuid(), .st_gid = getegid()};
    bool dry_run = in->sync.options->dry_run;

    /* A file that is to be sent is named once it is there, unless nothing will be. */
    if (whole || dry_run)
        item_file(&in->sync, in->name, before, r, !whole);
    if (dry_run)
        settle_foresee(&in->sync.settle, whole ? before : &new);
    if ((whole || dry_run) && sync_place(in, whole ? before : NULL) < 0)
        return -ENOMEM;
    return sync_note(in, SYNC_SEEN);
}

int incoming_sync_received(struct incoming *in, const struct stat *st)
{
    item_file(&in->sync, in->name, in->part.there ? &in->part.before : NULL, &in->part.offer, true);
    return sync_place(in, st);
}

/* A directory, a link or another name may take the place of the directory of the last file, which
 * is forgotten before. */

int incoming_sync_directory(struct incoming *in, const struct record *r)
{
    bool begins = (r->flags & RECORD_BEGIN) != 0;
    enum record_code code;

    part_file_rest(&in->part);
    code = begins ? place_begin(&in->sync, &in->part, in->destination, in->name, r)
                  : place_end(&in->part, in->destination, in->name, r);
    if (begins &&
        (sync_note(in, SYNC_SEEN) < 0 || (code == RECORD_OK && sync_note(in, SYNC_DIRECTORY) < 0)))
        return -ENOMEM;
    return incoming_result(in, code, 0);
}

int incoming_sync_named(struct incoming *in, bool directory)
{
    int err = sync_note(in, SYNC_SEEN);

    return err == 0 && directory ? sync_note(in, SYNC_DIRECTORY) : err;
}

int incoming_sync_link(struct incoming *in, const struct record *r, const char *target)
{
    enum record_code code;

    part_file_rest(&in->part);
    code = place_link(&in->sync, &in->part, in->destination, in->name, target, r);
    if (code == RECORD_OK)
        writer_link(in->manifest, in->name, target);
    return sync_note(in, SYNC_SEEN) < 0 ? -ENOMEM : incoming_result(in, code, 0);
}

int incoming_sync_hard(struct incoming *in, const struct record *r)
{
    enum record_code code;

    part_file_rest(&in->part);
    code = hard_place(&in->sync, &in->part, in->destination, in->name, r);
    if (code == RECORD_OK)
        writer_there(in->manifest, in->name, in->destination->dir_fd);
    return sync_note(in, SYNC_SEEN) < 0 ? -ENOMEM : incoming_result(in, code, 0);
}

/* Removes what the sender does not have. r: NAMED or END_ALL. */
static void sync_prune(struct incoming *in, const struct record *r)
{
    if ((r->flags & RECORD_UNREAD) == 0)
        incoming_failed(in, prune_run(&in->sync, in->destination, in->quiet));
    else if (!in->quiet)
        say_note("nothing was deleted, because not all of the source could be read");
}

void incoming_sync_all_named(struct incoming *in, const struct record *r)
{
    sync_prune(in, r);
    in->sync.named = true;
    name_set_fini(&in->sync.names);
}

void incoming_sync_end(struct incoming *in, const struct record *r)
{
    incoming_failed(in, losses_say(&in->sync.settle.losses));
    if (in->sync.options->prune && !in->sync.options->prune_before)
        sync_prune(in, r);
}
