/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lib/crypto for tests in other languages: reads a command a line, and answers each with a line.
 * Bytes are hexadecimal; "-" stands for none. The answer "no" means that what was given is refused.
 *
 *   has LIBRARY                                          yes or no
 *   seal LIBRARY CIPHER KEY NONCE ASSOCIATED TEXT        sealed text, tag
 *   open LIBRARY CIPHER KEY NONCE ASSOCIATED SEALED TAG  text
 *   public PRIVATE_KEY                                   public key
 *   shared PRIVATE_KEY PUBLIC_KEY                        what both share
 *   hmac KEY DATA                                        MAC
 *   hkdf SALT DATA N                                     N outputs, in one
 *   init_write PRIVATE_KEY PEER EPHEMERAL PROLOGUE PAYLOAD   message
 *   init_read PRIVATE_KEY PROLOGUE MESSAGE               public key of the initiator, payload
 *   response_write PSK EPHEMERAL PAYLOAD                 message, key that seals, key that opens
 *   response_read PSK MESSAGE                            payload, key that seals, key that opens
 *
 * LIBRARY and CIPHER are the numbers of crypto/aead.h. A handshake goes on where its last command
 * ended: one as initiator, one as responder. Exit status 1: a line is no command.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "crypto/aead.h"
#include "crypto/dh.h"
#include "crypto/hash.h"
#include "crypto/noise.h"

#define WORDS_MAX 8
#define BYTES_MAX 70000
#define LINE_MAX  (2 * BYTES_MAX + 1000)

/* The words of a line: bytes where they are hexadecimal. */
struct word {
    const char *text;
    uint8_t *bytes;
    uint32_t len;
};

struct peer {
    struct word words[WORDS_MAX];
    struct noise initiator, responder;
    struct noise_self initiator_self, responder_self;
};

static void hex_print(const uint8_t *bytes, uint32_t len, char end)
{
    if (len == 0)
        putchar('-');
    for (uint32_t i = 0; i < len; i++)
        printf("%02x", bytes[i]);
    putchar(end);
}

static void answer(const uint8_t *bytes, uint32_t len)
{
    hex_print(bytes, len, '\n');
}

static void refuse(void)
{
    puts("no");
}

/* Turns hexadecimal digits into bytes, in place; other words have no bytes. */
static void word_parse(struct word *w, char *text)
{
    size_t digits = strspn(text, "0123456789abcdef");
    char two[3] = "";

    *w = (struct word){.text = text, .bytes = (uint8_t *)text};
    if (text[digits] != '\0' || digits % 2 != 0)
        return;
    for (; w->len < digits / 2; w->len++) {
        memcpy(two, text + 2 * w->len, 2);
        w->bytes[w->len] = (uint8_t)strtoul(two, NULL, 16);
    }
}

static void keys_print(const struct noise_keys *keys)
{
    hex_print(keys->seal, NOISE_KEY_BYTES, ' ');
    answer(keys->open, NOISE_KEY_BYTES);
}

static struct aead *cipher_make(const struct word *w)
{
    return aead_create((enum aead_library)atoi(w[1].text), (enum aead_cipher)atoi(w[2].text),
                       w[3].bytes);
}

static void seal_run(struct peer *p, const struct word *w)
{
    static uint8_t out[BYTES_MAX];
    uint8_t tag[AEAD_TAG_BYTES];
    struct aead *a = cipher_make(w);

    aead_seal_begin(a, w[4].bytes, w[5].bytes, w[5].len);
    aead_seal(a, out, w[6].bytes, w[6].len);
    aead_seal_end(a, tag);
    aead_destroy(a);
    hex_print(out, w[6].len, ' ');
    answer(tag, sizeof tag);
}

static void open_run(struct peer *p, const struct word *w)
{
    static uint8_t out[BYTES_MAX];
    struct aead *a = cipher_make(w);

    aead_open_begin(a, w[4].bytes, w[5].bytes, w[5].len);
    aead_open(a, out, w[6].bytes, w[6].len);
    bool right = w[7].len == AEAD_TAG_BYTES && aead_open_end(a, w[7].bytes);

    aead_destroy(a);
    if (right)
        answer(out, w[6].len);
    else
        refuse();
}

static void has_run(struct peer *p, const struct word *w)
{
    puts(aead_has((enum aead_library)atoi(w[1].text)) ? "yes" : "no");
}

static void public_run(struct peer *p, const struct word *w)
{
    uint8_t out[DH_BYTES];

    dh_public(w[1].bytes, out);
    answer(out, sizeof out);
}

static void shared_run(struct peer *p, const struct word *w)
{
    uint8_t out[DH_BYTES];

    if (dh_shared(w[1].bytes, w[2].bytes, out) != 0)
        refuse();
    else
        answer(out, sizeof out);
}

static void hmac_run(struct peer *p, const struct word *w)
{
    uint8_t out[HASH_BYTES];

    hash_hmac(w[1].bytes, w[1].len, w[2].bytes, w[2].len, out);
    answer(out, sizeof out);
}

static void hkdf_run(struct peer *p, const struct word *w)
{
    uint8_t salt[HASH_BYTES] = {0}, out[3][HASH_BYTES];
    uint32_t n = (uint32_t)atoi(w[3].text);

    CHECK(w[1].len <= sizeof salt);
    memcpy(salt, w[1].bytes, w[1].len);
    hash_hkdf(salt, w[2].bytes, w[2].len, (uint8_t *[]){out[0], out[1], out[2]}, n);
    answer(out[0], n * HASH_BYTES);
}

static void self_make(struct noise_self *self, const uint8_t *private_key)
{
    memcpy(self->private_key, private_key, DH_BYTES);
    dh_public(private_key, self->public_key);
}

/* The prologue is text that came as bytes. */
static void prologue_copy(char out[64], const struct word *w)
{
    CHECK(w->len < 64);
    memcpy(out, w->bytes, w->len);
    out[w->len] = '\0';
}

static void init_write_run(struct peer *p, const struct word *w)
{
    static uint8_t out[BYTES_MAX];
    char prologue[64];

    prologue_copy(prologue, &w[4]);
    self_make(&p->initiator_self, w[1].bytes);
    if (noise_init_write(&p->initiator, &p->initiator_self, w[2].bytes, w[3].bytes, prologue,
                         w[5].bytes, w[5].len, out) != 0)
        refuse();
    else
        answer(out, NOISE_INIT_BYTES + w[5].len);
}

static void init_read_run(struct peer *p, const struct word *w)
{
    static uint8_t out[BYTES_MAX];
    uint32_t len = w[3].len - NOISE_INIT_BYTES;
    char prologue[64];

    CHECK(w[3].len >= NOISE_INIT_BYTES);
    prologue_copy(prologue, &w[2]);
    self_make(&p->responder_self, w[1].bytes);
    if (noise_init_read(&p->responder, &p->responder_self, prologue, w[3].bytes, len, out) != 0) {
        refuse();
        return;
    }
    hex_print(p->responder.peer_public, DH_BYTES, ' ');
    answer(out, len);
}

static void response_write_run(struct peer *p, const struct word *w)
{
    static uint8_t out[BYTES_MAX];
    struct noise_keys keys;

    if (noise_response_write(&p->responder, w[1].bytes, w[2].bytes, w[3].bytes, w[3].len, out,
                             &keys) != 0) {
        refuse();
        return;
    }
    hex_print(out, NOISE_RESPONSE_BYTES + w[3].len, ' ');
    keys_print(&keys);
}

static void response_read_run(struct peer *p, const struct word *w)
{
    static uint8_t out[BYTES_MAX];
    uint32_t len = w[2].len - NOISE_RESPONSE_BYTES;
    struct noise_keys keys;

    CHECK(w[2].len >= NOISE_RESPONSE_BYTES);
    if (noise_response_read(&p->initiator, w[1].bytes, w[2].bytes, len, out, &keys) != 0) {
        refuse();
        return;
    }
    hex_print(out, len, ' ');
    keys_print(&keys);
}

static const struct command {
    const char *name;
    uint32_t words; /* the name included */
    void (*run)(struct peer *p, const struct word *w);
} commands[] = {
    {"has", 2, has_run},
    {"seal", 7, seal_run},
    {"open", 8, open_run},
    {"public", 2, public_run},
    {"shared", 3, shared_run},
    {"hmac", 3, hmac_run},
    {"hkdf", 4, hkdf_run},
    {"init_write", 6, init_write_run},
    {"init_read", 4, init_read_run},
    {"response_write", 4, response_write_run},
    {"response_read", 3, response_read_run},
};

static bool line_run(struct peer *p, uint32_t n)
{
    for (size_t i = 0; n > 0 && i < sizeof commands / sizeof commands[0]; i++)
        if (n == commands[i].words && strcmp(p->words[0].text, commands[i].name) == 0) {
            commands[i].run(p, p->words);
            return true;
        }
    return false;
}

int main(void)
{
    static char line[LINE_MAX];
    static struct peer peer;

    while (fgets(line, sizeof line, stdin) != NULL) {
        uint32_t n = 0;

        for (char *word = strtok(line, " \n"); word != NULL && n < WORDS_MAX;
             word = strtok(NULL, " \n"))
            word_parse(&peer.words[n++], word);
        if (!line_run(&peer, n)) {
            fprintf(stderr, "line with %u words is no command; see the top of peer.c\n", n);
            return 1;
        }
        fflush(stdout);
    }
    return 0;
}
