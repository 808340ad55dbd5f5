/* SPDX-License-Identifier: BSD-3-Clause */
/* Options that several commands have, and how options are refused. */
#include "sluice/options.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "sluice/say.h"
#include "sluice/text.h"

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

static int options_outside(const char *name, int err, const char *example, uint64_t min,
                           uint64_t max)
{
    char safe[64];

    text_safe(safe, sizeof safe, optarg);
    if (err == -EINVAL)
        return say_error(SAY_USAGE, "%s %s: not understood; write it like %s", name, safe, example);
    return say_error(SAY_USAGE, "%s %s: out of range; give %" PRIu64 " to %" PRIu64, name, safe,
                     min, max);
}

int options_number(const char *name, uint64_t min, uint64_t max, uint64_t *value)
{
    int err = text_number(optarg, min, max, value);

    return err < 0 ? options_outside(name, err, "10", min, max) : SAY_OK;
}

int options_size(const char *name, uint64_t min, uint64_t max, uint64_t *bytes)
{
    int err = text_size(optarg, bytes);

    if (err == 0 && (*bytes < min || *bytes > max))
        err = -ERANGE;
    return err < 0 ? options_outside(name, err, "64K, 16M or 1G", min, max) : SAY_OK;
}

int options_duration(const char *name, uint64_t min_ns, uint64_t max_ns, uint64_t *ns)
{
    char safe[64];
    int err = text_duration(optarg, ns);

    if (err == 0 && (*ns < min_ns || *ns > max_ns))
        err = -ERANGE;
    if (err == 0)
        return SAY_OK;
    text_safe(safe, sizeof safe, optarg);
    if (err == -EINVAL)
        return say_error(SAY_USAGE, "%s %s: not understood; write it like 500ms, 10 or 2m", name,
                         safe);
    return say_error(SAY_USAGE, "%s %s: out of range; give %" PRIu64 "ms to %" PRIu64 "s", name,
                     safe, min_ns / 1000000, max_ns / 1000000000);
}

int options_refused(const char *command, char *const *argv, int value)
{
    char safe[64];

    text_safe(safe, sizeof safe, argv[optind - 1]);
    return say_error(SAY_USAGE, "%s: %s; see sluice %s --help", safe,
                     value == ':' ? "needs a value" : "no such option, or not its form", command);
}

int options_wrong(const char *command, const char *what)
{
    return say_error(SAY_USAGE, "%s: %s; see sluice %s --help", command, what, command);
}

bool options_talk(const struct options *o)
{
    return !o->quiet && (o->verbose || (!o->json && isatty(STDERR_FILENO)));
}
