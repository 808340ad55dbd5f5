/* SPDX-License-Identifier: BSD-3-Clause */
/* The far end of sluice cp. See server.h. */
#include "sluice/cp/server.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "console/text.h"
#include "sluice/cp/address.h"
#include "sluice/cp/message_report.h"
#include "sluice/cp/talk.h"
#include "sluice/loop.h"
#include "sluice/say.h"
#include "sluice/sender/sender.h"
#include "sluice/transfer/receiver.h"

#define PATHS_MAX   65536
#define PATHS_BYTES (4u << 20) /* in all: more than a command line holds */
#define SENDERS     8 /* peers that the receiver hears at a time, of which one has the token */

struct server_paths {
    char **list; /* n of them */
    int n;
    size_t bytes; /* of all, as they came */
};

struct server {
    struct talk talk;
    struct message_start start;
    struct copy copy;
    struct sync_options sync;
    struct filter filter;
    struct chosen chosen;
    struct address_list addresses; /* of the near end, if it receives */
    struct server_paths paths;     /* of this host */
    struct server_paths asked;     /* of the host that sends, if that is a far one, too */
    char origin[MESSAGE_ORIGIN_MAX + 1];
    struct allowance_options allowance; /* of a sender */
    bool started, complete;             /* START, GO has come */
    union {
        struct sender sender;
        struct receiver receiver;
    };
};

/* ---- paths -------------------------------------------------------------------------------- */

/* The home directory of the user whose name has len bytes; len 0: of this user. NULL: there is
 * none. */
static const char *home_of(const char *name, size_t len)
{
    const char *home = getenv("HOME");
    const struct passwd *p;
    char user[256];

    if (len == 0 && home != NULL && *home != 0)
        return home;
    if (len >= sizeof user)
        return NULL;
    memcpy(user, name, len);
    user[len] = 0;
    p = len == 0 ? getpwuid(getuid()) : getpwnam(user);
    return p == NULL ? NULL : p->pw_dir;
}

char *server_path(const char *path, char *why, size_t why_len)
{
    const char *home = "", *rest = path;
    char *out, safe[256];
    size_t len;

    if (path[0] == '~') {
        len = strcspn(path + 1, "/");
        home = home_of(path + 1, len);
        rest = path + 1 + len;
        if (home == NULL) {
            snprintf(why, why_len, "%s: no such user; write ./~ for a file whose name begins so",
                     text_safe(safe, sizeof safe, path));
            return NULL;
        }
        /* What is in a home directory is meant, whatever the name of that is. */
        if (strspn(rest, "/") == strlen(rest))
            rest = "/.";
    } else if (path[0] == 0) {
        rest = ".";
    } else if (path[0] == '-') {
        home = "./"; /* a file of this name, and neither standard input nor output */
    }
    len = strlen(home) + strlen(rest) + 1;
    out = malloc(len);
    if (out == NULL)
        snprintf(why, why_len, "no memory; end other programs first");
    else
        snprintf(out, len, "%s%s", home, rest);
    return out;
}

/* ---- what the near end says ---------------------------------------------------------------- */

/* Makes room for one more path, which came with len bytes. NULL, or what is wrong. */
static const char *paths_grow(struct server_paths *p, size_t len)
{
    char **more;

    if (p->n == PATHS_MAX || p->bytes + len > PATHS_BYTES)
        return "too many paths";
    more = realloc(p->list, ((size_t)p->n + 1) * sizeof *more);
    if (more == NULL)
        return "no memory for its paths";
    p->list = more;
    p->bytes += len;
    return NULL;
}

static void paths_free(struct server_paths *p)
{
    while (p->n > 0)
        free(p->list[--p->n]);
    free(p->list);
}

static const char *server_take_path(struct server *s, const struct message *m)
{
    const char *wrong = paths_grow(&s->paths, m->len_bytes);
    char text[MESSAGE_DATA_MAX + 1], why[512];

    if (wrong != NULL)
        return wrong;
    message_text(m, text);
    s->paths.list[s->paths.n] = server_path(text, why, sizeof why);
    if (s->paths.list[s->paths.n] == NULL) {
        loop_end(say_error(SAY_LOCAL, "%s", why));
        return NULL;
    }
    s->paths.n++;
    return NULL;
}

/* What the sender of this receiver may send, and what stands for it. */
static const char *server_take_sender(struct server *s, const struct message *m)
{
    char text[MESSAGE_DATA_MAX + 1];
    const char *wrong;

    if ((s->start.flags & MESSAGE_PULL) != 0)
        return "a sender of a sender";
    message_text(m, text);
    if (m->type == MESSAGE_ORIGIN) {
        memcpy(s->origin, text, m->len_bytes + 1u);
        return NULL;
    }
    wrong = paths_grow(&s->asked, m->len_bytes);
    if (wrong != NULL)
        return wrong;
    s->asked.list[s->asked.n] = strdup(text);
    return s->asked.list[s->asked.n] == NULL ? "no memory for its paths" : (s->asked.n++, NULL);
}

static const char *server_take_limit(struct server *s, const struct message *m)
{
    char text[MESSAGE_DATA_MAX + 1];

    if ((s->start.flags & MESSAGE_PULL) == 0)
        return "a limit for a receiver";
    message_text(m, text);
    return allowance_read(&s->allowance, text);
}

static const char *server_take_rule(struct server *s, const struct message *m)
{
    char text[MESSAGE_DATA_MAX + 1];

    if ((s->start.flags & MESSAGE_SYNC) == 0 || s->filter.n == FILTER_RULES_MAX ||
        (m->data[0] != '+' && m->data[0] != '-') || m->data[1] != ' ')
        return "a rule that cannot be";
    message_text(m, text);
    return filter_add(&s->filter, text);
}

static const char *server_take_chosen(struct server *s, const struct message *m)
{
    char text[MESSAGE_DATA_MAX + 1];

    if ((s->start.flags & MESSAGE_SYNC) == 0 || (s->start.flags & MESSAGE_DELETE) != 0)
        return "a name that cannot be";
    message_text(m, text);
    return chosen_add(&s->chosen, text);
}

/* Takes one message. Returns NULL, or what is wrong with it. */
static const char *server_take(struct server *s, const struct message *m)
{
    const char *why = NULL;

    if (s->complete || s->started == (m->type == MESSAGE_START))
        return "out of order";
    switch (m->type) {
    case MESSAGE_START:
        s->started = true;
        return message_start_decode(&s->start, m, &why) < 0 ? why : NULL;
    case MESSAGE_PATH:
        return server_take_path(s, m);
    case MESSAGE_ADDRESS:
        if (s->addresses.n == ADDRESS_LIST_MAX ||
            !address_decode(&s->addresses.list[s->addresses.n], m->data))
            return "an address that cannot be";
        s->addresses.n++;
        return NULL;
    case MESSAGE_RULE:
        return server_take_rule(s, m);
    case MESSAGE_CHOSEN:
        return server_take_chosen(s, m);
    case MESSAGE_ASKED:
    case MESSAGE_ORIGIN:
        return server_take_sender(s, m);
    case MESSAGE_LIMIT:
        return server_take_limit(s, m);
    case MESSAGE_GO:
        s->complete = true;
        if ((s->start.flags & MESSAGE_PULL) != 0)
            return s->paths.n > 0 && s->addresses.n > 0 ? NULL : "no path, or no address";
        return s->paths.n == 1 && s->addresses.n == 0 ? NULL : "not one path, or an address";
    default:
        return "one that only the far end sends";
    }
}

/* Hears what the near end has said. Its end stops this one, as a terminal that hangs up does. */
static void server_hear(void *context)
{
    struct server *s = context;
    struct message m;
    const char *why = NULL;
    int err = 0;

    talk_read(&s->talk);
    while (why == NULL && loop_code() == 0 && (err = talk_next(&s->talk, &m)) > 0)
        why = server_take(s, &m);
    if (err == -EPROTONOSUPPORT)
        loop_end(
            say_error(SAY_TRANSFER,
                      "the other host has version %u of sluice cp's protocol, this one %u; install "
                      "the same version of Sluice on both hosts",
                      s->talk.version, MESSAGE_VERSION));
    else if (err < 0 || why != NULL)
        loop_end(say_error(SAY_TRANSFER,
                           "invalid message from the other host (%s); install the same version of "
                           "Sluice on both hosts",
                           why != NULL ? why : s->talk.why));
    else if (s->talk.end)
        loop_end(128 + SIGHUP);
    if (loop_code() != 0)
        loop_unwatch(s->talk.in_fd);
}

/* ---- what the near end hears --------------------------------------------------------------- */

/* Hands a line for people to the near end, whose user reads it. */
static void server_say(void *context, bool error, const char *text)
{
    struct server *s = context;
    size_t len = strnlen(text, MESSAGE_TEXT_MAX);

    if (error || (s->start.flags & MESSAGE_QUIET) == 0)
        talk_write(&s->talk, error ? MESSAGE_ERROR : MESSAGE_NOTE, text, len);
}

/* Hands a line of --itemize to the near end. */
static void server_item(void *context, const char *line)
{
    struct server *s = context;

    talk_write(&s->talk, MESSAGE_ITEM, line, strlen(line));
}

/* Of a copy between two other hosts, the sender tells the near end what the user is to see. */

static void server_progress(void *context, const struct progress_view *v)
{
    struct server *s = context;
    struct message_progress p = {.done_bytes = v->moved_bytes,
                                 .total_bytes = v->all_bytes,
                                 .repeats = v->repeats,
                                 .limit = limits_now(&s->sender.limits)};
    uint8_t data[MESSAGE_DATA_MAX];

    snprintf(p.name, sizeof p.name, "%s", v->name);
    talk_write(&s->talk, MESSAGE_PROGRESS, data, message_progress_encode(data, &p));
}

static void server_file(void *context, const char *name, uint64_t bytes)
{
    struct server *s = context;
    uint8_t data[MESSAGE_DATA_MAX];

    if ((s->start.flags & MESSAGE_FILES) != 0)
        talk_write(&s->talk, MESSAGE_FILE, data, message_file_encode(data, name, bytes));
}

static void server_failed(void *context, const char *name, uint32_t code, const char *cause)
{
    struct server *s = context;
    uint8_t data[MESSAGE_DATA_MAX];

    talk_write(&s->talk, MESSAGE_FAILED, data,
               message_failed_encode(data, (uint8_t)code, name, cause));
}

static void server_summary(void *context, const struct summary *sum)
{
    struct server *s = context;
    uint8_t data[MESSAGE_DATA_MAX];

    talk_write(&s->talk, MESSAGE_SUMMARY, data, message_summary_encode(data, sum));
}

static const struct copy_report server_reports = {.progress = server_progress,
                                                  .file = server_file,
                                                  .failed = server_failed,
                                                  .summary = server_summary};

/* What kind of sync this is; NULL: none. */
static const struct sync_options *server_sync(struct server *s)
{
    uint32_t flags = s->start.flags;

    s->sync = (struct sync_options){.dry_run = (flags & MESSAGE_DRY_RUN) != 0,
                                    .checksum = (flags & MESSAGE_CHECKSUM) != 0,
                                    .prune = (flags & MESSAGE_DELETE) != 0,
                                    .prune_before = (flags & MESSAGE_DELETE_BEFORE) != 0,
                                    .itemize = (flags & MESSAGE_ITEMIZE) != 0,
                                    .whole_files = (flags & MESSAGE_WHOLE_FILES) != 0,
                                    .attributes = s->start.attributes,
                                    .filter = s->filter.n > 0 ? &s->filter : NULL,
                                    .chosen = s->chosen.n > 0 ? &s->chosen : NULL,
                                    .push = (flags & MESSAGE_PULL) == 0,
                                    .context = s,
                                    .say = server_item};
    return (flags & MESSAGE_SYNC) != 0 ? &s->sync : NULL;
}

/* This host accepts: tells where. */
static int server_ready(void *context, struct sluice *session, uint16_t service)
{
    uint8_t bytes[ADDRESS_BYTES], ready[MESSAGE_READY_BYTES];
    struct server *s = context;
    struct address_list ours;
    int code = address_list_get(&ours, session);
    uint32_t i;

    for (i = 0; code == SAY_OK && i < ours.n; i++) {
        address_encode(bytes, &ours.list[i]);
        talk_write(&s->talk, MESSAGE_ADDRESS, bytes, sizeof bytes);
    }
    bytes_put_u16(ready, service);
    ready[2] = s->receiver.destination.kind == DESTINATION_DIR;
    if (code == SAY_OK)
        talk_write(&s->talk, MESSAGE_READY, ready, sizeof ready);
    return code;
}

/* ---- its half ------------------------------------------------------------------------------ */

static int server_receive(struct server *s, const struct options *common)
{
    const struct message_start *t = &s->start;
    struct receiver_options o = {.common = *common,
                                 .output = s->paths.list[0],
                                 .port = t->service,
                                 .slots = t->buffers,
                                 .senders = SENDERS,
                                 .count = 1,
                                 .max_bytes = t->max_bytes,
                                 .keep_s = t->keep_s,
                                 .fsync = (t->flags & MESSAGE_FSYNC) != 0,
                                 .direct = (t->flags & MESSAGE_DIRECT) != 0,
                                 .overwrite = (t->flags & MESSAGE_OVERWRITE) != 0,
                                 .directory = (t->flags & MESSAGE_DIRECTORY) != 0,
                                 .copy = &s->copy,
                                 .sync = server_sync(s)};

    s->copy.ready = server_ready;
    s->copy.origin = s->origin[0] != 0 ? s->origin : NULL;
    s->copy.paths = s->asked.list;
    s->copy.n_paths = s->asked.n;
    s->copy.recursive = (t->flags & MESSAGE_RECURSIVE) != 0;
    s->copy.contents = (t->flags & MESSAGE_SYNC) != 0;
    return receiver_run(&s->receiver, &o);
}

/* Writes where to connect to. Returns an exit code. */
static int server_where(struct server *s, const char *socket, char where[ADDRESS_TEXT_MAX])
{
    const struct address *a = &s->addresses.list[0];
    struct loop loop = {.fd = -1};
    char mine[256], others[256];
    struct address_list ours;
    int code = loop_open(&loop, socket);

    if (code == SAY_OK)
        code = address_list_get(&ours, loop.session);
    loop_close(&loop);
    if (code == SAY_OK && address_list_equal(&ours, &s->addresses))
        return say_error(SAY_PEER, "both ends have the same daemon, which does not connect to "
                                   "itself; copy on that host, with cp(1) or rsync(1)");
    /* A single address without a network is the one that the user has given. */
    if (code == SAY_OK && (s->addresses.n > 1 || a->bits < 128))
        a = address_choose(&ours, &s->addresses);
    if (code == SAY_OK && a == NULL)
        code = say_error(SAY_PEER,
                         "no way from its ports (%s) to those %s (%s); give an address that can be "
                         "reached with --address",
                         address_list_text(&ours, mine, sizeof mine),
                         s->copy.report != NULL ? "of the receiving host" : "here",
                         address_list_text(&s->addresses, others, sizeof others));
    if (code == SAY_OK)
        address_service(a, s->start.service, where);
    return code;
}

/* Refuses a directory where the near end takes one file. */
static int server_check(const struct server *s)
{
    char safe[512];
    struct stat st;

    if ((s->start.flags & MESSAGE_ONE_FILE) == 0 || stat(s->paths.list[0], &st) < 0 ||
        !S_ISDIR(st.st_mode))
        return SAY_OK;
    return say_error(SAY_LOCAL,
                     "%s: is a directory, and the target is none; make that first (mkdir)",
                     text_safe(safe, sizeof safe, s->paths.list[0]));
}

static int server_send(struct server *s, const struct options *common)
{
    const struct message_start *t = &s->start;
    char where[ADDRESS_TEXT_MAX];
    struct sender_options o = {.common = *common,
                               .paths = s->paths.list,
                               .n_paths = s->paths.n,
                               .host = where,
                               .name = "",
                               .recursive = (t->flags & MESSAGE_RECURSIVE) != 0,
                               .go_back_n = (t->flags & MESSAGE_GO_BACK_N) != 0,
                               .resume = (t->flags & MESSAGE_RESUME) != 0,
                               .direct = (t->flags & MESSAGE_DIRECT) != 0,
                               .slots = t->buffers,
                               .streams = t->streams,
                               .allowance = s->allowance,
                               .copy = &s->copy,
                               .sync = server_sync(s)};
    int code = sender_check(&o, &s->sender.total_bytes);

    s->copy.report = (t->flags & MESSAGE_REPORT) != 0 ? &server_reports : NULL;
    if (code == SAY_OK)
        code = server_check(s);
    if (code == SAY_OK)
        code = server_where(s, common->socket, where);
    return code != SAY_OK ? code : sender_run(&s->sender, &o);
}

/* Moves the pipes away from standard input and output, which no file that the near end names shall
 * reach. 0 or a negative errno. */
static int server_take_pipes(struct server *s)
{
    int in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    talk_init(&s->talk, in, out);
    if (in < 0 || out < 0 || null < 0 || dup2(null, STDIN_FILENO) < 0 ||
        dup2(null, STDOUT_FILENO) < 0)
        return -errno;
    close(null);
    return 0;
}

int server_run(const char *version, const char *socket)
{
    struct options common = {.socket = socket, .quiet = false};
    struct server *s = calloc(1, sizeof *s);
    struct loop none = {.fd = -1};
    uint8_t end;
    int code;

    if (s == NULL)
        return say_error(SAY_RESOURCE, "no memory; end other programs first");
    if (server_take_pipes(s) < 0)
        return say_error(SAY_LOCAL, "standard input or output is closed; let sluice cp start this");
    s->copy.context = s;
    loop_signals();
    say_divert(server_say, s);
    loop_watch(s->talk.in_fd, server_hear, s);
    talk_write(&s->talk, MESSAGE_HELLO, version, strlen(version));
    while (!s->complete && loop_code() == 0)
        loop_wait(&none, -1, UINT64_MAX);
    memcpy(s->copy.token, s->start.token, sizeof s->copy.token);
    code = loop_code();
    if (code == SAY_OK)
        code = (s->start.flags & MESSAGE_PULL) != 0 ? server_send(s, &common)
                                                    : server_receive(s, &common);
    end = (uint8_t)code;
    talk_write(&s->talk, MESSAGE_END, &end, 1);
    say_divert(NULL, NULL);
    loop_unwatch(s->talk.in_fd);
    talk_close(&s->talk);
    paths_free(&s->paths);
    paths_free(&s->asked);
    filter_fini(&s->filter);
    chosen_fini(&s->chosen);
    free(s);
    return code;
}
