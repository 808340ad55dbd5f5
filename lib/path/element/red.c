/* SPDX-License-Identifier: BSD-3-Clause */
#include "path/element/red.h"

#include <errno.h>

#include "base/mul_div.h"
#include "path/draw.h"

typedef unsigned __int128 u128;

int red_parse(struct spec *s, struct red_params *p)
{
    uint64_t shift = 9; /* 2^-9 = 0.002, as in the paper */

    p->avpkt_bytes = 1000;
    p->probability = DRAW_ALWAYS / 50; /* 2 % */
    if (!spec_accept(s, "min"))
        return spec_stray(s, "comes where red's min is missing");
    spec_size(s, "red's min", &p->min_bytes);
    if (!spec_accept(s, "max"))
        return spec_stray(s, "comes where red's max is missing");
    if (spec_size(s, "red's max", &p->max_bytes) && p->max_bytes <= p->min_bytes)
        return spec_fail(s, "comes after a red whose max is not above its min");
    for (;;) {
        if (spec_accept(s, "probability"))
            spec_share(s, "red's probability", &p->probability);
        else if (spec_accept(s, "avpkt"))
            spec_number(s, "red's avpkt", 1, UINT32_MAX, &p->avpkt_bytes);
        else if (spec_accept(s, "weight"))
            spec_number(s, "red's weight, 2^-n", 1, 16, &shift);
        else if (spec_accept(s, "ecn"))
            p->ecn = true;
        else
            break;
    }
    p->shift = (uint32_t)shift;
    return s->failed ? -EINVAL : 0;
}

/* average * (1 - 2^-shift)^n: as if n packets had found the queue empty. */
static uint64_t decay(uint64_t average, uint32_t shift, uint64_t n)
{
    uint64_t keep = (1ull << 32) - (1ull << 32 >> shift), power = 1ull << 32;

    for (; n > 0 && power > 0; n >>= 1) {
        if (n & 1)
            power = power * keep >> 32;
        keep = keep * keep >> 32;
    }
    return (uint64_t)((u128)average * power >> 32);
}

enum red_verdict red_arrive(struct red *r, const struct red_params *p, uint64_t queued_bytes,
                            bool idle, uint64_t rate_Bps, const struct clock *clock, uint64_t now,
                            struct rng *rng)
{
    uint64_t min = p->min_bytes << RED_FRACTION, max = p->max_bytes << RED_FRACTION, base, x;

    if (idle && r->idle_at < now) {
        u128 bytes = (u128)(now - r->idle_at) * rate_Bps / clock->hz;
        uint64_t n = (uint64_t)(bytes / p->avpkt_bytes);

        r->average = decay(r->average, p->shift, n);
        /* if this packet is dropped, the link stays idle: the next packet must not count the same
         * idle time again */
        if (n > 0)
            r->idle_at += (uint64_t)((u128)n * p->avpkt_bytes * clock->hz / rate_Bps);
    } else {
        r->average += (queued_bytes << RED_FRACTION >> p->shift) - (r->average >> p->shift);
    }
    if (r->average < min) {
        r->since = 0;
        return RED_PASS;
    }
    if (r->average >= max) {
        r->since = 0;
        return RED_FULL;
    }
    /* The paper's p_a = p_b / (1 - since * p_b), where p_b is `base`. A draw x is below p_a when (1
     * - since * p_b) * x < p_b. */
    base = mul_div(p->probability >> 32, r->average - min, max - min);
    x = rng_u64(rng) >> 32;
    if (r->since * base < 1ull << 32 && (u128)x * ((1ull << 32) - r->since * base) >= (u128)base
                                                                                          << 32) {
        r->since++;
        return RED_PASS;
    }
    r->since = 0;
    return RED_EARLY;
}
