/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target for the receiver of files. A sender sends records as the input says (fuzz_record.h),
 * into requests that the receiver reads as they would come from libsluice, which is replaced here.
 * What decodes must encode to the same bytes. A file that is reported as received is there with its
 * size; nothing else is, neither in the folder nor beside it. No message has control characters.
 */
#include "fuzz_record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/sluice.h"
#include "fuzz_folder.h"
#include "fuzz_input.h"
#include "sluice/files/digest.h"
#include "sluice/say.h"
#include "sluice/sync/prune.h"
#include "sluice/transfer/incoming.h"

#define SLOTS       2u
#define STEPS_MAX   60
#define REQUEST_MAX 8192u
#define FILE_MAX    FUZZ_LEFT_BYTES /* bytes that the receiver takes */

struct fuzz_record_counts fuzz_record_counts;

struct run {
    struct fuzz_input in;
    struct incoming receiver;
    struct incoming joined; /* another connection of the transfer */
    bool numbered;          /* requests have numbers; the newest is `number` */
    uint64_t number;
    bool on_joined; /* the next request comes on that connection */
    struct destination destination;
    struct sync_options sync;
    struct remove_rules clear;
    uint8_t request[REQUEST_MAX];
    uint32_t len;
    /* as the sender knows it */
    uint64_t file, at, asked;
    struct digest *digest;
    /* as libsluice knows it */
    uint32_t allocated; /* bit i: memory i is in use */
    uint64_t sending[RESULT_QUEUE_SLOTS];
    uint32_t n_sending;
    bool shutting, shutting_joined;
    uint32_t received; /* files */
};

static struct run run;
static char folder[FUZZ_FOLDER_MAX]; /* holds nothing but "in", the destination */

/* ---- libsluice, and messages ------------------------------------------------------------- */

#define CONN   ((struct sluice_conn *)&run.receiver)
#define JOINED ((struct sluice_conn *)&run.joined)

void *__wrap_sluice_alloc(struct sluice *s, uint64_t len_bytes);
int __wrap_sluice_accept(struct sluice *s, uint16_t port, uint32_t channel, uint64_t user,
                         struct sluice_conn **conn);
int __wrap_sluice_recv(struct sluice_conn *c, void *data, uint64_t len, uint64_t user);
int __wrap_sluice_send(struct sluice_conn *c, const void *data, uint64_t len, uint64_t user);
int __wrap_sluice_shutdown(struct sluice_conn *c, uint64_t user);
int __wrap_sluice_conn_close(struct sluice_conn *c);
void __wrap_sluice_conn_stats_sized(const struct sluice_conn *c, struct sluice_stats *out,
                                    size_t size_bytes);
int __wrap_sluice_peer(const struct sluice_conn *c, char *name, size_t name_len);
int __wrap_say_error(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
int __wrap_result_queue_add(struct result_queue *a, uint64_t file, enum record_code code,
                            uint64_t size, const char *message);
int __real_result_queue_add(struct result_queue *a, uint64_t file, enum record_code code,
                            uint64_t size, const char *message);

/* Each connection asks for results and a buffer for each slot, at most. What an input has asked for
 * serves the next one, too. */
void *__wrap_sluice_alloc(struct sluice *s, uint64_t len_bytes)
{
    static struct {
        uint64_t len_bytes;
        void *memory;
    } made[2 * (1 + SLOTS) + 2];
    uint32_t i = 0;

    while ((run.allocated >> i & 1) != 0 ||
           (made[i].memory != NULL && made[i].len_bytes != len_bytes))
        CHECK(++i < sizeof made / sizeof *made);
    run.allocated |= 1u << i;
    made[i].len_bytes = len_bytes;
    if (made[i].memory == NULL)
        made[i].memory = calloc(1, len_bytes);
    CHECK(made[i].memory != NULL);
    return made[i].memory;
}

int __wrap_sluice_accept(struct sluice *s, uint16_t port, uint32_t channel, uint64_t user,
                         struct sluice_conn **conn)
{
    *conn = run.receiver.conn == NULL ? CONN : JOINED;
    return 0;
}

int __wrap_sluice_recv(struct sluice_conn *c, void *data, uint64_t len, uint64_t user)
{
    CHECK((c == CONN || c == JOINED) && user < BUFFERS_MAX && len == RECORD_REQUEST_MAX);
    return 0;
}

int __wrap_sluice_send(struct sluice_conn *c, const void *data, uint64_t len, uint64_t user)
{
    struct record r;
    const char *why;

    if (c == JOINED) { /* nothing but that it has joined */
        CHECK(len == RECORD_HEADER_BYTES && user == INCOMING_USER_ANSWER);
        CHECK(record_decode(data, len, &r, &why) == 0 && r.type == RECORD_JOIN);
        return 0;
    }
    CHECK(c == CONN && run.n_sending < RESULT_QUEUE_SLOTS && len <= RECORD_ANSWER_MAX);
    for (uint64_t at = 0; at < len; at += RECORD_HEADER_BYTES + r.len_bytes) {
        CHECK(record_decode((const uint8_t *)data + at, len - at, &r, &why) == 0);
        CHECK(r.type == RECORD_RESULT || r.type == RECORD_ANSWER || r.type == RECORD_HAVE ||
              r.type == RECORD_BLOCKS || r.type == RECORD_STREAMS);
        fuzz_record_counts.decoded[r.type]++;
        fuzz_record_counts.told += r.type == RECORD_HAVE ? r.len_bytes / RECORD_HASH_BYTES : 0;
        fuzz_record_counts.blocks += r.type == RECORD_BLOCKS ? r.len_bytes / RECORD_BLOCK_BYTES : 0;
    }
    run.sending[run.n_sending++] = user;
    return 0;
}

int __wrap_sluice_shutdown(struct sluice_conn *c, uint64_t user)
{
    bool *shutting = c == CONN ? &run.shutting : &run.shutting_joined;

    CHECK((c == CONN || c == JOINED) && !*shutting);
    *shutting = true;
    return 0;
}

int __wrap_sluice_conn_close(struct sluice_conn *c)
{
    CHECK(c == CONN || c == JOINED);
    return 0;
}

void __wrap_sluice_conn_stats_sized(const struct sluice_conn *c, struct sluice_stats *out,
                                    size_t size_bytes)
{
    CHECK(size_bytes == sizeof *out);
    *out = (struct sluice_stats){0};
    strcpy(out->peer, "10.0.0.2");
}

int __wrap_sluice_peer(const struct sluice_conn *c, char *name, size_t name_len)
{
    snprintf(name, name_len, "b");
    return 0;
}

int __wrap_say_error(int code, const char *format, ...)
{
    char text[4096 + RECORD_NAME_MAX];
    va_list ap;

    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    for (const char *p = text; *p != 0; p++)
        CHECK((uint8_t)*p >= ' ' && *p != 0x7f);
    return code;
}

/* Whether this is a file that may have several names, and that has been placed. */
static bool linked(const struct stat *st)
{
    const struct link_files *l = &run.receiver.sync.links;
    bool found = false;

    for (size_t i = 0; i < l->n; i++)
        found |=
            l->files[i].placed && l->files[i].dev == st->st_dev && l->files[i].ino == st->st_ino;
    return found;
}

/* No file has more permissions than it may get: set-user-ID and the like only with the owner and
 * the group that the sender has named. */
static void mode_check(const struct stat *st, uint64_t file)
{
    const struct settle *s = &run.receiver.sync.settle;
    bool owned = s->given && s->owner && s->group && st->st_uid == s->uid && st->st_gid == s->gid;

    if (!S_ISREG(st->st_mode) || st->st_nlink > 1 ||
        (linked(st) && file != run.receiver.part.offer.file))
        return; /* a HARD: the file was judged when it came */
    CHECK((st->st_mode & (run.destination.sync ? 07000 : 07022)) == 0 ||
          (run.destination.sync && owned));
    fuzz_record_counts.special += (st->st_mode & 07000) != 0;
}

int __wrap_result_queue_add(struct result_queue *a, uint64_t file, enum record_code code,
                            uint64_t size, const char *message)
{
    const struct destination *k = &run.destination;
    const char *name = k->kind == DESTINATION_FILE ? k->base : run.receiver.name;
    struct stat st;

    CHECK(code < RECORD_CODES);
    fuzz_record_counts.results[code]++;
    if (code == RECORD_OK && k->kind != DESTINATION_STREAM) {
        if (fstatat(k->dir_fd, name[0] == 0 ? "." : name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
            CHECK(k->dry_run);
            return __real_result_queue_add(a, file, code, size, message);
        }
        CHECK(S_ISDIR(st.st_mode) || (S_ISLNK(st.st_mode) && k->sync) || k->dry_run ||
              (S_ISREG(st.st_mode) && (uint64_t)st.st_size == size) ||
              (S_ISREG(st.st_mode) && k->sync && linked(&st)));
        run.received += S_ISREG(st.st_mode);
        fuzz_record_counts.copied += run.receiver.part.kept_bytes > 0 &&
                                     (run.receiver.part.offer.flags & RECORD_COPIES) != 0;
        fuzz_record_counts.linked += S_ISREG(st.st_mode) && st.st_nlink > 1;
        mode_check(&st, file);
    }
    return __real_result_queue_add(a, file, code, size, message);
}

/* ---- the folder -------------------------------------------------------------------------- */

static int entry_remove(const char *path, const struct stat *st, int type, struct FTW *at)
{
    if (at->level == 0)
        return 0;
    if (run.destination.sync && type == FTW_SL)
        return unlink(path);
    CHECK(type == FTW_F || type == FTW_DP || type == FTW_DNR);
    if (type == FTW_F && run.destination.keep_s > 0 && strstr(path, ".part-") != NULL)
        return unlink(path);
    CHECK(type != FTW_F || run.received-- > 0);
    return type == FTW_F ? unlink(path) : rmdir(path);
}

/* Empties the destination. Nothing may be beside it, and no file may be there that is not whole. */
static void folder_empty(const char *inside)
{
    DIR *dir = opendir(folder);
    uint32_t n = 0;

    CHECK(dir != NULL);
    for (const struct dirent *e = readdir(dir); e != NULL; e = readdir(dir))
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(dir);
    CHECK(n == 1);
    CHECK(nftw(inside, entry_remove, 16, FTW_DEPTH | FTW_PHYS) == 0);
}

static void folder_remove(void)
{
    char inside[FUZZ_FOLDER_MAX + 3];

    snprintf(inside, sizeof inside, "%s/in", folder);
    rmdir(inside);
    rmdir(folder);
}

static void folder_make(void)
{
    char inside[FUZZ_FOLDER_MAX + 3];

    fuzz_folder_make(folder);
    atexit(folder_remove);
    snprintf(inside, sizeof inside, "%s/in", folder);
    CHECK(mkdir(inside, 0700) == 0);
}

/* ---- the sender -------------------------------------------------------------------------- */

static void decode_check(const uint8_t *bytes, size_t len)
{
    uint8_t *exact = exact_copy(bytes, len), again[RECORD_HEADER_BYTES];
    const char *why = "";
    struct record r;
    int rc = record_decode(exact, len, &r, &why);

    CHECK((rc == 0) == (why == NULL));
    if (rc == 0) {
        CHECK(len >= RECORD_HEADER_BYTES && r.len_bytes <= len - RECORD_HEADER_BYTES);
        record_encode(again, &r);
        CHECK(memcmp(again, exact, sizeof again) == 0);
        fuzz_record_counts.decoded[r.type]++;
    } else {
        fuzz_record_counts.refused++;
    }
    free(exact);
}

/* The records about what the receiver has already. */
static void fill_known(struct record *r, uint8_t *data)
{
    struct fuzz_input *in = &run.in;

    switch (r->type) {
    case RECORD_KEEP:
        r->offset = run.at;
        r->size = (uint64_t)(input_u8(in) % 4) * RECORD_CHUNK_BYTES;
        return;
    case RECORD_COPY:
        r->offset = run.at;
        r->from = input_number(in);
        r->size = input_number(in);
        return;
    case RECORD_BLOCKS:
        r->flags = RECORD_LAST;
        r->size = RECORD_BLOCK_MIN;
        return;
    case RECORD_HAVE:
        r->flags = RECORD_LAST;
        r->len_bytes = RECORD_HASH_BYTES;
        memset(data, 'h', r->len_bytes);
        return;
    default:
        return;
    }
}

/* Fills in a record that only a sync has. */
static void record_fill_sync(struct record *r, uint8_t *data)
{
    struct fuzz_input *in = &run.in;

    r->file = r->type == RECORD_LINK || r->type == RECORD_HARD ? run.file + 1 : 0;
    if (r->type == RECORD_LINK)
        r->mtime_s = input_u8(in);
    if (r->type == RECORD_ATTR)
        r->flags = input_u8(in) & 3;
    if (r->type == RECORD_HARD) {
        r->mode = 0644;
        r->offset = input_u8(in);
    }
    r->len_bytes = input_u8(in) % (r->type == RECORD_ATTR ? 128 : 64);
    input_bytes(in, data, r->len_bytes);
}

/* Fills in what the type has, as a right sender would. */
static void record_fill(struct record *r, uint8_t *data)
{
    struct fuzz_input *in = &run.in;

    switch (r->type) {
    case RECORD_OFFER:
    case RECORD_DIR:
    case RECORD_ASK:
        r->mode = (uint32_t)input_u16(in) & 07777;
        r->mtime_s = (int64_t)input_number(in);
        r->file = (r->type == RECORD_ASK ? run.asked : run.file) + 1;
        r->len_bytes = input_u8(in) % 64;
        input_bytes(in, data, r->len_bytes);
        if (r->type == RECORD_DIR)
            return;
        if (r->type == RECORD_OFFER)
            r->flags = r->mode & 1
                           ? RECORD_SIZE_UNKNOWN
                           : (r->mode & 2 ? RECORD_RESUME : 0) | (r->mode & 8 ? RECORD_COPIES : 0) |
                                 (r->mode & 16 ? RECORD_SOLID : 0);
        r->size = r->flags == RECORD_SIZE_UNKNOWN ? 0 : input_number(in);
        return;
    case RECORD_LINK:
    case RECORD_NAME:
    case RECORD_ATTR:
    case RECORD_HARD:
        record_fill_sync(r, data);
        return;
    case RECORD_DATA:
        r->offset = run.at;
        r->len_bytes = (uint32_t)(input_number(in) % 4000);
        memset(data, input_u8(in), r->len_bytes);
        return;
    case RECORD_HOLE:
        r->offset = run.at;
        r->size = input_number(in);
        return;
    case RECORD_END_FILE:
        r->size = run.at;
        digest_value(run.digest, r->hash);
        return;
    case RECORD_END_ALL:
        r->size = run.file;
        return;
    case RECORD_RESULT:
        r->mode = input_u8(in);
        r->len_bytes = input_u8(in);
        memset(data, 'r', r->len_bytes);
        return;
    default:
        fill_known(r, data);
    }
}

/* The content of what an interrupted transfer has left. */
static const uint8_t left[FUZZ_LEFT_BYTES - 1];

static void part_left(void)
{
    struct record offer = {
        .type = RECORD_OFFER, .size = FUZZ_LEFT_BYTES, .mtime_s = FUZZ_LEFT_TIME};
    const struct destination *k = &run.destination;
    struct part_name name;
    int fd;

    if (k->kind == DESTINATION_STREAM || k->keep_s == 0)
        return;
    part_name_make(&name, "peer b", k->kind == DESTINATION_FILE ? k->base : FUZZ_LEFT_NAME, &offer);
    fd = openat(k->dir_fd, name.text, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && ftruncate(fd, sizeof left) == 0);
    close(fd);
}

/* Makes a right record wrong. */
static void record_spoil(struct record *r, uint8_t step)
{
    uint64_t by = 0;

    if (step & 0x10)
        r->file ^= input_number(&run.in);
    if (step & 0x20)
        by = input_number(&run.in);
    if (r->type == RECORD_DATA || r->type == RECORD_HOLE || r->type == RECORD_KEEP ||
        r->type == RECORD_COPY)
        r->offset ^= by;
    r->size ^= by;
    r->hash[by % RECORD_HASH_BYTES] ^= (uint8_t)by;
}

/* What the sender has sent, once this record has left as it was meant. */
static void sender_follow(const struct record *r, const uint8_t *data)
{
    if (r->type == RECORD_OFFER || r->type == RECORD_DIR || r->type == RECORD_LINK ||
        r->type == RECORD_HARD)
        run.file++;
    run.asked += r->type == RECORD_ASK;
    if (r->type == RECORD_OFFER) {
        run.at = 0;
        digest_reset(run.digest);
    } else if (r->type == RECORD_DATA) {
        digest_update(run.digest, data, r->len_bytes);
        run.at += r->len_bytes;
    } else if (r->type == RECORD_HOLE && r->size <= FILE_MAX) {
        digest_zeros(run.digest, r->size);
        run.at += r->size;
    } else if (r->type == RECORD_COPY && r->size <= FILE_MAX) {
        digest_zeros(run.digest, r->size); /* as if the receiver's file had nothing else */
        run.at += r->size;
    } else if (r->type == RECORD_KEEP && r->size <= FILE_MAX) {
        for (uint64_t i = 0; i < r->size; i += RECORD_CHUNK_BYTES)
            digest_update(run.digest, left, RECORD_CHUNK_BYTES);
        run.at += r->size;
        fuzz_record_counts.resumed +=
            r->size > 0 && r->offset + r->size <= run.receiver.part.hashed_bytes;
    }
}

static void record_add(enum record_type type, uint16_t flags, uint8_t step)
{
    struct record r = {.type = (uint8_t)type, .file = run.file};
    uint8_t *header = run.request + run.len, *data = header + RECORD_HEADER_BYTES;

    if (REQUEST_MAX - run.len < RECORD_HEADER_BYTES + 4096)
        return;
    if (r.type == RECORD_END_ALL || r.type == RECORD_NAMED)
        r.file = 0;
    if (r.type == RECORD_ANSWER)
        r.file = run.asked;
    record_fill(&r, data);
    r.flags |= flags;
    sender_follow(&r, data);
    record_spoil(&r, step);
    run.len += RECORD_HEADER_BYTES + r.len_bytes;
    if (step & 0x80)
        r.len_bytes ^= (uint32_t)input_number(&run.in);
    record_encode(header, &r);
    if (step & 0x40)
        input_patch(&run.in, header, RECORD_HEADER_BYTES);
    decode_check(header, (size_t)(run.request + run.len - header));
}

static void raw_add(void)
{
    uint32_t len = input_u8(&run.in);

    if (len > REQUEST_MAX - run.len)
        return;
    input_bytes(&run.in, run.request + run.len, len);
    decode_check(run.request + run.len, len);
    run.len += len;
}

/* ---- what libsluice would say ------------------------------------------------------------ */

static void complete(struct incoming *r, enum sluice_op op, uint64_t user, uint64_t len, int status)
{
    struct sluice_completion c = {
        .user = user, .len = len, .conn = r->conn, .status = status, .op = op};

    incoming_complete(r, &c);
}

static void work(void)
{
    for (int i = 0; i < 20 && incoming_work(&run.receiver, 1 << 20); i++)
        continue;
    incoming_streams_answer(&run.receiver, RECORD_STREAMS_MAX);
    if (run.shutting && !run.receiver.shut)
        complete(&run.receiver, SLUICE_OP_SHUTDOWN, 0, 0, 0);
    if (run.shutting_joined && !run.joined.shut)
        complete(&run.joined, SLUICE_OP_SHUTDOWN, 0, 0, 0);
}

/* A request arrives on a connection. */
static void request_come(struct incoming *r, const uint8_t *request, uint32_t len)
{
    uint32_t i = r->buffer[(r->head + r->n_ready) % BUFFERS_MAX];

    if (r->posted == 0)
        return;
    memcpy(r->buffers.at[i] + PACK_FIRST, request, len);
    complete(r, SLUICE_OP_RECV, i, len, 0);
    work();
}

static void request_send(void)
{
    bool joined = run.on_joined && run.joined.lead != NULL;

    if (run.numbered && run.len >= RECORD_HEADER_BYTES)
        record_number(run.request, ++run.number);
    fuzz_record_counts.elsewhere += joined && run.len > 0;
    request_come(joined ? &run.joined : &run.receiver, run.request, run.len);
    run.len = 0;
}

static void receives_end(int status)
{
    while (run.receiver.posted > 0)
        complete(&run.receiver, SLUICE_OP_RECV, 0, 0, status);
    while (run.joined.lead != NULL && run.joined.posted > 0)
        complete(&run.joined, SLUICE_OP_RECV, 0, 0, status);
    work();
}

/* ---- several connections ----------------------------------------------------------------- */

/* A peer shows a token, as the receiver of several senders sees it. */
static void join(uint8_t token)
{
    struct record r = {.type = RECORD_JOIN, .size = 2};
    uint8_t header[RECORD_HEADER_BYTES];

    if (run.joined.state != INCOMING_IDLE)
        return;
    run.joined.streams.most = RECORD_STREAMS_MAX;
    CHECK(incoming_accept(&run.joined, 7, 0, 1) == 0);
    complete(&run.joined, SLUICE_OP_ACCEPT, 0, 0, 0);
    memset(r.hash, token, sizeof r.hash);
    record_encode(header, &r);
    decode_check(header, sizeof header);
    request_come(&run.joined, header, sizeof header);
    if (incoming_wants_to_join(&run.joined) && incoming_attach(&run.receiver, &run.joined)) {
        fuzz_record_counts.joined++;
        work();
        return;
    }
    incoming_close(&run.joined);
    summary_fini(&run.joined.summary);
}

/* Bits 0 and 1: ask for connections; join with the token that follows; change the connection that
 * carries requests; go on with another number. */
static void step_streams(uint8_t step)
{
    struct record r = {.type = RECORD_STREAMS, .size = 1 + (step >> 4)};

    switch (step & 3) {
    case 0:
        if (REQUEST_MAX - run.len < RECORD_HEADER_BYTES)
            return;
        memset(r.hash, 7, sizeof r.hash);
        record_encode(run.request + run.len, &r);
        decode_check(run.request + run.len, RECORD_HEADER_BYTES);
        run.numbered |= run.len == 0;
        run.len += RECORD_HEADER_BYTES;
        return;
    case 1:
        join(input_u8(&run.in));
        return;
    case 2:
        run.on_joined = !run.on_joined;
        return;
    default:
        run.number = input_u8(&run.in);
    }
}

static void step_run(uint8_t step)
{
    static const enum record_type of_sync[] = {RECORD_LINK,    RECORD_NAME,   RECORD_DIR,
                                               RECORD_END_ALL, RECORD_BLOCKS, RECORD_COPY,
                                               RECORD_ATTR,    RECORD_HARD};

    switch (step & 15) {
    case RECORD_STEP_SEND:
        request_send();
        return;
    case RECORD_STEP_RAW:
        raw_add();
        return;
    case RECORD_STEP_SENT:
        for (; run.n_sending > 0; run.n_sending--)
            complete(&run.receiver, SLUICE_OP_SEND, run.sending[run.n_sending - 1], 0, 0);
        work();
        return;
    case RECORD_STEP_NO_MORE:
        receives_end(-ENODATA);
        return;
    case RECORD_STEP_BROKEN:
        receives_end(-ECONNRESET);
        return;
    case RECORD_STEP_RESUME:
        step = input_u8(&run.in);
        if (step & 4)
            step_streams(step);
        else
            record_add((enum record_type)(RECORD_ASK + (step & 3)), 0, step);
        return;
    case RECORD_STEP_SYNC:
        step = input_u8(&run.in);
        if (step & 8)
            record_add(step & 1 ? RECORD_NAME : RECORD_NAMED,
                       step & 1   ? RECORD_BEGIN
                       : step & 2 ? RECORD_UNREAD
                                  : 0,
                       step);
        else
            record_add(of_sync[step & 7], (step & 6) == 2 ? RECORD_BEGIN : 0, step);
        return;
    case RECORD_STEP_LEFT:
        part_left();
        return;
    default:
        if ((step & 15) <= RECORD_RESULT)
            record_add((enum record_type)(step & 15), 0, step);
    }
}

/* A line of --itemize. */
static void item_count(void *context, const char *line)
{
    CHECK(context == &run);
    for (const char *p = line; *p != 0; p++)
        CHECK((uint8_t)*p >= ' ' && *p != 0x7f);
    fuzz_record_counts.items++;
    fuzz_record_counts.deleted += line[0] == '*';
}

/* Has the receiver be that of a sync. */
static void sync_make(uint8_t how)
{
    struct destination *k = &run.destination;

    run.sync = (struct sync_options){.dry_run = how & 0x20,
                                     .prune = how & 0x40,
                                     .prune_before = (how & 0x41) == 0x41,
                                     .checksum = how & 0x80,
                                     .itemize = true,
                                     .attributes = ATTRIBUTES_ALL,
                                     .context = &run,
                                     .say = item_count};
    run.clear = prune_rules(&run.sync);
    run.receiver.sync.options = &run.sync;
    run.receiver.quiet = true;
    k->kind = DESTINATION_DIR;
    k->sync = k->overwrite = true;
    k->dry_run = run.sync.dry_run;
    k->checksum = run.sync.checksum;
    k->clear = run.sync.prune ? &run.clear : NULL;
    k->mask = 0;
}

static void destination_make(struct destination *k, uint8_t how, const char *inside)
{
    static int stream = -1;

    if (stream < 0)
        stream = open("/dev/null", O_WRONLY | O_CLOEXEC);
    *k = (struct destination){.kind = (enum destination_kind)((how & 3) % 3),
                              .stream_fd = stream,
                              .base = "file",
                              .overwrite = how & 4,
                              .keep_s = how & 8 ? 3600 : 0,
                              .max_bytes = FILE_MAX,
                              .mask = 022};
    k->dir_fd = open(inside, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(k->dir_fd >= 0 && stream >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool made;
    struct incoming *r = &run.receiver;
    char inside[FUZZ_FOLDER_MAX + 3];
    uint8_t how;

    if (!made)
        folder_make();
    made = true;
    run = (struct run){.in = {data, data + size}, .digest = digest_create()};
    CHECK(run.digest != NULL);
    snprintf(inside, sizeof inside, "%s/in", folder);
    how = input_u8(&run.in);
    destination_make(&run.destination, how, inside);
    CHECK(incoming_init(r, (struct sluice *)&run, &run.destination, SLOTS) == 0);
    CHECK(incoming_init(&run.joined, (struct sluice *)&run, &run.destination, SLOTS) == 0);
    if (how & 0x10)
        sync_make(how);
    r->streams.most = RECORD_STREAMS_MAX;
    CHECK(incoming_accept(r, 7, 0, 2) == 0);
    complete(r, SLUICE_OP_ACCEPT, 0, 0, 0);
    for (int i = 0; i < STEPS_MAX && input_left(&run.in); i++)
        step_run(input_u8(&run.in));
    request_send();
    r->served = true;
    fuzz_record_counts.broken += r->status == -EPROTO;
    fuzz_record_counts.whole += r->state == INCOMING_OVER && r->status == 0;
    incoming_close(r);
    incoming_fini(r);
    incoming_fini(&run.joined);
    digest_destroy(run.digest);
    close(run.destination.dir_fd);
    folder_empty(inside);
    return 0;
}
