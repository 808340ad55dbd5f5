/* SPDX-License-Identifier: BSD-3-Clause */
/* The result of a transfer of files. */
#include "sluice/report/summary.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>

#include <jansson.h>

#include "base/clock.h"
#include "console/text.h"
#include "sluice/say.h"

int summary_init(struct summary *s, bool sending)
{
    memset(s, 0, sizeof *s);
    s->sending = sending;
    s->hashes = digest_create();
    return s->hashes == NULL ? -ENOMEM : 0;
}

void summary_fini(struct summary *s)
{
    digest_destroy(s->hashes);
    s->hashes = NULL;
}

void summary_file(struct summary *s, uint64_t bytes, uint64_t hole_bytes, uint64_t kept_bytes,
                  const uint8_t hash[RECORD_HASH_BYTES])
{
    s->bytes += bytes;
    s->hole_bytes += hole_bytes;
    s->kept_bytes += kept_bytes;
    s->files++;
    digest_update(s->hashes, hash, RECORD_HASH_BYTES);
    if (s->files == 1)
        memcpy(s->hash, hash, RECORD_HASH_BYTES);
    else
        digest_value(s->hashes, s->hash);
}

static double summary_seconds(const struct summary *s)
{
    return s->end_ns > s->start_ns ? (double)(s->end_ns - s->start_ns) / 1e9 : 0;
}

/* Bytes per second, without those that do not travel. */
static double summary_rate(const struct summary *s)
{
    double seconds = summary_seconds(s);
    double bytes = (double)s->bytes - (double)s->hole_bytes - (double)s->kept_bytes;

    /* another host may have told these numbers */
    return seconds > 0 && bytes > 0 ? bytes / seconds : 0;
}

void stats_add(struct sluice_stats *sum, const struct sluice_stats *more)
{
    sum->tx_rate_Bps += more->tx_rate_Bps;
    sum->rx_rate_Bps += more->rx_rate_Bps;
    sum->tx_bytes += more->tx_bytes;
    sum->tx_units += more->tx_units;
    sum->tx_repeats += more->tx_repeats;
    sum->rx_bytes += more->rx_bytes;
    sum->rx_units += more->rx_units;
    sum->rx_lost += more->rx_lost;
    sum->rx_momentary_Bps += more->rx_momentary_Bps;
    sum->tx_app_limited_ns += more->tx_app_limited_ns;
    sum->tx_peer_limited_ns += more->tx_peer_limited_ns;
    sum->tx_rate_limited_ns += more->tx_rate_limited_ns;
}

void summary_take(struct summary *s, const struct sluice_conn *c)
{
    sluice_conn_stats(c, &s->stats);
    sluice_peer(c, s->peer, sizeof s->peer);
}

/* "b (192.0.2.20:47800)", or the address alone. */
static const char *peer_text(const struct summary *s, char *out, size_t out_len)
{
    char safe[SLUICE_PEER_MAX], address[sizeof s->stats.peer];

    text_safe(safe, sizeof safe, s->peer);
    text_safe(address, sizeof address, s->stats.peer);
    snprintf(out, out_len, safe[0] != '\0' ? "%s (%s)" : "%s%s", safe, address);
    return out;
}

/* ", 3.0 GB of which were there already" or the like; "" if nothing was. */
static const char *kept_text(const struct summary *s, char *out, size_t out_len)
{
    char bytes[32];

    out[0] = 0;
    if (s->kept_bytes > 0)
        snprintf(out, out_len, ", of which %s were there",
                 text_bytes(bytes, sizeof bytes, (double)s->kept_bytes));
    return out;
}

/* A transfer as short as a sample of its limits says little. */
static void limit_say(const struct summary *s)
{
    char text[256];

    if (s->end_ns - s->start_ns < LIMITS_INTERVAL_NS)
        return;
    limits_describe(text, sizeof text, s->limit_ns,
                    s->from != NULL ? LIMITS_FROM_AFAR
                    : s->sending    ? LIMITS_FROM_SENDER
                                    : LIMITS_FROM_RECEIVER,
                    &s->stats);
    say_note("%s", text);
}

void summary_say(const struct summary *s)
{
    char bytes[32], rate[32], kept[64], peer[SLUICE_PEER_MAX + sizeof s->stats.peer];
    char hosts[640] = "";

    if (s->from != NULL)
        snprintf(hosts, sizeof hosts, "from %s to %s, ", s->from, s->to);
    if (s->there_files > 0)
        say_note("%" PRIu64 " file%s of %s %s there already", s->there_files,
                 s->there_files == 1 ? "" : "s",
                 text_bytes(bytes, sizeof bytes, (double)s->there_bytes),
                 s->there_files == 1 ? "was" : "were");
    say_note("%s %" PRIu64 " file%s, %" PRIu64 " bytes (%s)%s in %.3f s, %s, %" PRIu64
             " units repeated, %s%s %s",
             s->sending ? "sent" : "received", s->files, s->files == 1 ? "" : "s", s->bytes,
             text_bytes(bytes, sizeof bytes, (double)s->bytes), kept_text(s, kept, sizeof kept),
             summary_seconds(s), text_rate(rate, sizeof rate, summary_rate(s)),
             s->sending ? s->stats.tx_repeats : s->stats.rx_lost, hosts,
             s->from != NULL ? "at"
             : s->sending    ? "to"
                             : "from",
             peer_text(s, peer, sizeof peer));
    limit_say(s);
}

/* {"disk": seconds, ...} */
static json_t *limits_json(const struct summary *s)
{
    json_t *j = json_object();
    unsigned int i;

    for (i = 0; i < LIMITS; i++)
        json_object_set_new(j, limits_name((enum limit)i), json_real((double)s->limit_ns[i] / 1e9));
    return j;
}

uint64_t summary_cpu(const struct summary *s)
{
    struct rusage use;

    if (s->cpu_ns != 0)
        return s->cpu_ns;
    getrusage(RUSAGE_SELF, &use);
    return (uint64_t)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * CLOCK_NS_PER_S +
           (uint64_t)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1000;
}

/* Where files went; nothing is said of that if both ends were started by hand. */
static void hosts_json(json_t *j, const struct summary *s)
{
    if (!s->copy)
        return;
    json_object_set_new(j, "direction",
                        json_string(s->from != NULL ? "between"
                                    : s->sending    ? "push"
                                                    : "pull"));
    if (s->from == NULL)
        return;
    json_object_set_new(j, "from", json_string(s->from));
    json_object_set_new(j, "to", json_string(s->to));
}

void summary_json(const struct summary *s, int exit_code, FILE *out)
{
    const struct sluice_stats *t = &s->stats;
    char hex[DIGEST_HEX_BYTES];
    json_t *j;

    digest_hex(hex, s->hash);
    j = json_pack("{ss ss si sI sI sI sI sI sI sI sf sf sI sI sI sI sI sI sf}", "command",
                  s->sync      ? "sync"
                  : s->copy    ? "cp"
                  : s->sending ? "send"
                               : "recv",
                  "peer", t->peer, "exit", exit_code, "files", (json_int_t)s->files, "failed",
                  (json_int_t)s->failed, "bytes", (json_int_t)s->bytes, "hole_bytes",
                  (json_int_t)s->hole_bytes, "kept_bytes", (json_int_t)s->kept_bytes, "there_files",
                  (json_int_t)s->there_files, "there_bytes", (json_int_t)s->there_bytes, "seconds",
                  summary_seconds(s), "goodput_bps", summary_rate(s) * 8, "packets",
                  (json_int_t)(s->sending ? t->tx_units : t->rx_units), "repeats",
                  (json_int_t)(s->sending ? t->tx_repeats : t->rx_lost), "rate_grant_Bps",
                  (json_int_t)(s->sending ? t->tx_rate_Bps : t->rx_rate_Bps), "rtt_ns",
                  (json_int_t)t->rtt_ns, "unit_bytes", (json_int_t)t->unit_bytes, "streams",
                  (json_int_t)s->streams, "cpu_seconds", (double)summary_cpu(s) / 1e9);
    if (j != NULL)
        json_object_set_new(j, "limited_seconds", limits_json(s));
    if (j != NULL)
        hosts_json(j, s);
    if (j != NULL && s->peer[0] != '\0')
        json_object_set_new(j, "peer_name", json_string(s->peer));
    if (j != NULL)
        json_object_set_new(j, "hash",
                            s->files > 0 && !s->unhashed ? json_string(hex) : json_null());
    if (j != NULL && s->stream) {
        json_t *event = json_pack("{ss}", "event", "end");

        json_object_update(event, j);
        json_decref(j);
        j = event;
    }
    if (j == NULL || json_dumpf(j, out, JSON_COMPACT | JSON_REAL_PRECISION(9)) < 0)
        say_error(SAY_LOCAL, "--json: the summary could not be written; make room");
    fputc('\n', out);
    json_decref(j);
}
