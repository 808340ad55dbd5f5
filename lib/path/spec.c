/* SPDX-License-Identifier: BSD-3-Clause */
#include "path/spec.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/value.h"

/* Finds the word that starts at or after `from`. */
static void look(struct spec *s, const char *from)
{
    size_t len;

    while (isspace((unsigned char)*from))
        from++;
    s->at = from;
    len = *from == '(' || *from == ')' ? 1 : strcspn(from, "() \t\r\n\v\f");
    if (len >= SPEC_WORD_MAX) {
        s->word[0] = '\0';
        snprintf(s->word, sizeof s->word, "%.20s...", from);
        spec_fail(s, "is too long a word");
        len = 0;
    }
    if (!s->failed) {
        memcpy(s->word, from, len);
        s->word[len] = '\0';
    }
}

void spec_init(struct spec *s, const char *text, uint64_t hz, char *err, size_t err_len)
{
    memset(s, 0, sizeof *s);
    s->text = text;
    s->clock.hz = hz;
    s->err = err;
    s->err_len = err_len;
    look(s, text);
}

bool spec_end(const struct spec *s)
{
    return s->failed || s->word[0] == '\0';
}

bool spec_digit(const struct spec *s)
{
    const char *p = s->word;

    if (*p == '-' || *p == '+')
        p++;
    if (*p == '.') /* as in .5% */
        p++;
    return !s->failed && isdigit((unsigned char)*p);
}

void spec_next(struct spec *s)
{
    s->n_tried = 0;
    look(s, s->at + strlen(s->word));
}

bool spec_accept(struct spec *s, const char *word)
{
    if (s->failed)
        return false;
    if (strcasecmp(s->word, word) == 0) {
        spec_next(s);
        return !s->failed;
    }
    if (s->n_tried < sizeof s->tried / sizeof s->tried[0])
        s->tried[s->n_tried++] = word;
    return false;
}

int spec_fail(struct spec *s, const char *what)
{
    if (s->failed)
        return -EINVAL;
    s->failed = true;
    if (s->word[0] == '\0')
        snprintf(s->err, s->err_len, "position %zu: the end %s", (size_t)(s->at - s->text) + 1,
                 what);
    else
        snprintf(s->err, s->err_len, "position %zu: \"%s\" %s", (size_t)(s->at - s->text) + 1,
                 s->word, what);
    return -EINVAL;
}

int spec_stray(struct spec *s, const char *what)
{
    const char *nearest = NULL;
    unsigned int least = UINT32_MAX;
    char text[2 * SPEC_WORD_MAX];

    for (uint32_t i = 0; i < s->n_tried; i++) {
        unsigned int d = value_distance(s->word, s->tried[i]);

        if (d < least) {
            least = d;
            nearest = s->tried[i];
        }
    }
    /* A word is suggested only if the distance is at most half of its length. */
    if (nearest != NULL && s->word[0] != '\0' && 2 * least <= strlen(nearest))
        snprintf(text, sizeof text, "%s; did you mean \"%s\"?", what, nearest);
    else
        snprintf(text, sizeof text, "%s", what);
    return spec_fail(s, text);
}

int spec_fail_errno(struct spec *s, int error, const char *what)
{
    if (!s->failed)
        snprintf(s->err, s->err_len, "%s: %s", what, strerror(-error));
    s->failed = true;
    return error;
}

static bool value_done(struct spec *s, const char *of, const char *wrong)
{
    char text[SPEC_WORD_MAX];

    if (s->failed)
        return false;
    if (wrong != NULL) {
        if (s->word[0] == '\0')
            snprintf(text, sizeof text, "comes where %s is missing", of);
        else
            snprintf(text, sizeof text, "is not right for %s: %s", of, wrong);
        spec_fail(s, text);
        return false;
    }
    spec_next(s);
    return !s->failed;
}

bool spec_time(struct spec *s, const char *of, uint64_t *cycles)
{
    uint64_t ns = 0;
    const char *wrong = value_time(s->word, &ns);

    if (wrong == NULL && ns > 1000 * 3600 * CLOCK_NS_PER_S)
        wrong = "it is more than 1000 hours";
    if (!value_done(s, of, wrong))
        return false;
    /* rounded up, so that nothing is early */
    *cycles = clock_cycles(&s->clock, ns);
    *cycles += (unsigned __int128)*cycles * CLOCK_NS_PER_S != (unsigned __int128)ns * s->clock.hz;
    return true;
}

bool spec_rate(struct spec *s, const char *of, uint64_t *rate_Bps)
{
    uint64_t rate = 0;
    const char *wrong = value_rate(s->word, &rate);

    if (wrong == NULL && rate > 1ull << 40)
        wrong = "it is more than 8 Tbit/s";
    if (!value_done(s, of, wrong))
        return false;
    *rate_Bps = rate;
    return true;
}

bool spec_share(struct spec *s, const char *of, uint64_t *probability)
{
    uint64_t p = 0;

    if (!value_done(s, of, value_share(s->word, &p)))
        return false;
    *probability = p;
    return true;
}

bool spec_number(struct spec *s, const char *of, uint64_t least, uint64_t most, uint64_t *number)
{
    uint64_t n = 0;
    const char *wrong = value_number(s->word, &n);
    char range[64];

    if (wrong == NULL && (n < least || n > most)) {
        snprintf(range, sizeof range, "it is not in %llu to %llu", (unsigned long long)least,
                 (unsigned long long)most);
        wrong = range;
    }
    if (!value_done(s, of, wrong))
        return false;
    *number = n;
    return true;
}

bool spec_signed(struct spec *s, const char *of, int64_t most, int64_t *number)
{
    bool negative = s->word[0] == '-';
    uint64_t n = 0;
    const char *wrong = value_number(s->word + (negative || s->word[0] == '+'), &n);
    char range[64];

    if (wrong == NULL && n > (uint64_t)most) {
        snprintf(range, sizeof range, "it is not in -%lld to %lld", (long long)most,
                 (long long)most);
        wrong = range;
    }
    if (!value_done(s, of, wrong))
        return false;
    *number = negative ? -(int64_t)n : (int64_t)n;
    return true;
}

bool spec_limit(struct spec *s, const char *of, uint64_t *packets, uint64_t *bytes)
{
    uint64_t n = 0;
    size_t len = strlen(s->word);
    bool plain = len > 0 && isdigit((unsigned char)s->word[len - 1]);
    const char *wrong = plain ? value_number(s->word, &n) : value_size(s->word, &n);

    if (wrong == NULL && n > UINT32_MAX)
        wrong = "it is more than 4294967295";
    if (!value_done(s, of, wrong))
        return false;
    *(plain ? packets : bytes) = n;
    return true;
}

bool spec_size(struct spec *s, const char *of, uint64_t *bytes)
{
    uint64_t n = 0;
    const char *wrong = value_size(s->word, &n);

    if (wrong == NULL && n > UINT32_MAX)
        wrong = "it is more than 4 GiB";
    if (!value_done(s, of, wrong))
        return false;
    *bytes = n;
    return true;
}
