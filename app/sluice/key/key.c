/* SPDX-License-Identifier: BSD-3-Clause */
/* sluice key: makes the keys of hosts. Needs no daemon. */
#include "sluice/command.h"

#include <errno.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/value.h"
#include "console/text.h"
#include "crypto/dh.h"
#include "crypto/key.h"
#include "crypto/secret.h"
#include "sluice/key/key_file.h"
#include "sluice/options.h"
#include "sluice/say.h"

const char command_key_help[] =
    "usage: sluice key generate [--owner USER] [FILE]\n"
    "       sluice key public [FILE]\n"
    "       sluice key shared [--owner USER] [FILE]\n"
    "Makes keys, which sluiced needs to talk to other hosts securely. No daemon has\n"
    "to run. FILE is - or left out: standard output, or standard input for public.\n"
    "\n"
    "  generate  make a private key. To FILE: with mode 0600, and the public key goes\n"
    "            to standard output. An existing file is never replaced\n"
    "  public    print the public key of a private key\n"
    "  shared    make a key that two hosts share besides their own keys\n"
    "\n"
    "      --owner USER  the user that FILE belongs to: the one that sluiced runs as\n"
    "  -h, --help        show this help\n"
    "\n"
    "Keys are lines of 44 characters in base64. sluiced reads private_key_file in\n"
    "[daemon], and public_key and shared_key_file in [peer NAME]. Exit status: 0\n"
    "made, 2 usage error, 5 a file cannot be read or written. Manual: sluice(1).\n";

enum { KEY_OWNER = OPTIONS_OWN };

static const struct option longs[] = {
    {"owner", required_argument, NULL, KEY_OWNER},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

#define NO_OWNER ((uid_t)-1)

/* Prints a line that holds a key. */
static int key_print(const uint8_t key[KEY_BYTES])
{
    char text[KEY_TEXT_BYTES];

    key_format(key, text);
    puts(text);
    secret_wipe(text, sizeof text);
    return say_flush();
}

/* A shell's > makes a file that others can read, unless umask says otherwise. */
static void open_output_note(void)
{
    struct stat st;

    if (fstat(STDOUT_FILENO, &st) == 0 && S_ISREG(st.st_mode) &&
        (st.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        say_note("standard output is a file that other users may read; chmod 600 it, or name it "
                 "as FILE");
}

/* Makes a key: a private one, of which the public one is printed if a file takes the key itself. */
static int key_make(const char *file, uid_t owner, bool is_private)
{
    uint8_t key[KEY_BYTES], public_key[DH_BYTES];
    char err[512];
    int code;

    if (getrandom(key, sizeof key, 0) != (ssize_t)sizeof key)
        return say_error(SAY_LOCAL, "no random numbers from the kernel: %s; try again",
                         strerror(errno));
    if (file == NULL) {
        open_output_note();
        code = key_print(key);
    } else if (key_file_make(file, key, owner, err, sizeof err) != 0) {
        code = say_error(SAY_LOCAL, "%s", err);
    } else if (is_private) {
        dh_public(key, public_key);
        code = key_print(public_key);
    } else {
        code = SAY_OK;
    }
    secret_wipe(key, sizeof key);
    return code;
}

static int key_public(const char *file)
{
    uint8_t key[KEY_BYTES], public_key[DH_BYTES];
    char err[512];
    int rc = file == NULL ? key_file_take(STDIN_FILENO, "standard input", key, err, sizeof err)
                          : key_file_read(file, KEY_FILE_ANYONE, key, err, sizeof err);

    if (rc != 0)
        return say_error(SAY_LOCAL, "%s", err);
    dh_public(key, public_key);
    secret_wipe(key, sizeof key);
    return key_print(public_key);
}

/* The user with this name or number. SAY_OK, or SAY_USAGE; the error is printed. */
static int owner_find(const char *name, uid_t *uid)
{
    const struct passwd *user = getpwnam(name);
    char safe[64];
    uint64_t number;

    if (user != NULL) {
        *uid = user->pw_uid;
        return SAY_OK;
    }
    if (value_number(name, &number) == NULL && number < NO_OWNER) {
        *uid = (uid_t)number;
        return SAY_OK;
    }
    return say_error(SAY_USAGE, "--owner %s: there is no such user; name one, as in getent passwd",
                     text_safe(safe, sizeof safe, name));
}

int command_key(int argc, char **argv)
{
    uid_t owner = NO_OWNER;
    const char *what, *file;
    int opt;

    while ((opt = getopt_long(argc, argv, ":h", longs, NULL)) != -1) {
        if (opt == 'h') {
            fputs(command_key_help, stdout);
            return say_flush();
        }
        if (opt != KEY_OWNER)
            return options_refused("key", argv, opt);
        if (owner_find(optarg, &owner) != SAY_OK)
            return SAY_USAGE;
    }
    if (argc - optind < 1)
        return options_wrong("key", "generate, public or shared is missing");
    if (argc - optind > 2)
        return options_wrong("key", "takes one file");
    what = argv[optind];
    file = argc - optind == 2 && strcmp(argv[optind + 1], "-") != 0 ? argv[optind + 1] : NULL;
    if (owner != NO_OWNER && (file == NULL || strcmp(what, "public") == 0))
        return options_wrong("key", "--owner needs a FILE that is made");
    if (strcmp(what, "generate") == 0)
        return key_make(file, owner, true);
    if (strcmp(what, "public") == 0)
        return key_public(file);
    if (strcmp(what, "shared") == 0)
        return key_make(file, owner, false);
    return options_wrong("key", "knows generate, public and shared only");
}
