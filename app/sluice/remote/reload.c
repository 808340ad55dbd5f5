/* SPDX-License-Identifier: BSD-3-Clause */
/* sluice reload: makes the daemon reread its configuration, and shows the result. */
#include "sluice/command.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "console/text.h"
#include "sluice/loop.h"
#include "sluice/options.h"
#include "sluice/remote/daemon_pid.h"
#include "sluice/say.h"
#include "sluice/view/table.h"
#include "sluice/view/view.h"

#define ANSWER_NS 10000000000ull
#define LOOK_NS   20000000ull

const char command_reload_help[] =
    "usage: sluice reload [--json] [--socket PATH]\n"
    "Reloads the daemon's configuration (SIGHUP). Settings that can change while the\n"
    "daemon runs change at once; the others keep their values, and are listed because\n"
    "they need a restart. A file with an error changes nothing. Only root and the\n"
    "user that runs the daemon may reload.\n"
    "\n"
    "      --json         print the result as JSON\n"
    "      --socket PATH  socket of the daemon ($SLUICE_SOCKET)\n"
    "  -h, --help         show this help\n"
    "\n"
    "Exit status: 0 reloaded, 1 error in the file, 2 usage error, 3 no daemon or no\n"
    "answer, 5 no permission. Manual: sluice(1), doc/configuration.md.\n";

/* What the daemon says about its last reload; the caller calls json_decref(). NULL: no answer; the
 * error is printed. */
static json_t *last_reload(struct sluice *session)
{
    char err[512];
    int status;
    json_t *rows, *top = daemon_list(session, "reload", &rows, &status, err, sizeof err);

    if (top == NULL)
        say_error(SAY_DAEMON, "%s", err);
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
        table_json(row, stdout);
    } else if (good) {
        names_print(changed, "taken over");
        names_print(restart, "needs a restart");
        if (json_array_size(changed) + json_array_size(restart) == 0)
            puts("no changes");
    }
    if (say_flush() != SAY_OK)
        return SAY_LOCAL;
    if (good)
        return SAY_OK;
    return say_error(
        SAY_TRANSFER, "nothing is changed: %s",
        text_safe(safe, sizeof safe, json_string_value(json_object_get(row, "error"))));
}

/* Has the daemon reload, and waits until its last reload has a number above `before`. Returns an
 * exit code. */
static int ask(struct loop *l, const struct options *o, json_int_t before)
{
    const char *path = options_socket(o);
    uint64_t end = loop_now() + ANSWER_NS;
    int pid = daemon_pid(path != NULL ? path : SLUICE_SOCKET_DEFAULT);

    if (pid <= 0)
        return say_error(SAY_DAEMON, "the daemon's process cannot be seen from here; run this "
                                     "outside of the container, or kill -HUP it");
    if (kill(pid, SIGHUP) != 0)
        return say_error(SAY_LOCAL,
                         "no signal can be sent to sluiced (process %d): %s; become "
                         "root or the user that runs it",
                         pid, strerror(errno));
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
    return say_error(SAY_DAEMON, "sluiced (process %d) does not answer; see its log", pid);
}

int command_reload(int argc, char **argv)
{
    struct options o = {0};
    struct loop l = {0};
    json_t *top;
    int code = options_plain(&o, command_reload_help, argc, argv);

    if (code != OPTIONS_GO)
        return code;
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
