/* SPDX-License-Identifier: BSD-3-Clause */
/* A new folder for what a fuzz target needs in files: in $TMPDIR, else in memory, else in /tmp. */
#ifndef SLUICE_TEST_FUZZ_FOLDER_H
#define SLUICE_TEST_FUZZ_FOLDER_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/check.h"

#define FUZZ_FOLDER_MAX 90 /* with its final 0: a socket's name fits behind it */

static inline void fuzz_folder_make(char folder[FUZZ_FOLDER_MAX])
{
    const char *in = getenv("TMPDIR");

    if (in == NULL)
        in = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    CHECK(snprintf(folder, FUZZ_FOLDER_MAX, "%s/sluice-fuzz-XXXXXX", in) < FUZZ_FOLDER_MAX);
    CHECK(mkdtemp(folder) != NULL);
}

#endif
