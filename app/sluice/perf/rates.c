/* SPDX-License-Identifier: BSD-3-Clause */
/* A transfer over time as CSV. */
#include "sluice/perf/rates.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "console/text.h"
#include "sluice/say.h"

void flow_add(struct flow *f, const struct sluice_stats *stats, bool sending)
{
    f->rx_bytes += stats->rx_bytes;
    f->tx_bytes += stats->tx_bytes;
    f->rate_Bps += sending ? stats->tx_rate_Bps : stats->rx_rate_Bps;
    f->momentary_Bps += stats->rx_momentary_Bps;
    f->repeats += sending ? stats->tx_repeats : stats->rx_lost;
}

static int rates_failed(const char *path, int err)
{
    char safe[512];

    return say_error(SAY_LOCAL, "--rates %s: %s; choose another file",
                     text_safe(safe, sizeof safe, path), strerror(err));
}

int rates_open(struct rates *r, const char *path)
{
    memset(r, 0, sizeof *r);
    r->path = path;
    if (path == NULL)
        return SAY_OK;
    r->file = fopen(path, "we");
    if (r->file == NULL)
        return rates_failed(path, errno);
    fputs("t_s,rx_bytes,tx_bytes,rate_Bps,momentary_Bps\n", r->file);
    return SAY_OK;
}

uint64_t rates_next(const struct rates *r)
{
    if (r->file == NULL)
        return UINT64_MAX;
    return r->start_ns == 0 ? 0 : r->last_ns + RATES_INTERVAL_NS;
}

void rates_sample(struct rates *r, uint64_t now_ns, const struct flow *f)
{
    uint64_t momentary = f->momentary_Bps;
    double passed_s;

    if (now_ns < rates_next(r))
        return;
    if (r->start_ns == 0)
        r->start_ns = now_ns;
    passed_s = (double)(now_ns - r->last_ns) / 1e9;
    if (f->outward && r->last_ns != 0 && f->tx_bytes >= r->last_tx_bytes)
        momentary = (uint64_t)((double)(f->tx_bytes - r->last_tx_bytes) / passed_s);
    fprintf(r->file, "%.6f,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n",
            (double)(now_ns - r->start_ns) / 1e9, f->rx_bytes, f->tx_bytes, f->rate_Bps, momentary);
    r->last_ns = now_ns;
    r->last_tx_bytes = f->tx_bytes;
}

int rates_close(struct rates *r)
{
    int err = 0;

    if (r->file == NULL)
        return SAY_OK;
    if (ferror(r->file))
        err = EIO;
    if (fclose(r->file) != 0)
        err = errno;
    r->file = NULL;
    return err != 0 ? rates_failed(r->path, err) : SAY_OK;
}
