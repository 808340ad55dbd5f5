/* SPDX-License-Identifier: BSD-3-Clause */
/* Calendars of rates. See calendar.h. */
#include "sluice/rate/calendar.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/value.h"

#define AMOUNT_MAX 40 /* bytes of a rate or a share */

/* A piece of the text. */
struct piece {
    const char *p;
    size_t len;
};

static const char *spaces_pass(const char *p)
{
    while (isspace((unsigned char)*p))
        p++;
    return p;
}

/* Is there this word, and no longer one? */
static bool word_is(const char *p, const char *word)
{
    size_t len = strlen(word);

    return strncasecmp(p, word, len) == 0 && !isalnum((unsigned char)p[len]);
}

/* The rate, share or "unlimited" that begins here: all up to a comma, "until", "then" or the end.
 */
static struct piece amount_find(const char *p)
{
    struct piece a = {p, 0};
    bool begins = true; /* a word may begin */

    for (; *p != '\0' && *p != ','; p++) {
        if (begins && (word_is(p, "until") || word_is(p, "then")))
            break;
        begins = isspace((unsigned char)*p) || *p == '%';
        if (!isspace((unsigned char)*p))
            a.len = (size_t)(p - a.p) + 1;
    }
    return a;
}

static const char *amount_read(struct calendar_step *s, struct piece a)
{
    char text[AMOUNT_MAX + 1];
    const char *why;

    if (a.len == 0)
        return "a rate is missing, as 80% or 500Mbit";
    if (a.len > AMOUNT_MAX)
        return "a rate is longer than it can be";
    memcpy(text, a.p, a.len);
    text[a.len] = '\0';
    *s = (struct calendar_step){0};
    if (strcasecmp(text, "unlimited") == 0)
        return NULL;
    why = text[a.len - 1] == '%' ? value_share(text, &s->share) : value_rate(text, &s->rate_Bps);
    if (why == NULL && s->share == 0 && s->rate_Bps == 0)
        return "nothing would move at this rate; give more, or stop sluice and resume later";
    return why;
}

/* Reads HH:MM. False: there is none. */
static bool time_read(const char **at, uint32_t *second)
{
    const char *p = *at;
    uint32_t hour = 0, minute = 0, digits = 0;

    for (; isdigit((unsigned char)*p) && digits < 2; p++, digits++)
        hour = hour * 10 + (uint32_t)(*p - '0');
    if (digits == 0 || *p != ':' || !isdigit((unsigned char)p[1]) ||
        !isdigit((unsigned char)p[2]) || isalnum((unsigned char)p[3]) || p[3] == ':')
        return false;
    minute = (uint32_t)(p[1] - '0') * 10 + (uint32_t)(p[2] - '0');
    if (hour > 24 || minute > 59 || (hour == 24 && minute > 0))
        return false;
    *second = (hour * 3600 + minute * 60) % CALENDAR_DAY_S;
    *at = p + 3;
    return true;
}

/* Passes what stands between two steps. False: there is nothing of the kind. */
static bool then_pass(const char **at)
{
    const char *p = spaces_pass(*at);
    bool comma = *p == ',';

    if (comma)
        p = spaces_pass(p + 1);
    if (word_is(p, "then"))
        p += strlen("then");
    else if (!comma)
        return false;
    *at = spaces_pass(p);
    return true;
}

/* How long after step `from` step `to` ends: 0 to CALENDAR_DAY_S - 1. */
static uint32_t seconds_between(const struct calendar *c, uint32_t from, uint32_t to)
{
    return (c->steps[to].until_s + CALENDAR_DAY_S - c->steps[from].until_s) % CALENDAR_DAY_S;
}

/* Checks that the times go once around the day. places: of the times, in the text. */
static const char *times_check(const struct calendar *c, const char *const *places,
                               const char **wrong)
{
    uint32_t i, sum = 0;

    for (i = 0; i < c->n; i++) {
        uint32_t lasts = seconds_between(c, i == 0 ? c->n - 1 : i - 1, i);

        *wrong = places[i];
        if (lasts == 0)
            return "a step ends when the step before it does";
        sum += i == 0 ? 0 : lasts;
        if (sum >= CALENDAR_DAY_S)
            return "a step ends after the first one has begun again; order the steps by time";
    }
    return NULL;
}

/* Reads the steps; *at: where reading ended. */
static const char *steps_read(struct calendar *c, const char **at)
{
    const char *places[CALENDAR_STEPS_MAX], *why, *p = spaces_pass(*at);
    bool timed;

    do {
        struct calendar_step *s = &c->steps[c->n];
        struct piece a = amount_find(p);

        *at = p;
        if (c->n == CALENDAR_STEPS_MAX)
            return "there are more than 24 steps";
        why = amount_read(s, a);
        if (why != NULL)
            return why;
        p = *at = spaces_pass(p + a.len);
        timed = word_is(p, "until");
        if (timed) {
            p = *at = spaces_pass(p + strlen("until"));
            if (!time_read(&p, &s->until_s))
                return "a time is missing, as 08:00 or 24:00";
        }
        places[c->n++] = *at;
        *at = p;
    } while (then_pass(&p) && timed);
    if (p != *at)
        return "the step before has no end; write \"until HH:MM\" behind its rate";
    p = *at = spaces_pass(p);
    if (*p != '\0')
        return "here ends a step; write \", then\" before the next one";
    if (c->n == 1)
        return timed ? "what holds after that? Write \", then\" and a rate behind it" : NULL;
    return times_check(c, places, at);
}

const char *calendar_read(struct calendar *c, const char *text, size_t *at)
{
    const char *p = text, *why;

    *c = (struct calendar){0};
    why = steps_read(c, &p);
    *at = (size_t)(p - text);
    return why;
}

const struct calendar_step *calendar_at(const struct calendar *c, uint32_t second, uint32_t *left_s)
{
    const struct calendar_step *found = NULL;
    uint32_t i;

    *left_s = CALENDAR_DAY_S;
    for (i = 0; i < c->n; i++) {
        uint32_t left = (c->steps[i].until_s + CALENDAR_DAY_S - second) % CALENDAR_DAY_S;

        left = left == 0 ? CALENDAR_DAY_S : left;
        if (found == NULL || left < *left_s) {
            found = &c->steps[i];
            *left_s = left;
        }
    }
    return found;
}

uint64_t calendar_rate(const struct calendar_step *s, uint64_t port_Bps)
{
    if (s->share == 0)
        return s->rate_Bps;
    uint64_t rate = (uint64_t)(((unsigned __int128)port_Bps * s->share + port_Bps) >> 64);

    return rate + (rate == 0); /* 0 would be no limit */
}
