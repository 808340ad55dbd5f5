/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine of sluice-lab: worlds in, results out. On standard input, as often as wanted:
 *
 *   run BYTES SEED FILE\n   and BYTES bytes of text (FILE: its name, for messages)
 *   size BYTES SEED FILE\n  the same; asks only how much memory the world takes
 *
 * The engine answers each with a line of JSON on standard output: run as in result.h; size with
 * {"used_bytes": N, "reserved_bytes": N} (scenario.h); both with {"error": message} if the text is
 * wrong. The engine ends when its input ends, or when its parent process ends, which may be killed
 * during a run. The argument is the memory that the engine may use, in MB (512), or --version.
 * sluice-lab(1) starts the engine; people need not.
 */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include <rte_version.h>

#include "common/eal.h"
#include "common/say.h"
#include "lab/buffer.h"
#include "lab/policed.h"
#include "lab/pools.h"
#include "lab/result.h"
#include "lab/scenario.h"
#include "lab/text.h"
#include "lab/trial.h"

#define TEXT_BYTES_MAX (1u << 20)
#define MEMORY_MB      "512" /* enough for a world that does not set `frames` */
/* bytes of text: enough to name every second of CPU_SETSIZE processors */
#define LCORES_MAX     8192u

static void world_text_run(struct text *t, uint64_t seed, struct scenario_pools *pools,
                           struct result *r)
{
    const char *buffer = text_section(t, "buffer", 0);
    const char *stream = text_section(t, "stream", 0);
    const char *trial = text_section(t, "trial", 0);

    if (t->err[0] != '\0')
        return;
    if (buffer != NULL)
        buffer_run(t, buffer, r);
    else if (stream != NULL)
        policed_run(t, stream, seed, pools, r);
    else if (trial != NULL)
        trial_run(t, trial, seed, pools, r);
    else if (text_section(t, "host", 0) != NULL)
        scenario_run(t, seed, pools, r);
    else
        snprintf(t->err, sizeof t->err,
                 "%s: there is nothing to run; add hosts ([host NAME]), a [buffer], a [stream] or "
                 "a [trial]",
                 t->file);
}

static void run(struct text *t, uint64_t seed, struct scenario_pools *pools)
{
    struct result r;

    result_init(&r);
    world_text_run(t, seed, pools, &r);
    if (text_right(t))
        result_print(&r, stdout);
    else
        result_print_error(t->err, stdout);
    result_free(&r);
}

/* Answers a request for the size. Errors that do not concern the size are reported when the text is
 * run. */
static void size(struct text *t)
{
    uint64_t usual = pools_bytes(POOLS_FRAMES, POOLS_FRAME_BYTES);
    struct scenario_memory m = {usual, usual};
    const char *stream = text_section(t, "stream", 0), *trial = text_section(t, "trial", 0);

    if (t->err[0] == '\0' && stream != NULL)
        m = policed_size(t, stream);
    else if (t->err[0] == '\0' && trial != NULL)
        m = trial_size(t, trial);
    else if (t->err[0] == '\0' && text_section(t, "host", 0) != NULL)
        m = scenario_size(t);
    if (t->err[0] != '\0') {
        result_print_error(t->err, stdout);
        return;
    }
    printf("{\"used_bytes\": %llu, \"reserved_bytes\": %llu}\n", (unsigned long long)m.used_bytes,
           (unsigned long long)m.reserved_bytes);
    fflush(stdout);
}

static int serve(struct scenario_pools *pools)
{
    static struct text t;
    char head[512], word[8], file[400];
    unsigned long bytes;
    unsigned long long seed;

    while (fgets(head, sizeof head, stdin) != NULL) {
        if (sscanf(head, "%7s %lu %llu %399[^\n]", word, &bytes, &seed, file) != 4 ||
            bytes > TEXT_BYTES_MAX || (strcmp(word, "run") != 0 && strcmp(word, "size") != 0)) {
            say(SAY_ERROR, "\"%.60s\": not understood; write run BYTES SEED FILE, or size for run",
                head);
            return EXIT_USAGE;
        }
        char *buffer = malloc(bytes + 1);

        if (buffer == NULL || fread(buffer, 1, bytes, stdin) != bytes) {
            say(SAY_ERROR, "%s: the text is shorter than the announced %lu bytes", file, bytes);
            free(buffer);
            return EXIT_FAULT;
        }
        buffer[bytes] = '\0';
        text_read(&t, file, buffer);
        if (word[0] == 's')
            size(&t);
        else
            run(&t, seed, pools);
        free(buffer);
    }
    return EXIT_OK;
}

/* Writes "0@(0,2-5)": one lcore, on all the processors that we were started on. Otherwise the EAL
 * would bind lcore 0 to processor 0, which all engines would share, or which may not be ours to
 * use. */
static void lcores_tell(char *out, size_t len)
{
    size_t n = (size_t)snprintf(out, len, "0@(");
    const char *comma = "";
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof set, &set) != 0 || CPU_COUNT(&set) == 0) {
        snprintf(out, len, "0");
        return;
    }
    for (int first = 0, last; first < CPU_SETSIZE; first = last + 1) {
        last = first;
        if (!CPU_ISSET(first, &set))
            continue;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &set))
            last++;
        n += (size_t)snprintf(out + n, len - n, "%s%d-%d", comma, first, last);
        comma = ",";
    }
    snprintf(out + n, len - n, ")");
}

int main(int argc, char **argv)
{
    static char lcores[LCORES_MAX];
    const char *memory = argc > 1 ? argv[1] : MEMORY_MB;
    const char *eal[] = {argv[0],    "--no-huge", "--no-shconf",    "--no-pci",    "-m",   memory,
                         "--lcores", lcores,      "--no-telemetry", "--log-level", "error"};
    struct scenario_pools pools = {0};
    char err[256];
    int rc;

    say_as("sluice-lab-engine");
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        printf("sluice-lab-engine %s, %s\n", SLUICE_VERSION, rte_version());
        return EXIT_OK;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (argc > 2 || memory[strspn(memory, "0123456789")] != '\0') {
        say(SAY_ERROR, "%s: not a number of MB, or too much; use sluice-lab", argv[argc - 1]);
        return EXIT_USAGE;
    }
    lcores_tell(lcores, sizeof lcores);
    if (eal_start(NULL, 0, (int)(sizeof eal / sizeof eal[0]), (char **)(uintptr_t)eal, err,
                  sizeof err) < 0) {
        say(SAY_ERROR, "%s", err);
        return EXIT_EAL;
    }
    rc = serve(&pools);
    pools_free(&pools);
    eal_stop();
    return rc;
}
