/* SPDX-License-Identifier: BSD-3-Clause */
/* Options that several commands share, and the errors for options that are refused. */
#include "sluice/options.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/value.h"
#include "console/text.h"
#include "sluice/say.h"

#define KEEP_MAX_NS (365ull * 24 * 3600 * 1000000000)

bool options_take(struct options *o, int value)
{
    switch (value) {
    case OPTIONS_SOCKET:
        o->socket = optarg;
        return true;
    case OPTIONS_RATES:
        o->rates = optarg;
        return true;
    case OPTIONS_JSON:
        o->json = true;
        return true;
    case OPTIONS_JSON_STREAM:
        o->json = o->json_stream = true;
        return true;
    case 'q':
        o->quiet = true;
        return true;
    case 'v':
        o->verbose = true;
        return true;
    default:
        return false;
    }
}

int options_plain(struct options *o, const char *help, int argc, char **argv)
{
    static const struct option longs[] = {OPTIONS_PLAIN, {NULL, 0, NULL, 0}};
    int opt;

    while ((opt = getopt_long(argc, argv, ":h", longs, NULL)) != -1) {
        if (opt == 'h') {
            fputs(help, stdout);
            return say_flush();
        }
        if (!options_take(o, opt))
            return options_refused(argv[0], argv, opt);
    }
    return OPTIONS_GO;
}

const char *options_socket(const struct options *o)
{
    const char *path = o->socket != NULL ? o->socket : getenv("SLUICE_SOCKET");

    return path != NULL && *path != 0 ? path : NULL;
}

static int options_bad(const char *name, const char *why, const char *example)
{
    char safe[64];

    return say_error(SAY_USAGE, "%s %s: %s; write it like %s", name,
                     text_safe(safe, sizeof safe, optarg), why, example);
}

static int options_outside(const char *name, const char *min, const char *max)
{
    char safe[64];

    return say_error(SAY_USAGE, "%s %s: out of range; give %s to %s", name,
                     text_safe(safe, sizeof safe, optarg), min, max);
}

int options_number(const char *name, uint64_t min, uint64_t max, uint64_t *value)
{
    const char *why = value_number(optarg, value);
    char least[24], most[24];

    if (why != NULL)
        return options_bad(name, why, "10");
    if (*value >= min && *value <= max)
        return SAY_OK;
    snprintf(least, sizeof least, "%" PRIu64, min);
    snprintf(most, sizeof most, "%" PRIu64, max);
    return options_outside(name, least, most);
}

int options_size(const char *name, uint64_t min, uint64_t max, uint64_t *bytes)
{
    const char *why = value_size(optarg, bytes);
    char least[VALUE_TEXT_MAX], most[VALUE_TEXT_MAX];

    if (why != NULL)
        return options_bad(name, why, "64K, 16M or 1G");
    if (*bytes >= min && *bytes <= max)
        return SAY_OK;
    return options_outside(name, value_size_text(min, least), value_size_text(max, most));
}

int options_duration(const char *name, uint64_t min_ns, uint64_t max_ns, uint64_t *ns)
{
    char least[VALUE_TEXT_MAX], most[VALUE_TEXT_MAX];
    uint64_t seconds;
    const char *why = NULL;

    if (value_number(optarg, &seconds) == NULL && seconds <= max_ns / 1000000000)
        *ns = seconds * 1000000000;
    else
        why = value_time(optarg, ns);
    if (why != NULL)
        return options_bad(name, why, "500ms, 10 or 2min");
    if (*ns >= min_ns && *ns <= max_ns)
        return SAY_OK;
    return options_outside(name, value_time_text(min_ns, least), value_time_text(max_ns, most));
}

int options_keep(uint32_t *keep_s)
{
    uint64_t ns = 0;
    int code = options_duration("--keep-partial", 0, KEEP_MAX_NS, &ns);

    *keep_s = (uint32_t)(ns / 1000000000);
    return code;
}

int options_refused(const char *command, char *const *argv, int value)
{
    char safe[64];

    text_safe(safe, sizeof safe, argv[optind - 1]);
    return say_error(SAY_USAGE, "%s: %s; see sluice %s --help", safe,
                     value == ':' ? "needs a value" : "no such option, or wrong form", command);
}

int options_wrong(const char *command, const char *what)
{
    return say_error(SAY_USAGE, "%s: %s; see sluice %s --help", command, what, command);
}

bool options_talk(const struct options *o)
{
    return !o->quiet && (o->verbose || (!o->json && isatty(STDERR_FILENO)));
}

FILE *options_lines(const struct options *o)
{
    return o->json_stream ? stdout : NULL;
}
