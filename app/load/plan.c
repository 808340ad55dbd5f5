/* SPDX-License-Identifier: BSD-3-Clause */
#include "load/plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_ether.h>

#include "base/value.h"

#define PPS_MAX 1e11

struct parse {
    struct plan *p;
    const char *key, *value;
    char *err;
    size_t err_len;
};

static int wrong(const struct parse *x, const char *what)
{
    snprintf(x->err, x->err_len, "%s=%s: %s", x->key, x->value, what);
    return -EINVAL;
}

/* A number of digits with an optional fraction at the start of text; *end is behind it. */
static bool decimal_read(const char *text, double *out, const char **end)
{
    char digits[32], *stop;
    size_t len = strspn(text, "0123456789.");

    if (len == 0 || len >= sizeof digits)
        return false;
    memcpy(digits, text, len);
    digits[len] = '\0';
    *out = strtod(digits, &stop);
    *end = text + len;
    return stop != digits && *stop == '\0';
}

static int seconds_set(const struct parse *x, double *out, bool zero)
{
    const char *end;
    double s;

    if (!decimal_read(x->value, &s, &end) || *end != '\0' || s > 1e6 || (s == 0 && !zero))
        return wrong(x, zero ? "write seconds, such as 0.5 or 0" : "write seconds, such as 0.5");
    *out = s;
    return 0;
}

static int number_set(const struct parse *x, uint64_t min, uint64_t max, uint32_t *out)
{
    uint64_t n;
    char range[80];

    if (value_number(x->value, &n) == NULL && n >= min && n <= max) {
        *out = (uint32_t)n;
        return 0;
    }
    snprintf(range, sizeof range, "write a number from %llu to %llu", (unsigned long long)min,
             (unsigned long long)max);
    return wrong(x, range);
}

static int size_set(const struct parse *x)
{
    struct mix mix;
    char why[PLAN_ERROR_MAX];

    if (strlen(x->value) >= PLAN_TEXT_MAX)
        return wrong(x, "the text is too long; give fewer sizes");
    if (mix_parse(&mix, x->value, why, sizeof why) != 0)
        return wrong(x, why);
    x->p->mix = mix;
    snprintf(x->p->size, PLAN_TEXT_MAX, "%s", x->value);
    return 0;
}

/* ---- rates -------------------------------------------------------------------------------- */

static const char rate_help[] =
    "write max, frames a second (1000pps, 2.5Mpps), bits a second and their layer (1Gbit/l2, or "
    "1Gbit/line with CRC, preamble and gap), or a share of the link (50%)";

static bool pps_read(const char *text, double *pps)
{
    static const struct {
        const char *unit;
        double factor;
    } units[] = {{"pps", 1}, {"kpps", 1e3}, {"Mpps", 1e6}, {"Gpps", 1e9}};
    const char *end;

    if (!decimal_read(text, pps, &end))
        return false;
    for (unsigned int i = 0; i < RTE_DIM(units); i++)
        if (strcmp(end, units[i].unit) == 0) {
            *pps *= units[i].factor;
            return *pps > 0 && *pps <= PPS_MAX;
        }
    return false;
}

static bool bits_read(const char *text, enum plan_rate *kind, double *value)
{
    char rate[PLAN_TEXT_MAX];
    const char *slash = strrchr(text, '/');
    uint64_t rate_Bps;

    if (slash == NULL)
        return false;
    if (strcmp(slash, "/l2") == 0)
        *kind = PLAN_L2;
    else if (strcmp(slash, "/line") == 0)
        *kind = PLAN_LINE;
    else
        return false;
    snprintf(rate, sizeof rate, "%.*s", (int)(slash - text), text);
    if (value_rate(rate, &rate_Bps) != NULL || rate_Bps == 0)
        return false;
    *value = (double)rate_Bps * 8;
    return true;
}

static int rate_set(const struct parse *x)
{
    struct plan *p = x->p;
    enum plan_rate kind = PLAN_MAX;
    double value = 0;
    const char *end;

    if (strlen(x->value) >= PLAN_TEXT_MAX)
        return wrong(x, rate_help);
    if (strcmp(x->value, "max") == 0) {
        kind = PLAN_MAX;
    } else if (pps_read(x->value, &value)) {
        kind = PLAN_PPS;
    } else if (!bits_read(x->value, &kind, &value)) {
        if (!decimal_read(x->value, &value, &end) || strcmp(end, "%") != 0 || value <= 0 ||
            value > 100)
            return wrong(x, rate_help);
        kind = PLAN_SHARE;
        value /= 100;
    }
    p->kind = kind;
    p->value = value;
    snprintf(p->rate, PLAN_TEXT_MAX, "%s", x->value);
    return 0;
}

double plan_pps(const struct plan *p, double link_bps)
{
    double bytes = (double)p->mix.bytes_sum / p->mix.count;

    switch (p->kind) {
    case PLAN_PPS:
        return p->value;
    case PLAN_L2:
        return p->value / (8 * bytes);
    case PLAN_LINE:
        return p->value / (8 * (bytes + PLAN_LINE_EXTRA));
    case PLAN_SHARE:
        return link_bps > 0 ? p->value * link_bps / (8 * (bytes + PLAN_LINE_EXTRA)) : -1;
    default:
        return 0;
    }
}

/* ---- flows -------------------------------------------------------------------------------- */

/* Splits VALUE[+N]; *span is N, or 1. */
static bool span_read(const struct parse *x, char *first, size_t first_len, uint32_t *span)
{
    const char *plus = strchr(x->value, '+');
    uint64_t n = 1;

    if (plus != NULL && (value_number(plus + 1, &n) != NULL || n == 0 || n > FLOWS_MAX))
        return false;
    *span = (uint32_t)n;
    return (size_t)snprintf(first, first_len, "%.*s",
                            plus != NULL ? (int)(plus - x->value) : (int)strlen(x->value),
                            x->value) < first_len;
}

static int addr_set(const struct parse *x, struct addr *addr, enum flows_field field)
{
    char first[ADDR_TEXT_MAX];
    struct addr a;
    uint32_t span;

    if (!span_read(x, first, sizeof first, &span) || addr_parse(first, &a) != 0 ||
        addr_is_unset(&a) || addr_is_multicast(&a))
        return wrong(x, "write an address, and how many count up from it: 198.18.0.1+256");
    *addr = a;
    x->p->flows.span[field] = span;
    return 0;
}

static int port_set(const struct parse *x, uint16_t *port, enum flows_field field)
{
    char first[8];
    uint64_t n;
    uint32_t span;

    if (!span_read(x, first, sizeof first, &span) || value_number(first, &n) != NULL || n == 0 ||
        n > UINT16_MAX)
        return wrong(x, "write a UDP port, and how many count up from it: 49184+1000");
    *port = (uint16_t)n;
    x->p->flows.span[field] = span;
    return 0;
}

static int mac_set(const struct parse *x, struct rte_ether_addr *mac, bool *is)
{
    if (rte_ether_unformat_addr(x->value, mac) != 0)
        return wrong(x, "write a MAC address, such as 02:00:00:00:00:01");
    *is = true;
    return 0;
}

static int vlan_set(const struct parse *x)
{
    uint32_t vlan;
    int rc;

    if (strcmp(x->value, "none") == 0) {
        x->p->flows.route.vlan = FRAME_VLAN_NONE;
        return 0;
    }
    rc = number_set(x, 1, 4094, &vlan);
    if (rc == 0)
        x->p->flows.route.vlan = (uint16_t)vlan;
    return rc;
}

/* ---- all keys ----------------------------------------------------------------------------- */

void plan_init(struct plan *p)
{
    char err[PLAN_ERROR_MAX];

    *p = (struct plan){.seconds = 1,
                       .wait_s = 2,
                       .burst = 64,
                       .flows = {.count = 1,
                                 .route = {.vlan = FRAME_VLAN_NONE, .sport = 49184, .dport = 7},
                                 .span = {16352, 1, 256, 1}}};
    addr_parse("198.18.0.1", &p->flows.route.src);
    addr_parse("198.19.0.1", &p->flows.route.dst);
    rte_ether_unformat_addr("02:00:00:00:00:01", &p->flows.route.src_mac);
    rte_ether_unformat_addr("02:00:00:00:00:02", &p->flows.route.dst_mac);
    plan_set(p, "size", "60", err, sizeof err);
    plan_set(p, "rate", "max", err, sizeof err);
}

static int flow_key_set(const struct parse *x)
{
    struct frame_route *r = &x->p->flows.route;

    if (strcmp(x->key, "src") == 0)
        return addr_set(x, &r->src, FLOWS_SRC);
    if (strcmp(x->key, "dst") == 0)
        return addr_set(x, &r->dst, FLOWS_DST);
    if (strcmp(x->key, "sport") == 0)
        return port_set(x, &r->sport, FLOWS_SPORT);
    if (strcmp(x->key, "dport") == 0)
        return port_set(x, &r->dport, FLOWS_DPORT);
    if (strcmp(x->key, "src-mac") == 0)
        return mac_set(x, &r->src_mac, &x->p->src_mac);
    if (strcmp(x->key, "dst-mac") == 0)
        return mac_set(x, &r->dst_mac, &x->p->dst_mac);
    if (strcmp(x->key, "vlan") == 0)
        return vlan_set(x);
    return wrong(x, "no such key; there are size, rate, seconds, warmup, wait, burst, flows, src, "
                    "dst, sport, dport, src-mac, dst-mac, vlan");
}

int plan_set(struct plan *p, const char *key, const char *value, char *err, size_t err_len)
{
    struct parse x = {p, key, value, err, err_len};

    if (strcmp(key, "size") == 0)
        return size_set(&x);
    if (strcmp(key, "rate") == 0)
        return rate_set(&x);
    if (strcmp(key, "seconds") == 0)
        return seconds_set(&x, &p->seconds, false);
    if (strcmp(key, "warmup") == 0)
        return seconds_set(&x, &p->warmup_s, true);
    if (strcmp(key, "wait") == 0)
        return seconds_set(&x, &p->wait_s, true);
    if (strcmp(key, "burst") == 0)
        return number_set(&x, 1, 4096, &p->burst);
    if (strcmp(key, "flows") == 0)
        return number_set(&x, 1, FLOWS_MAX, &p->flows.count);
    return flow_key_set(&x);
}

int plan_line(struct plan *p, char *line, char *err, size_t err_len)
{
    struct plan next = *p;
    char *rest = line, *word;

    while ((word = strsep(&rest, " \t\r\n")) != NULL) {
        char *equals = strchr(word, '=');

        if (word[0] == '\0')
            continue;
        if (equals == NULL) {
            snprintf(err, err_len, "\"%s\": write KEY=VALUE words, such as size=60 rate=1Mpps",
                     word);
            return -EINVAL;
        }
        *equals = '\0';
        if (plan_set(&next, word, equals + 1, err, err_len) != 0)
            return -EINVAL;
    }
    *p = next;
    return 0;
}

int plan_check(const struct plan *p, uint64_t mtu, char *err, size_t err_len)
{
    uint32_t min = stamp_frame_min(&p->flows.route);
    uint32_t extra =
        RTE_ETHER_HDR_LEN + (p->flows.route.vlan == FRAME_VLAN_NONE ? 0 : RTE_VLAN_HLEN);

    if (p->mix.bytes_min < min) {
        snprintf(err, err_len,
                 "size=%s: a frame of %u bytes has no room for these headers and a stamp; send %u "
                 "or more",
                 p->size, p->mix.bytes_min, min);
        return -EINVAL;
    }
    if (p->mix.bytes_max > mtu + extra) {
        snprintf(err, err_len,
                 "size=%s: a frame of %u bytes is beyond the ports' MTU; start with --mtu %u or "
                 "more",
                 p->size, p->mix.bytes_max, p->mix.bytes_max - extra);
        return -EINVAL;
    }
    return flows_check(&p->flows, err, err_len);
}
