/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends only what the receiver does not have yet. See sender.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/sender/sender.h"

/* Of files about which the receiver was asked, and which wait for its answer or have its list.
 * While more wait, no other one is asked about, so that it does not read for the list of a distant
 * file while data of the next one wait to be written. Two disks read as much in a few seconds. */
#define AHEAD_BYTES     (1ull << 30)
/* Blocks in the lists that wait, 24 bytes each. More are not taken: the receiver's files may be
 * larger than ours. What is not known of them is sent. */
#define HELD_BLOCKS_MAX (2u << 20)

int sender_resume_init(struct sender *s)
{
    struct sender_resume *u = &s->resume;

    u->first = 1;
    u->chunk = malloc(RECORD_CHUNK_BYTES);
    u->digest = digest_create();
    return u->chunk != NULL && u->digest != NULL ? source_init(&u->source) : -ENOMEM;
}

/* ---- what the receiver has ----------------------------------------------------------------- */

static struct sender_ask **ask_at(struct sender_resume *u, uint64_t number)
{
    return &u->asks[number % SENDER_ASKS_MAX];
}

/* FNV-1a, 32 bits. */
static uint32_t ask_sum(const char *name)
{
    uint32_t sum = 2166136261u;

    for (; *name != 0; name++)
        sum = (sum ^ (uint8_t)*name) * 16777619u;
    return sum;
}

static void ask_drop(struct sender_resume *u)
{
    struct sender_ask *a = *ask_at(u, u->first);

    if (!a->answered || a->listed)
        u->ahead_bytes -= a->size;
    u->held_blocks -= a->list.n;
    block_list_free(&a->list);
    free(a);
    *ask_at(u, u->first) = NULL;
    u->first++;
}

void sender_resume_fini(struct sender *s)
{
    struct sender_resume *u = &s->resume;

    while (u->first <= u->last && u->first > 0)
        ask_drop(u);
    digest_destroy(u->digest);
    if (u->source.digest != NULL)
        source_fini(&u->source);
    link_table_fini(&u->links);
    free(u->chunk);
    memset(u, 0, sizeof *u);
}

/* Hashes the content of a file for the receiver, which compares. False: it cannot be read, which is
 * said when it is to be sent. */
static bool ask_hash(struct sender *s, const struct tree_entry *e, uint8_t hash[RECORD_HASH_BYTES])
{
    struct source *f = &s->resume.source;
    int err = sender_reads(s, f, e);
    int64_t n = err;

    while (err == 0 && !f->stream && f->at_bytes < f->size) {
        uint64_t left = f->size - f->at_bytes;

        n = source_read(f, s->resume.chunk, left < RECORD_CHUNK_BYTES ? left : RECORD_CHUNK_BYTES);
        if (n <= 0)
            break;
    }
    digest_value(f->digest, hash);
    source_close(f);
    return n >= 0 && !f->stream && f->at_bytes == f->size;
}

bool sender_asks_enough(const struct sender *s)
{
    const struct sender_resume *u = &s->resume;

    return u->last + 1 - u->first == SENDER_ASKS_MAX || u->ahead_bytes > AHEAD_BYTES;
}

uint64_t sender_asks(struct sender *s, const struct tree_entry *e)
{
    struct sender_resume *u = &s->resume;
    struct record r = {.type = RECORD_ASK};
    uint8_t data[RECORD_HASH_BYTES + RECORD_NAME_MAX + 1];
    bool links = sender_links(s, e);
    struct sender_ask *a;
    size_t len = strlen(e->name);

    if (links && link_table_find(&u->links, &e->st) != 0)
        return 0; /* it is another name of a file that was asked about */
    a = calloc(1, sizeof *a + len + 1);
    if (a == NULL)
        return 0; /* the file is sent as one of which the receiver has nothing */
    memcpy(a->name, e->name, len + 1);
    a->size = (uint64_t)e->st.st_size;
    a->offers = u->offers - s->in_file;
    /* Without memory to remember it, each of its names is asked about, and sent, as a file. */
    if (links && link_table_add(&u->links, &e->st, s->last_link + 1) == 0)
        a->link = ++s->last_link;
    sender_attributes(s, e, -1, a->link, true);
    u->last++;
    *ask_at(u, u->last) = a;
    u->ahead_bytes += a->size;
    u->sums[u->last % SENDER_ASKS_MAX] = ask_sum(a->name);
    r.file = u->last;
    r.size = a->size;
    sender_describe(&r, a->name, &e->st);
    if (s->options->sync != NULL && s->options->sync->checksum && ask_hash(s, e, data)) {
        memcpy(data + RECORD_HASH_BYTES, a->name, len);
        memcpy(a->hash, data, sizeof a->hash);
        a->hashed = true;
        r.flags = RECORD_HASHED;
        r.len_bytes += RECORD_HASH_BYTES;
        pack_add(&s->pack, &r, data);
    } else {
        pack_add(&s->pack, &r, a->name);
    }
    return u->last;
}

/* Whether the receiver's answer is about the file as it is now. While nothing else is sent, answers
 * come soon; behind another file, one may have waited for long. */
static bool ask_holds(const struct sender_resume *u, const struct sender_ask *a,
                      const struct tree_entry *e)
{
    return !a->outdated && (u->offers == a->offers || tree_is_same(e));
}

enum sender_has sender_receiver_has(struct sender *s, const struct sender_entry *q, uint64_t *link)
{
    uint64_t ask = q->ask;
    enum sender_has has = SENDER_HAS_NOTHING;
    struct sender_resume *u = &s->resume;
    struct sender_ask *a;

    s->delta.on = false;
    if (ask < u->first)
        return SENDER_HAS_NOTHING;
    while (u->first < ask)
        ask_drop(u);
    a = *ask_at(u, ask);
    *link = a->link;
    if (!a->answered)
        return SENDER_HAS_UNKNOWN;
    u->held_blocks -= a->list.n;
    u->hashed = a->hashed;
    memcpy(u->hash, a->hash, sizeof u->hash);
    sender_delta_begin(s, a, ask);
    if (a->whole && ask_holds(u, a, &q->e))
        has = SENDER_HAS_ALL;
    else if (a->part_bytes > 0)
        has = SENDER_HAS_PART;
    ask_drop(u);
    return has;
}

void sender_outdates(struct sender *s, const char *name)
{
    struct sender_resume *u = &s->resume;
    uint32_t sum = ask_sum(name);
    uint64_t n;

    if (s->options->n_paths == 1)
        return; /* no name comes twice */
    for (n = u->first; n <= u->last; n++) {
        if (u->sums[n % SENDER_ASKS_MAX] == sum && strcmp((*ask_at(u, n))->name, name) == 0)
            (*ask_at(u, n))->outdated = true;
    }
}

static bool hear_answer(struct sender *s, const struct record *r, const char **why)
{
    struct sender_resume *u = &s->resume;
    struct sender_ask *a;

    *why = "an answer that nobody asked for";
    if (r->file != u->answered + 1 || r->file > u->last)
        return false;
    u->answered = r->file;
    if (r->file < u->first)
        return true; /* the file is not there any more */
    a = *ask_at(u, r->file);
    a->answered = true;
    a->whole = (r->flags & RECORD_WHOLE) != 0;
    a->part_bytes = r->size;
    a->listed = (r->flags & RECORD_LISTED) != 0;
    if (!a->listed)
        u->ahead_bytes -= a->size;
    return true;
}

/* A list for which there is no room is cut off. */
static bool hear_blocks(struct sender *s, const struct record *r, const uint8_t *data,
                        const char **why)
{
    struct sender_resume *u = &s->resume;
    uint32_t before;
    struct sender_ask *a;

    *why = "blocks that nobody asked for";
    if (r->file > u->answered)
        return false;
    if (r->file < u->first)
        return sender_delta_hears(s, r, data, why);
    a = *ask_at(u, r->file);
    if (!a->listed)
        return false;
    before = a->list.n;
    if (u->held_blocks > HELD_BLOCKS_MAX) {
        a->list.whole |= (r->flags & RECORD_LAST) != 0;
        return true;
    }
    *why = block_list_add(&a->list, r, data);
    u->held_blocks += a->list.n - before;
    return *why == NULL;
}

/* ---- what it has of one file --------------------------------------------------------------- */

static uint8_t *hash_at(struct sender_resume *u, uint64_t offset)
{
    return u->hashes[offset / RECORD_CHUNK_BYTES % RECORD_HASHES_MAX];
}

static bool hear_have(struct sender *s, const struct record *r, const uint8_t *data,
                      const char **why)
{
    struct sender_resume *u = &s->resume;
    uint32_t i, n = r->len_bytes / RECORD_HASH_BYTES;

    *why = "hashes that nobody asked for";
    if (r->file > s->file)
        return false;
    if (r->file < s->file || !s->in_file)
        return true; /* the file was given up meanwhile */
    if (!u->comparing || u->heard_all)
        return false;
    *why = "hashes out of order";
    if (r->offset != u->to)
        return false;
    *why = "too many hashes";
    if ((u->to - u->from) / RECORD_CHUNK_BYTES + n > RECORD_HASHES_MAX)
        return false;
    for (i = 0; i < n; i++, u->to += RECORD_CHUNK_BYTES)
        memcpy(hash_at(u, u->to), data + (size_t)i * RECORD_HASH_BYTES, RECORD_HASH_BYTES);
    u->heard_all = (r->flags & RECORD_LAST) != 0;
    return true;
}

bool sender_hears(struct sender *s, const struct record *r, const uint8_t *data, const char **why)
{
    return r->type == RECORD_ANSWER   ? hear_answer(s, r, why)
           : r->type == RECORD_BLOCKS ? hear_blocks(s, r, data, why)
                                      : hear_have(s, r, data, why);
}

/* Whether the receiver's chunk at `from` is that of the file; if so, it is kept. */
static bool chunk_kept(struct sender *s)
{
    struct sender_resume *u = &s->resume;
    struct record r = {.type = RECORD_KEEP,
                       .file = s->file,
                       .offset = s->source.at_bytes,
                       .size = RECORD_CHUNK_BYTES};
    uint8_t hash[RECORD_HASH_BYTES];

    /* If it cannot be read, reading it to be sent will say why. */
    if (source_peek(&s->source, u->chunk, RECORD_CHUNK_BYTES) < 0)
        return false;
    digest_reset(u->digest);
    digest_update(u->digest, u->chunk, RECORD_CHUNK_BYTES);
    digest_value(u->digest, hash);
    if (memcmp(hash, hash_at(u, u->from), sizeof hash) != 0)
        return false;
    source_keep(&s->source, u->chunk, RECORD_CHUNK_BYTES);
    sender_delta_flush(s);
    pack_add(&s->pack, &r, NULL);
    u->kept_bytes += RECORD_CHUNK_BYTES;
    return true;
}

bool sender_compares(struct sender *s, enum sender_step *step, uint64_t *max_bytes)
{
    struct sender_resume *u = &s->resume;
    uint64_t at = s->source.at_bytes;
    bool kept;

    *max_bytes = UINT64_MAX;
    if (!u->comparing)
        return false;
    if (at < u->from) { /* in a chunk that differs */
        *max_bytes = u->from - at;
        return false;
    }
    if (u->from == u->to && !u->heard_all) {
        *step = SENDER_WAITS;
        return true;
    }
    if (u->from == u->to || s->source.size - at < RECORD_CHUNK_BYTES) {
        u->comparing = false;
        return false;
    }
    kept = chunk_kept(s);
    u->from += RECORD_CHUNK_BYTES;
    *step = SENDER_WORKED;
    *max_bytes = RECORD_CHUNK_BYTES;
    return kept;
}
