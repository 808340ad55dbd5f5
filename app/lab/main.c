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
#include <rte_mbuf.h>

#include "common/eal.h"
#include "common/say.h"
#include "lab/buffer.h"
#include "lab/policed.h"
#include "lab/result.h"
#include "lab/scene.h"
#include "lab/text.h"

#define TEXT_BYTES_MAX  (1u << 20)
#define FRAME_BYTES_MAX 16640u /* of the largest mtu, with its headers */

static void world_text_run(struct text *t, uint64_t seed, const struct scene_pools *pools,
                           struct result *r)
{
    const char *buffer = text_section(t, "buffer", 0);
    const char *stream = text_section(t, "stream", 0);

    if (t->err[0] != '\0')
        return;
    if (buffer != NULL)
        buffer_run(t, buffer, r);
    else if (stream != NULL)
        policed_run(t, stream, seed, pools->wire, r);
    else if (text_section(t, "host", 0) != NULL)
        scene_run(t, seed, pools, r);
    else
        snprintf(t->err, sizeof t->err,
                 "%s: there is nothing to run; add hosts ([host NAME]), a [buffer] or a [stream]",
                 t->file);
}

static void run(const char *file, char *buffer, uint64_t seed, const struct scene_pools *pools)
{
    static struct text t;
    struct result r;

    result_init(&r);
    text_read(&t, file, buffer);
    world_text_run(&t, seed, pools, &r);
    if (text_right(&t))
        result_print(&r, stdout);
    else
        result_print_error(t.err, stdout);
    result_free(&r);
}

static int serve(const struct scene_pools *pools)
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
        run(file, buffer, seed, pools);
        free(buffer);
    }
    return EXIT_OK;
}

static struct rte_mempool *pool_make(const char *name, unsigned int n, unsigned int room)
{
    struct rte_mempool *p = rte_pktmbuf_pool_create(name, n, 0, 0, (uint16_t)room, SOCKET_ID_ANY);

    if (p == NULL)
        say("no memory for %u packet buffers; free some memory", n);
    return p;
}

int main(int argc, char **argv)
{
    const char *eal[] = {argv[0],    "--no-huge", "--no-shconf",    "--no-pci",    "-m",   "512",
                         "--lcores", "0",         "--no-telemetry", "--log-level", "error"};
    struct scene_pools pools;
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
    pools = (struct scene_pools){pool_make("head", 8191, RTE_PKTMBUF_HEADROOM + 1024),
                                 pool_make("attach", 8191, 0),
                                 pool_make("wire", 8191, RTE_PKTMBUF_HEADROOM + FRAME_BYTES_MAX)};
    if (pools.head == NULL || pools.attach == NULL || pools.wire == NULL)
        return EXIT_EAL;
    rc = serve(&pools);
    rte_eal_cleanup();
    return rc;
}
