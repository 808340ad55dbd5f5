/* SPDX-License-Identifier: BSD-3-Clause */
/* sluice-load: from its command line to its exit code. Manual: sluice-load(8). */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_version.h>

#include "common/eal.h"
#include "common/say.h"
#include "load/options.h"
#include "load/result.h"
#include "load/tester.h"

enum { EXIT_LOSS = 3 }; /* more was lost than --max-loss allows */

static struct tester tester;
static volatile sig_atomic_t stopped;

static void on_signal(int number)
{
    stopped = number;
    tester_stop(&tester);
}

static void signals_take(void)
{
    struct sigaction action = {.sa_handler = on_signal}; /* no SA_RESTART: reading ends, too */

    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* ---- output ------------------------------------------------------------------------------- */

static void window_show(const struct tester *t, enum options_output output)
{
    switch (output) {
    case OUTPUT_JSON:
        result_json(&t->sum, t->direction, t->directions, stdout);
        break;
    case OUTPUT_CSV:
        result_csv(&t->sum, stdout);
        break;
    default:
        if (t->directions > 1)
            for (unsigned int i = 0; i < t->directions; i++) {
                printf("%s: ", t->port[i].name);
                result_table(&t->direction[i], stdout);
            }
        else
            result_table(&t->sum, stdout);
    }
}

static void error_json(const char *err)
{
    json_t *o = json_pack("{s:s}", "error", err);

    json_dumpf(o, stdout, 0);
    json_decref(o);
    putchar('\n');
    fflush(stdout);
}

/* ---- modes -------------------------------------------------------------------------------- */

static int windows_run(struct tester *t, const struct options *o)
{
    struct plan plan = o->plan;
    char err[512];
    int rc = EXIT_OK;

    if (o->output == OUTPUT_CSV)
        result_csv_head(stdout);
    for (uint32_t i = 0; i < RTE_MAX(o->n_sizes, 1u); i++)
        for (uint32_t k = 0; k < RTE_MAX(o->n_rates, 1u) && !stopped; k++) {
            if ((o->n_sizes > 0 && plan_set(&plan, "size", o->sizes[i], err, sizeof err) != 0) ||
                (o->n_rates > 0 && plan_set(&plan, "rate", o->rates[k], err, sizeof err) != 0) ||
                tester_run(t, &plan, err, sizeof err) != 0) {
                say(SAY_ERROR, "%s", err);
                return EXIT_FAULT;
            }
            window_show(t, o->output);
            if (o->max_loss >= 0 && result_loss(&t->sum) > o->max_loss)
                rc = EXIT_LOSS;
        }
    return rc;
}

/* Reads lines until the input or a signal ends it. A line sets keys for this window and those that
 * follow. */
static int lines_run(struct tester *t, const struct options *o)
{
    struct plan plan = o->plan;
    char line[1024], err[512];
    int rc = EXIT_OK;

    puts("{\"ready\": true}");
    fflush(stdout);
    while (!stopped && fgets(line, sizeof line, stdin) != NULL) {
        struct plan next = plan;

        if (strchr(line, '\n') == NULL && strlen(line) == sizeof line - 1) {
            error_json("the line is too long; a window fits into 1000 bytes");
            while (strchr(line, '\n') == NULL && fgets(line, sizeof line, stdin) != NULL)
                continue;
            continue;
        }
        if (line[strspn(line, " \t\r\n")] == '\0')
            continue;
        if (plan_line(&next, line, err, sizeof err) != 0 ||
            tester_run(t, &next, err, sizeof err) != 0) {
            error_json(err);
            continue;
        }
        plan = next;
        result_json(&t->sum, t->direction, t->directions, stdout);
        if (o->max_loss >= 0 && result_loss(&t->sum) > o->max_loss)
            rc = EXIT_LOSS;
    }
    return rc;
}

static int reflect_run(struct tester *t, const struct options *o)
{
    struct reflector sum = {0};

    if (o->output == OUTPUT_JSON) {
        puts("{\"ready\": true}");
        fflush(stdout);
    }
    tester_reflect(t, o->plan.seconds);
    for (unsigned int i = 0; i < t->reflectors; i++) {
        sum.received += t->reflector[i].received;
        sum.received_bytes += t->reflector[i].received_bytes;
        sum.reflected += t->reflector[i].reflected;
        sum.refused += t->reflector[i].refused;
        sum.dropped += t->reflector[i].dropped;
    }
    printf(o->output == OUTPUT_JSON ? "{\"received\": %" PRIu64 ", \"received_bytes\": %" PRIu64
                                      ", \"reflected\": %" PRIu64 ", \"refused\": %" PRIu64
                                      ", \"dropped\": %" PRIu64 "}\n"
                                    : "received %" PRIu64 " frames, %" PRIu64
                                      " bytes; reflected %" PRIu64 "; refused by the port %" PRIu64
                                      "; dropped %" PRIu64 "\n",
           sum.received, sum.received_bytes, sum.reflected, sum.refused, sum.dropped);
    fflush(stdout);
    return EXIT_OK;
}

static int tester_life(const struct options *o)
{
    char err[512];
    int rc = EXIT_FAULT;

    if (tester_open(&tester, o, err, sizeof err) != 0) {
        say(SAY_ERROR, "%s", err);
    } else {
        say(SAY_NOTICE, "ready: %s (%s)%s%s", tester.port[0].name, tester.port[0].driver,
            tester.ports > 1 ? " to " : "", tester.ports > 1 ? tester.port[1].name : "");
        if (o->mode == MODE_REFLECT)
            rc = reflect_run(&tester, o);
        else if (o->interactive)
            rc = lines_run(&tester, o);
        else
            rc = windows_run(&tester, o);
    }
    tester_close(&tester);
    return rc;
}

int main(int argc, char **argv)
{
    static struct options options;
    char err[1024];
    int rc;

    say_as("sluice-load");
    if (options_parse(&options, argc, argv, err, sizeof err) != 0) {
        say(SAY_ERROR, "%s", err);
        return EXIT_USAGE;
    }
    if (options.help || options.version) {
        if (options.help)
            fputs(options_help, stdout);
        else
            printf("sluice-load %s, %s\n", SLUICE_VERSION, rte_version());
        return EXIT_OK;
    }
    if (eal_start((const char *const[]){options.port[0], options.port[1]}, 2, options.eal_argc,
                  argv, err, sizeof err) != 0) {
        say(SAY_ERROR, "%s", err);
        return EXIT_FAULT;
    }
    signals_take();
    rc = tester_life(&options);
    eal_stop();
    return rc;
}
