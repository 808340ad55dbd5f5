/* SPDX-License-Identifier: BSD-3-Clause */
/* See program.h. */
#include "sluice/remote/program.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_program(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

const char *program_find(const char *name, char *out, size_t out_len)
{
    const char *const folders[] = {".", "../bin", "../sbin", "..", NULL};
    char self[512], *slash;
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    size_t i;

    self[n > 0 ? n : 0] = 0;
    slash = strrchr(self, '/');
    if (slash == NULL)
        return name;
    *slash = 0;
    for (i = 0; folders[i] != NULL; i++) {
        bool tree = strcmp(folders[i], "..") == 0; /* build tree: a folder for each program */
        int len = snprintf(out, out_len, "%s/%s/%s%s%s", self, folders[i], tree ? name : "",
                           tree ? "/" : "", name);

        if (len > 0 && (size_t)len < out_len && is_program(out))
            return out;
    }
    return name;
}
