/* SPDX-License-Identifier: BSD-3-Clause */
/* The near end of sluice cp. See near.h. */
#include "sluice/cp/near.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "sluice/cp/far.h"
#include "sluice/loop.h"
#include "sluice/manifest/writer.h"
#include "sluice/say.h"
#include "sluice/sender/sender.h"
#include "sluice/transfer/receiver.h"

#define SENDERS 8 /* peers that the receiver hears at a time, of which one has the token */

struct near {
    const struct near_options *options;
    struct copy copy;
    struct far far;
    struct address_list addresses; /* of this host's daemon */
    struct sync_options sync;      /* as the options have them, for this end */
    struct writer manifest;
    union {
        struct sender sender;
        struct receiver receiver;
    };
};

static bool near_over(void *context)
{
    const struct near *n = context;

    return far_over(&n->far);
}

static int near_finish(void *context, int code)
{
    struct near *n = context;

    return far_finish(&n->far, code);
}

static bool is_directory(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Prints a line of --itemize. */
static void near_item(void *context, const char *line)
{
    (void)context;
    puts(line);
}

/* The flags of a sync. */
static uint32_t near_sync_flags(const struct sync_options *o)
{
    if (o == NULL)
        return 0;
    return MESSAGE_SYNC | (o->dry_run ? MESSAGE_DRY_RUN : 0) |
           (o->checksum ? MESSAGE_CHECKSUM : 0) | (o->prune ? MESSAGE_DELETE : 0) |
           (o->prune_before ? MESSAGE_DELETE_BEFORE : 0) | (o->itemize ? MESSAGE_ITEMIZE : 0) |
           (o->whole_files ? MESSAGE_WHOLE_FILES : 0);
}

/* What a far end is told, whether it sends or receives. */
static struct message_start near_start(const struct near_options *o,
                                       const uint8_t token[RECORD_TOKEN_BYTES])
{
    struct message_start s = {.flags = near_sync_flags(o->sync) |
                                       (o->common.quiet ? MESSAGE_QUIET : 0) |
                                       (o->direct ? MESSAGE_DIRECT : 0),
                              .buffers = o->buffers,
                              .attributes = o->sync != NULL ? (uint16_t)o->sync->attributes : 0};

    memcpy(s.token, token, sizeof s.token);
    return s;
}

struct message_start near_start_receiver(const struct near_options *o,
                                         const uint8_t token[RECORD_TOKEN_BYTES], bool directory)
{
    struct message_start s = near_start(o, token);

    s.flags |= (o->overwrite ? MESSAGE_OVERWRITE : 0) | (o->fsync ? MESSAGE_FSYNC : 0) |
               (directory ? MESSAGE_DIRECTORY : 0);
    s.max_bytes = o->max_bytes;
    s.keep_s = o->keep_s;
    s.service = o->service;
    return s;
}

struct message_start near_start_sender(const struct near_options *o,
                                       const uint8_t token[RECORD_TOKEN_BYTES], bool one_file,
                                       uint16_t service)
{
    struct message_start s = near_start(o, token);

    s.flags |= MESSAGE_PULL | (o->recursive ? MESSAGE_RECURSIVE : 0) |
               (o->go_back_n ? MESSAGE_GO_BACK_N : 0) | (o->resume ? MESSAGE_RESUME : 0) |
               (one_file ? MESSAGE_ONE_FILE : 0);
    s.streams = o->streams;
    s.service = service;
    return s;
}

bool near_names_directory(const struct near_options *o)
{
    size_t len = strlen(o->target);

    return o->n_sources > 1 || (len > 0 && o->target[len - 1] == '/');
}

/* Starts the far end, and has it do its half. */
static int near_order(struct near *n, struct message_start start)
{
    const struct near_options *o = n->options;
    char *target[] = {(char *)(uintptr_t)o->target};
    struct far_order order = {
        .start = start,
        .paths = o->pull ? o->sources : target,
        .n_paths = o->pull ? o->n_sources : 1,
        .sync = o->sync,
        .addresses = o->pull ? &n->addresses : NULL,
    };
    int code = far_start(&n->far, o->words, o->host, o->common.quiet);

    return code != SAY_OK ? code : far_order(&n->far, &order);
}

/* ---- push: this host sends ---------------------------------------------------------------- */

/* The addresses of this host's daemon. Returns an exit code. */
static int push_addresses(struct near *n)
{
    struct loop loop = {.fd = -1};
    int code = loop_open(&loop, n->options->common.socket);

    if (code == SAY_OK)
        code = address_list_get(&n->addresses, loop.session);
    loop_close(&loop);
    return code;
}

/* Writes where to connect to. Returns an exit code. */
static int push_where(struct near *n, char where[ADDRESS_TEXT_MAX])
{
    const struct address *a = n->options->address;
    char ours[256], theirs[256];

    if (a == NULL)
        a = address_choose(&n->addresses, &n->far.addresses);
    if (a == NULL)
        return say_error(SAY_PEER,
                         "%s: no way to its ports (%s) from those here (%s); give an address that "
                         "can be reached with --address",
                         n->far.host, address_list_text(&n->far.addresses, theirs, sizeof theirs),
                         address_list_text(&n->addresses, ours, sizeof ours));
    address_service(a, n->far.service, where);
    return SAY_OK;
}

static int near_push(struct near *n)
{
    const struct near_options *o = n->options;
    char where[ADDRESS_TEXT_MAX];
    struct sender_options so = {.common = o->common,
                                .paths = o->sources,
                                .n_paths = o->n_sources,
                                .host = where,
                                .name = o->name,
                                .recursive = o->recursive,
                                .go_back_n = o->go_back_n,
                                .resume = o->resume,
                                .direct = o->direct,
                                .slots = o->buffers,
                                .streams = o->streams,
                                .allowance = o->allowance,
                                .copy = &n->copy,
                                .sync = o->sync != NULL ? &n->sync : NULL,
                                .manifest = &n->manifest};
    bool many = o->n_sources > 1 || is_directory(o->sources[0]);
    int code = sender_check(&so, &n->sender.total_bytes);

    if (code == SAY_OK)
        code = push_addresses(n);
    if (code == SAY_OK)
        code = near_order(n, near_start_receiver(o, n->copy.token, many));
    if (code == SAY_OK)
        code = far_wait(&n->far);
    if (code == SAY_OK)
        code = push_where(n, where);
    if (code == SAY_OK)
        code = sender_run(&n->sender, &so);
    return far_finish(&n->far, code);
}

/* ---- pull: this host receives ------------------------------------------------------------- */

/* This host accepts: the far end may begin. */
static int pull_ready(void *context, struct sluice *session, uint16_t service)
{
    struct near *n = context;
    const struct near_options *o = n->options;
    bool one_file = o->sync == NULL && !is_directory(o->target);
    int code;

    if (o->address != NULL)
        n->addresses = (struct address_list){.n = 1, .list = {*o->address}};
    code = o->address != NULL ? SAY_OK : address_list_get(&n->addresses, session);
    if (code != SAY_OK)
        return code;
    return near_order(n, near_start_sender(o, n->copy.token, one_file, service));
}

static int near_pull(struct near *n)
{
    const struct near_options *o = n->options;
    struct receiver_options ro = {.common = o->common,
                                  .output = o->target,
                                  .port = o->service,
                                  .slots = o->buffers,
                                  .allowance = o->allowance,
                                  .senders = SENDERS,
                                  .count = 1,
                                  .max_bytes = o->max_bytes,
                                  .keep_s = o->keep_s,
                                  .fsync = o->fsync,
                                  .direct = o->direct,
                                  .overwrite = o->overwrite,
                                  .directory = near_names_directory(o),
                                  .copy = &n->copy,
                                  .sync = o->sync != NULL ? &n->sync : NULL,
                                  .manifest = &n->manifest};

    n->copy.ready = pull_ready;
    n->copy.paths = o->sources;
    n->copy.n_paths = o->sync != NULL && o->sync->chosen != NULL ? 0 : o->n_sources;
    n->copy.recursive = o->recursive;
    n->copy.contents = o->sync != NULL;
    return receiver_run(&n->receiver, &ro);
}

int near_run(const struct near_options *o)
{
    struct near *n = calloc(1, sizeof *n);
    int code;

    if (n == NULL)
        return say_error(SAY_RESOURCE, "no memory; end other programs first");
    n->options = o;
    code = writer_open(&n->manifest, o->manifest);
    if (o->sync != NULL) {
        n->sync = *o->sync;
        n->sync.push = !o->pull;
        n->sync.say = near_item;
    }
    n->copy =
        (struct copy){.host = n->far.host, .context = n, .over = near_over, .finish = near_finish};
    if (code != SAY_OK)
        ; /* it was said why */
    else if (getrandom(n->copy.token, sizeof n->copy.token, 0) != (ssize_t)sizeof n->copy.token)
        code = say_error(SAY_LOCAL, "the kernel gives no random numbers; see getrandom(2)");
    else
        code = o->pull ? near_pull(n) : near_push(n);
    code = writer_close(&n->manifest, code, o->common.quiet);
    free(n);
    return code;
}
