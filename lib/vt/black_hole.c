/* SPDX-License-Identifier: BSD-3-Clause */
#include "vt/black_hole.h"

void vt_black_hole_sent(struct vt_black_hole *h, uint32_t len_bytes)
{
    if (len_bytes < h->len_bytes)
        h->shorter++;
    else
        h->as_long++;
}

void vt_black_hole_asked(struct vt_black_hole *h)
{
    h->asked = h->as_long;
}

bool vt_black_hole_ask(const struct vt_black_hole *h, uint64_t now, uint64_t min_tsc)
{
    return h->len_bytes != 0 && h->asked == h->judged && h->as_long != h->asked &&
           now - h->since_tsc >= min_tsc;
}

static void watch(struct vt_black_hole *h, const struct vt_black_hole_report *n, uint64_t now)
{
    *h = (struct vt_black_hole){
        .ack = n->ack, .since_tsc = now, .len_bytes = n->len_bytes, .received = n->received};
}

bool vt_black_hole_take(struct vt_black_hole *h, const struct vt_black_hole_report *n, uint64_t now,
                        uint64_t min_tsc)
{
    bool same = n->ack == h->ack && n->len_bytes == h->len_bytes;

    if (n->len_bytes == 0 || !same || n->received - h->received > h->shorter) {
        watch(h, n, now);
        return false;
    }
    if (!n->seen || h->asked == h->judged)
        return false;
    h->judged = h->asked;
    h->rounds++;
    if (h->rounds < BLACK_HOLE_ROUNDS || h->judged < BLACK_HOLE_PACKETS ||
        now - h->since_tsc < min_tsc)
        return false;
    watch(h, n, now);
    return true;
}
