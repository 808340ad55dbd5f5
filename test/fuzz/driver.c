/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs the fuzz target without libFuzzer: on the files and folders given, then on seeded mutations
 * of the golden inputs. SLUICE_SEED and SLUICE_FUZZ_RUNS choose the seed (printed) and the number
 * of mutations.
 *
 *   DRIVER [FILE | DIR]...     DRIVER --seeds DIR   (writes the golden inputs, for libFuzzer)
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/check.h"
#include "base/rng.h"
#include "fuzz.h"

static int file_run(const char *path)
{
    static uint8_t bytes[1 << 17];
    FILE *f = fopen(path, "rb");
    size_t len;

    if (f == NULL) {
        perror(path);
        return 1;
    }
    len = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    LLVMFuzzerTestOneInput(bytes, len);
    return 0;
}

/* All files of a folder, or the one file that path names. */
static int path_run(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *e;
    char file[4096];
    int rc = 0;

    if (dir == NULL)
        return file_run(path);
    while (rc == 0 && (e = readdir(dir)) != NULL) {
        snprintf(file, sizeof file, "%s/%s", path, e->d_name);
        if (e->d_name[0] != '.')
            rc = file_run(file);
    }
    closedir(dir);
    return rc;
}

static int seeds_write(const char *dir)
{
    uint8_t p[FUZZ_INPUT_MAX];
    char path[4096];
    size_t len;

    for (unsigned int i = 0; (len = golden_put(i, p)) > 0; i++) {
        FILE *f;

        snprintf(path, sizeof path, "%s/golden-%02u", dir, i);
        f = fopen(path, "wb");
        if (f == NULL || fwrite(p, 1, len, f) != len || fclose(f) != 0) {
            perror(path);
            return 1;
        }
    }
    return 0;
}

/* Changes a bit, a byte by 1, 1 to 8 bytes to an edge value, a run's place, or the length. */
static size_t mutate(struct rng *r, uint8_t *p, size_t len)
{
    static const uint64_t edges[] = {0,          1,          0x7f,       0x80,       0xff,
                                     0x7fff,     0x8000,     0xffff,     0x7fffffff, 0x80000000,
                                     0xffffffff, 1ull << 32, 1ull << 63, UINT64_MAX};
    size_t at = rng_below(r, len), n = 1ull << rng_below(r, 4), from;
    uint64_t v;

    switch (rng_below(r, 5)) {
    case 0:
        p[at] ^= (uint8_t)(1 << rng_below(r, 8));
        break;
    case 1:
        v = edges[rng_below(r, sizeof edges / sizeof edges[0])];
        for (size_t i = 0; i < n && at + i < len; i++)
            p[at + i] = (uint8_t)(v >> 8 * (n - 1 - i));
        break;
    case 2:
        p[at] = (uint8_t)(p[at] + (rng_below(r, 2) ? 1 : 255));
        break;
    case 3:
        from = rng_below(r, len);
        n = rng_below(r, len - (at > from ? at : from)) + 1;
        memmove(p + at, p + from, n);
        break;
    default:
        n = rng_below(r, 4) > 0 ? rng_below(r, 9) : rng_below(r, FUZZ_INPUT_MAX);
        if (rng_below(r, 2))
            return len > n ? len - n : 1;
        n = len + n < FUZZ_INPUT_MAX ? n : FUZZ_INPUT_MAX - len;
        memset(p + len, (int)rng_below(r, 256), n);
        return len + n;
    }
    return len;
}

static void mutations_run(struct rng *r, uint64_t runs, unsigned int goldens)
{
    uint8_t p[FUZZ_INPUT_MAX];

    for (uint64_t i = 0; i < runs; i++) {
        size_t len = golden_put((unsigned int)rng_below(r, goldens), p);

        for (uint64_t changes = rng_below(r, 4) + 1; changes > 0; changes--)
            len = mutate(r, p, len);
        LLVMFuzzerTestOneInput(p, len);
    }
}

static unsigned int goldens_run(void)
{
    uint8_t p[FUZZ_INPUT_MAX];
    unsigned int i;
    size_t len;

    for (i = 0; (len = golden_put(i, p)) > 0; i++)
        LLVMFuzzerTestOneInput(p, len);
    golden_check();
    return i;
}

static uint64_t number_from(const char *variable, uint64_t otherwise)
{
    const char *text = getenv(variable);

    return text != NULL ? strtoull(text, NULL, 0) : otherwise;
}

int main(int argc, char **argv)
{
    uint64_t seed = number_from("SLUICE_SEED", (uint64_t)time(NULL));
    uint64_t runs = number_from("SLUICE_FUZZ_RUNS", golden_runs);
    struct rng r;

    if (argc == 3 && strcmp(argv[1], "--seeds") == 0)
        return seeds_write(argv[2]);
    for (int i = 1; i < argc; i++)
        if (path_run(argv[i]) != 0)
            return 1;
    printf("SLUICE_SEED=%llu SLUICE_FUZZ_RUNS=%llu\n", (unsigned long long)seed,
           (unsigned long long)runs);
    fflush(stdout);
    rng_init(&r, seed);
    mutations_run(&r, runs, goldens_run());
    golden_print();
    return 0;
}
