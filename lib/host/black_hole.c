/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A path that drops packets for their size: its MTU is below the configured one and no router says
 * so, or a filter looks at sizes. Units are halved until they pass. Halves can replace a whole unit
 * in mid-request (vt/sender.h). At worst, packets are half as long as the path could carry, and
 * more of the rate goes into headers: with headers of 98 bytes, a twelfth of it where 700 bytes
 * pass.
 *
 * Units longer than JUMBO_BYTES are halved until they are not, at once: memory carries packets of
 * 64 kB, and all Ethernets less than 16 kB, but hardly a link lies between the two (RFC 1191,
 * section 7.1).
 *
 * Halving ends at the size that every path of the family carries (RFC 791: 576 bytes; RFC 8200:
 * 1280). If such packets do not pass, their size is not the reason, and the connection fails with
 * -ECOMM. Units stay as small as they became until the connection ends.
 */
#include <errno.h>

#include "host/host_internal.h"

#define JUMBO_BYTES       16384u /* no Ethernet carries longer packets */
/* Units are halved when no long packet has arrived for this time. Routers' queues hold 100 or 200
 * ms of packets, so a full queue is not taken for a black hole. Each halving takes 250
 * to 500 ms, and there are five at most, from a jumbo packet to the shortest. */
#define BLACK_HOLE_MIN_NS 250000000ull

void unit_apply(struct host *h, struct conn *c)
{
    bool sealed = c->security.sealed;
    uint32_t unit = RTE_MIN(conn_unit_max(h, &c->peer, sealed), c->unit.peer_max_bytes);

    unit = conn_unit_halves(unit, &c->peer, sealed);
    if (c->unit.path_max_bytes != 0)
        unit = RTE_MIN(unit, c->unit.path_max_bytes);
    if (unit == c->tx.unit_bytes)
        return;
    vt_sender_set_unit(&c->tx, unit);
    counter_set(&c->pub.unit_bytes, unit);
    if (c->rx.packets == 0) /* the peer's are as long, as far as is known */
        counter_set(&c->pub.rx_unit_bytes, unit);
}

void black_hole_take(struct host *h, struct conn *c, const struct wire_cntl *v, bool seen)
{
    struct vt_black_hole_report news = {c->tx.ack, vt_sender_awaited(&c->tx), v->received, seen};

    /* packets that all paths carry may be lost for other reasons than their size, so the connection
     * waits as long for them as for a silent peer */
    bool last = news.len_bytes <= WIRE_DATA_BYTES + conn_unit_min(&c->peer, c->security.sealed);
    uint64_t least = last ? CONN_SILENCE_STEPS * conn_silence_step(h)
                          : clock_cycles(&h->clock, BLACK_HOLE_MIN_NS);

    if (!vt_black_hole_take(&c->unit.black_hole, &news, h->now, least)) {
        if (c->pacing.flight_seq == 0 && vt_black_hole_ask(&c->unit.black_hole, h->now, least))
            conn_want(h, c, WANT_CNTL);
        return;
    }
    uint32_t len = news.len_bytes - WIRE_DATA_BYTES, unit = c->tx.unit_bytes;

    if (last) {
        conn_over(h, c, -ECOMM, WIRE_END_ABORT, true);
        return;
    }
    while (unit >= len || unit > JUMBO_BYTES)
        unit /= 2;
    c->unit.path_max_bytes = unit;
    unit_apply(h, c);
    /* A peer that lowers its limit again and again may have left a request in a size that no
     * shorter one divides, and acknowledged a part of it: it would be repeated for ever. */
    if (vt_sender_awaited(&c->tx) == news.len_bytes) {
        conn_over(h, c, -ECOMM, WIRE_END_ABORT, true);
        return;
    }
    counter_set(&c->pub.dropped_unit_bytes, len);
    host_count(h, COUNT_units_cut);
    host_note(h, c, TRACE_UNIT, 0, len, unit);
}
