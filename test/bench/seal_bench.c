/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures how much one core can seal, and open, with one of the ciphers of associations, from cold
 * memory to cold memory. As in memcpy_bench, both have 1 GiB and are worked through in pieces of
 * one unit. What is opened is noise: its tags are wrong, which costs the same.
 *
 * Usage: seal_bench UNIT_BYTES LIBRARY CIPHER      (names as in crypto/aead.h)
 * Prints {"ready": true} when the memory is there. Then each line of input is "seal" or "open", and
 * a time in seconds. The program works for that long and prints {"bytes": N, "seconds": S} on one
 * line. It ends with its input.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cold.h"
#include "crypto/aead.h"

#define HEADER_BYTES 56 /* of DATA: the associated data */

static struct aead *cipher_get(const char *library, const char *cipher)
{
    static const uint8_t key[AEAD_KEY_MAX] = {1, 2, 3};

    for (int l = 0; l < AEAD_LIBRARIES; l++)
        for (int c = 0; c < AEAD_CIPHERS; c++)
            if (strcmp(library, aead_library_name((enum aead_library)l)) == 0 &&
                strcmp(cipher, aead_cipher_name((enum aead_cipher)c)) == 0 &&
                aead_has((enum aead_library)l))
                return aead_create((enum aead_library)l, (enum aead_cipher)c, key);
    fprintf(stderr, "seal_bench: this build and CPU have no %s by %s\n", cipher, library);
    exit(1);
}

static void unit_work(struct aead *a, bool seals, uint8_t *to, const uint8_t *from, uint32_t len)
{
    static uint64_t number;
    uint8_t nonce[AEAD_NONCE_BYTES] = {0}, header[HEADER_BYTES] = {0}, tag[AEAD_TAG_BYTES] = {0};

    number++;
    memcpy(nonce + 4, &number, sizeof number);
    if (seals) {
        aead_seal_begin(a, nonce, header, sizeof header);
        aead_seal(a, to, from, len);
        aead_seal_end(a, tag);
    } else {
        aead_open_begin(a, nonce, header, sizeof header);
        aead_open(a, to, from, len);
        aead_open_end(a, tag);
    }
}

int main(int argc, char **argv)
{
    size_t unit = argc == 4 ? strtoul(argv[1], NULL, 10) : 0, units, next = 0;
    char line[64];

    if (unit == 0 || unit > MEMORY_BYTES / LOOK_UNITS) {
        fputs("usage: seal_bench UNIT_BYTES LIBRARY CIPHER\n", stderr);
        return 2;
    }
    struct aead *a = cipher_get(argv[2], argv[3]);
    uint8_t *from = cold_memory("seal_bench"), *to = cold_memory("seal_bench");

    units = MEMORY_BYTES / unit;
    puts("{\"ready\": true}");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin) != NULL) {
        bool seals = strncmp(line, "seal ", 5) == 0;
        double begin = now_s(), end = begin + strtod(line + 5, NULL), now;
        unsigned long long done = 0;

        do {
            for (int i = 0; i < LOOK_UNITS; i++) {
                unit_work(a, seals, to + next * unit, from + next * unit, (uint32_t)unit);
                next = next + 1 == units ? 0 : next + 1;
            }
            done += LOOK_UNITS * unit;
            now = now_s();
        } while (now < end);
        printf("{\"bytes\": %llu, \"seconds\": %.9f}\n", done, now - begin);
        fflush(stdout);
    }
    aead_destroy(a);
    return 0;
}
