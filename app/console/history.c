/* SPDX-License-Identifier: BSD-3-Clause */
/* See history.h. */
#include "console/history.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "console/grammar.h"
#include "console/text.h"

#define LINES_MAX  1000
#define LINE_BYTES (2 * GRAMMAR_LINE_MAX) /* also of lines that are too long, to shorten them */

/* Makes the folders of a path below `base`, which must exist. */
static void folders_make(char *path, size_t base)
{
    for (char *c = path + base + 1; *c != 0; c++) {
        if (*c != '/')
            continue;
        *c = 0;
        mkdir(path, 0700); /* if this fails, so does opening the file */
        *c = '/';
    }
}

/* Finds the file, and makes its folders. The home of a system's user may not exist. */
static void path_find(struct history_file *h, const char *program)
{
    const char *state = getenv("XDG_STATE_HOME"), *base = state;
    struct stat folder;
    int len;

    if (base == NULL || base[0] != '/') {
        state = NULL;
        base = getenv("HOME");
    }
    h->path[0] = 0;
    if (state != NULL)
        mkdir(state, 0700);
    if (base == NULL || base[0] != '/' || stat(base, &folder) != 0 || !S_ISDIR(folder.st_mode))
        return;
    len = snprintf(h->path, sizeof h->path, "%s/%ssluice/%s.history", base,
                   state != NULL ? "" : ".local/state/", program);
    if (len < (int)sizeof h->path)
        folders_make(h->path, strlen(base));
    else
        h->path[0] = 0;
}

/* Is this a line that could have been typed? A file may have anything. */
static bool line_typed(const char *line)
{
    char safe[LINE_BYTES];

    return line[strspn(line, " \t\r\n")] != 0 &&
           strcmp(text_safe(safe, sizeof safe, line), line) == 0;
}

/* Adds to the lines in memory. False if there is nothing to add. */
static bool line_enter(struct history_file *h, const char *line)
{
    HistEvent newest;

    if (!line_typed(line) ||
        (history(h->lines, &newest, H_FIRST) >= 0 && strcmp(newest.str, line) == 0))
        return false;
    return history(h->lines, &newest, H_ENTER, line) >= 0;
}

/* Opens the file, which only its owner may read from then on: lines may name hosts and peers. -1:
 * there is none, or something else, such as a FIFO, has its name. */
static int file_open(const struct history_file *h, int flags)
{
    int fd = h->path[0] != 0
                 ? open(h->path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, S_IRUSR | S_IWUSR)
                 : -1;
    struct stat st, named;

    if (fd < 0)
        return -1;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return -1;
    }
    /* What a link leads to may be meant for others. */
    if (st.st_uid == geteuid() && (st.st_mode & (S_IRWXG | S_IRWXO)) != 0 &&
        lstat(h->path, &named) == 0 && S_ISREG(named.st_mode))
        (void)!fchmod(fd, S_IRUSR | S_IWUSR);
    return fd;
}

/* Returns how many lines the file has. */
static unsigned file_read(struct history_file *h)
{
    int fd = file_open(h, O_RDONLY);
    FILE *f = fd >= 0 ? fdopen(fd, "r") : NULL;
    unsigned n = 0;
    char *line = NULL;
    size_t size = 0;

    if (f == NULL && fd >= 0)
        close(fd);
    if (f == NULL)
        return 0;
    for (; getline(&line, &size, f) >= 0; n++) {
        line[strcspn(line, "\n")] = 0;
        line_enter(h, line);
    }
    free(line);
    fclose(f);
    return n;
}

/* Leaves only the lines in memory in the file. */
static void file_shorten(const struct history_file *h)
{
    char shorter[sizeof h->path + 8];
    HistEvent e;
    FILE *f;
    int fd, rc;

    snprintf(shorter, sizeof shorter, "%s.new", h->path);
    fd = open(shorter, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    f = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (f == NULL) {
        if (fd >= 0)
            close(fd);
        return;
    }
    for (rc = history(h->lines, &e, H_LAST); rc >= 0; rc = history(h->lines, &e, H_PREV))
        fprintf(f, "%s\n", e.str);
    if (fclose(f) != 0 || rename(shorter, h->path) != 0)
        unlink(shorter);
}

bool history_file_open(struct history_file *h, const char *program)
{
    HistEvent e;

    h->lines = history_init();
    if (h->lines == NULL)
        return false;
    history(h->lines, &e, H_SETSIZE, LINES_MAX);
    path_find(h, program);
    if (file_read(h) > 2 * LINES_MAX) /* not at each start: it costs the lines of others' */
        file_shorten(h);
    return true;
}

void history_file_close(struct history_file *h)
{
    if (h->lines != NULL)
        history_end(h->lines);
    h->lines = NULL;
}

void history_file_add(struct history_file *h, const char *line)
{
    struct iovec parts[] = {{(void *)(uintptr_t)line, strlen(line)}, {(void *)(uintptr_t) "\n", 1}};
    int fd;

    if (!line_enter(h, line))
        return;
    fd = file_open(h, O_WRONLY | O_APPEND | O_CREAT);
    if (fd < 0)
        return;
    if (writev(fd, parts, 2) < 0)
        h->path[0] = 0; /* the disk is full, for example: no file from here on */
    close(fd);
}
