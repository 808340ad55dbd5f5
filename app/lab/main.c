/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine of sluice-lab: worlds in, results out. On standard input, as often as wanted:
 *   run BYTES SEED FILE\n   and BYTES bytes of text (FILE: its name, for messages)
 * and for each a line of JSON on standard output (result.h), or {"error": message}. It ends when
 * its input does. sluice-lab(1) starts it; people need not.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>

#include "common/eal.h"
#include "common/say.h"
#include "lab/buffer.h"
#include "lab/result.h"
#include "lab/text.h"

#define TEXT_BYTES_MAX (1u << 20)

static void world_text_run(struct text *t, struct result *r)
{
    const char *line = text_section(t, "line", 0);

    if (line != NULL)
        buffer_run(t, line, r);
    else if (t->err[0] == '\0')
        snprintf(t->err, sizeof t->err,
                 "%s: there is nothing to run; add hosts ([host NAME]) or a [line]", t->file);
}

static void run(const char *file, char *buffer, uint64_t seed)
{
    static struct text t;
    struct result r;

    result_init(&r);
    text_read(&t, file, buffer);
    world_text_run(&t, &r);
    if (text_right(&t))
        result_print(&r, stdout);
    else
        result_print_error(t.err, stdout);
    result_free(&r);
    (void)seed;
}

static int serve(void)
{
    char head[512], file[400];
    unsigned long bytes;
    unsigned long long seed;

    while (fgets(head, sizeof head, stdin) != NULL) {
        if (sscanf(head, "run %lu %llu %399[^\n]", &bytes, &seed, file) != 3 ||
            bytes > TEXT_BYTES_MAX) {
            say("\"%.60s\": not understood; write run BYTES SEED FILE", head);
            return EXIT_USAGE;
        }
        char *buffer = malloc(bytes + 1);

        if (buffer == NULL || fread(buffer, 1, bytes, stdin) != bytes) {
            say("%s: the text is shorter than the %lu bytes announced", file, bytes);
            free(buffer);
            return EXIT_FAULT;
        }
        buffer[bytes] = '\0';
        run(file, buffer, seed);
        free(buffer);
    }
    return EXIT_OK;
}

int main(int argc, char **argv)
{
    const char *eal[] = {argv[0], "--no-huge", "--no-shconf",    "--no-pci",    "-m",   "512",
                         "--lcores", "0",      "--no-telemetry", "--log-level", "error"};
    char err[256];
    int rc;

    say_as("sluice-lab-engine");
    if (argc > 1) {
        say("%s: no arguments are known; use sluice-lab", argv[1]);
        return EXIT_USAGE;
    }
    if (eal_start(NULL, 0, (int)(sizeof eal / sizeof eal[0]), (char **)(uintptr_t)eal, err,
                  sizeof err) < 0) {
        say("%s", err);
        return EXIT_EAL;
    }
    rc = serve();
    rte_eal_cleanup();
    return rc;
}
