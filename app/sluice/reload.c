/* SPDX-License-Identifier: BSD-3-Clause */
/* sluice reload: the daemon reads its configuration anew, and what came of it. */
#include "sluice/command.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <jansson.h>

#include "sluice/loop.h"
#include "sluice/options.h"
#include "sluice/say.h"
#include "sluice/text.h"

#define ANSWER_NS 10000000000ull
#define LOOK_NS   20000000ull

static const char help[] =
    "usage: sluice reload [--json] [--socket PATH]\n"
    "Has the daemon read its configuration anew (SIGHUP). What can change while it runs\n"
    "is changed at once; what needs a restart stays as it is and is named. A file that is\n"
    "wrong changes nothing. For root and the user that runs the daemon.\n"
    "\n"
    "      --json         the daemon's answer as JSON\n"
    "      --socket PATH  the daemon's socket ($SLUICE_SOCKET)\n"
    "\n"
    "Exit: 0 taken over, 1 the file is wrong, 2 usage, 3 no daemon, or it does not answer,\n"
    "5 not allowed. See sluice(1); doc/configuration.md lists what can change.\n";

static const struct option longs[] = {
    {"json", no_argument, NULL, OPTIONS_JSON},
    {"socket", required_argument, NULL, OPTIONS_SOCKET},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

/* Who listens at the daemon's socket; 0: nobody whom we can see. */
static pid_t daemon_pid(const char *path)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    struct ucred who = {.pid = 0};
    socklen_t len = sizeof who;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    if (path == NULL)
        path = getenv("SLUICE_SOCKET");
    if (path == NULL || *path == 0)
        path = SLUICE_SOCKET_DEFAULT;
    snprintf(a.sun_path, sizeof a.sun_path, "%s", path);
    if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof a) != 0 ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) != 0)
        who.pid = 0;
    if (fd >= 0)
        close(fd);
    return who.pid;
}

/* The daemon's word on its last reload, to be let go; NULL, with the error said: it has none. */
static json_t *last_reload(struct sluice *session)
{
    char *said = NULL;
    json_t *top;

    if (sluice_show(session, "reload", &said) < 0) {
        say_error(SAY_DAEMON, "%s", sluice_error(session));
        return NULL;
    }
    top = json_loads(said, 0, NULL);
    free(said);
    if (!json_is_array(json_object_get(top, "reload"))) {
        json_decref(top);
        say_error(SAY_DAEMON, "the daemon's answer makes no sense; use the same version of sluice "
                              "and sluiced");
        return NULL;
    }
    return top;
}

static const json_t *row_of(const json_t *top)
{
    return json_array_get(json_object_get(top, "reload"), 0);
}

static json_int_t number_of(const json_t *top)
{
    return json_integer_value(json_object_get(row_of(top), "number"));
}

static void names_print(const json_t *names, const char *words)
{
    char safe[256];
    json_t *name;
    size_t i;

    json_array_foreach(names, i, name)
        printf("%s: %s\n", words, text_safe(safe, sizeof safe, json_string_value(name)));
}

static int print(const json_t *top, bool as_json)
{
    const json_t *row = row_of(top), *changed = json_object_get(row, "changed"),
                 *restart = json_object_get(row, "restart");
    bool good = json_is_true(json_object_get(row, "good"));
    char safe[1024];

    if (as_json) {
        json_dumpf(row, stdout, JSON_COMPACT);
        putchar('\n');
    } else if (good) {
        names_print(changed, "taken over");
        names_print(restart, "needs a restart");
        if (json_array_size(changed) + json_array_size(restart) == 0)
            puts("nothing is new");
    }
    if (say_flush() != SAY_OK)
        return SAY_LOCAL;
    if (good)
        return SAY_OK;
    return say_error(
        SAY_TRANSFER, "nothing is changed: %s",
        text_safe(safe, sizeof safe, json_string_value(json_object_get(row, "error"))));
}

/* Asks, and waits until there is a newer answer than `before`. */
static int ask(struct loop *l, const struct options *o, json_int_t before)
{
    uint64_t end = loop_now() + ANSWER_NS;
    pid_t pid = daemon_pid(o->socket);

    if (pid <= 0)
        return say_error(SAY_DAEMON, "the daemon's process cannot be seen from here; run this "
                                     "outside of the container, or kill -HUP it");
    if (kill(pid, SIGHUP) != 0)
        return say_error(SAY_LOCAL,
                         "no signal can be sent to sluiced (process %d): %s; become "
                         "root or the user that runs it",
                         (int)pid, strerror(errno));
    while (loop_now() < end && loop_signal() == 0) {
        json_t *top = last_reload(l->session);
        int code;

        if (top == NULL)
            return SAY_DAEMON;
        if (number_of(top) > before) {
            code = print(top, o->json);
            json_decref(top);
            return code;
        }
        json_decref(top);
        usleep(LOOK_NS / 1000);
    }
    if (loop_signal() != 0)
        return 128 + loop_signal();
    return say_error(SAY_DAEMON, "sluiced (process %d) does not answer; see what it said",
                     (int)pid);
}

int command_reload(int argc, char **argv)
{
    struct options o = {0};
    struct loop l = {0};
    json_t *top;
    int opt, code;

    while ((opt = getopt_long(argc, argv, ":h", longs, NULL)) != -1) {
        if (opt == 'h') {
            fputs(help, stdout);
            return say_flush();
        }
        if (!options_take(&o, opt))
            return options_refused("reload", argv, opt);
    }
    if (argc != optind)
        return options_wrong("reload", "takes no arguments but options");
    code = loop_open(&l, o.socket);
    if (code != SAY_OK)
        return code;
    top = last_reload(l.session);
    code = top != NULL ? ask(&l, &o, number_of(top)) : SAY_DAEMON;
    json_decref(top);
    loop_close(&l);
    return code;
}
