/* SPDX-License-Identifier: BSD-3-Clause */
#include "path/file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_malloc.h>

#define FILE_BYTES_MAX (64u << 20)

/* Reads the whole file as a string, to be freed with rte_free(). NULL with errno set on failure. */
static char *text_alloc(const char *name)
{
    struct stat st;
    char *text = NULL;
    size_t have = 0;
    int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* does not wait for a pipe's writer */

    if (fd < 0)
        return NULL;
    if (fstat(fd, &st) == 0 && !S_ISREG(st.st_mode))
        errno = EINVAL;
    else if (st.st_size > FILE_BYTES_MAX)
        errno = EFBIG;
    else if ((text = rte_malloc("path file", (size_t)st.st_size + 1, 0)) == NULL)
        errno = ENOMEM;
    while (text != NULL && have < (size_t)st.st_size) {
        ssize_t n = read(fd, text + have, (size_t)st.st_size - have);

        if (n <= 0) {
            if (n < 0 && errno == EINTR)
                continue;
            errno = n == 0 ? EIO : errno;
            rte_free(text);
            text = NULL;
        } else {
            have += (size_t)n;
        }
    }
    if (text != NULL) {
        text[have] = '\0';
        if (strlen(text) != have) {
            rte_free(text);
            text = NULL;
            errno = EILSEQ;
        }
    }
    close(fd);
    return text;
}

/* Counts the numbers, and stores them unless out is NULL. Returns NULL, or what is wrong with line
 * *line. */
static const char *numbers_read(const char *text, int32_t least, uint32_t max, int32_t *out,
                                uint32_t *n, uint32_t *line)
{
    *n = 0;
    *line = 1;
    for (const char *p = text; *p != '\0';) {
        char *end;
        long v;

        if (isspace((unsigned char)*p)) {
            *line += *p++ == '\n';
            continue;
        }
        if (*p == '#') {
            p += strcspn(p, "\n");
            continue;
        }
        errno = 0;
        v = strtol(p, &end, 10);
        if (end == p || (*end != '\0' && *end != '#' && !isspace((unsigned char)*end)))
            return "is no whole number";
        if (errno != 0 || v < least || v > INT32_MAX)
            return "is out of range";
        if (*n == max)
            return "is one number too many";
        if (out != NULL)
            out[*n] = (int32_t)v;
        ++*n;
        p = end;
    }
    return *n == 0 ? "is the end: there are no numbers" : NULL;
}

int file_numbers_alloc(struct spec *s, const char *of, int32_t least, uint32_t max,
                       const int32_t **numbers, uint32_t *n)
{
    char what[SPEC_WORD_MAX];
    const char *wrong;
    int32_t *out = NULL;
    uint32_t line;
    char *text;

    if (spec_end(s)) {
        snprintf(what, sizeof what, "comes where the file of a %s is missing", of);
        return spec_fail(s, what);
    }
    text = text_alloc(s->word);
    if (text == NULL) {
        snprintf(what, sizeof what, "cannot be read as %s: %s", of, strerror(errno));
        return spec_fail(s, what);
    }
    wrong = numbers_read(text, least, max, NULL, n, &line);
    if (wrong == NULL && (out = rte_malloc("path table", *n * sizeof *out, 0)) != NULL)
        numbers_read(text, least, max, out, n, &line);
    rte_free(text);
    if (wrong != NULL) {
        snprintf(what, sizeof what, "is no %s: line %u %s", of, line, wrong);
        return spec_fail(s, what);
    }
    if (out == NULL)
        return spec_fail_errno(s, -ENOMEM, "the path's memory");
    *numbers = out;
    spec_next(s);
    return 0;
}
