// SPDX-License-Identifier: BSD-3-Clause
#include "canary.hh"
#include "whole.hh"

#include <cstring>

#include <rte_mbuf.h>

extern "C" {
#include "base/clock.h"
#include "host/host_internal.h"
#include "vt/place.h"
#include "vt/receiver.h"
#include "vt/sender.h"

bool __real_vt_sender_peek(struct vt_sender *s, struct vt_unit *u);
void __real_vt_sender_take(struct vt_sender *s, const struct vt_unit *u, uint64_t now,
                           uint64_t ask_tsc);
enum vt_verdict __real_vt_receiver_check(const struct vt_receiver *r, const struct wire_data *d,
                                         uint8_t **dst);
bool __real_vt_receiver_complete(struct vt_receiver *r, struct vt_received *out);
void __real_place_mbuf(uint8_t *dst, const struct rte_mbuf *m, uint32_t off, uint32_t len,
                       bool stream, uint64_t *sum);
uint64_t __real_place_mbuf_sum(const struct rte_mbuf *m, uint32_t off, uint32_t len);
void __real_credit_set(struct credit *c, uint64_t hz, uint64_t rate_Bps, uint64_t burst_bytes,
                       uint64_t now);
uint64_t __real_conn_nak_again(const struct host *h, const struct conn *c);
uint64_t __real_conn_silence_step(const struct host *h);
void __real_table_free(struct host *h, struct conn *c);
void __real_rte_pktmbuf_free_bulk(struct rte_mbuf **m, unsigned int n);
void __real_rte_free(void *p);
uint32_t __real_wire_put_cntl(uint8_t *p, const struct wire_cntl *v);
bool __real_frame_udp_sum_ok(const uint8_t *p, const struct frame *f, uint64_t payload_sum);
void __real_first_take(struct host *h, const struct frame *f, const struct wire_first *v,
                       struct table_entry *e);
}

namespace
{

Canary active;
uint64_t calls; // of the function with the fault

bool every(uint64_t n)
{
    return ++calls % n == 0;
}

// Passed from vt_receiver_check() to the placement that follows it.
bool last_unit;
uint8_t *same_place;

} // namespace

void canary_set(Canary c)
{
    active = c;
}

extern "C" {

bool __wrap_vt_sender_peek(struct vt_sender *s, struct vt_unit *u)
{
    bool some = __real_vt_sender_peek(s, u);

    return some && !(active == CANARY_SILENT && pos_unit(u->pos) == 9);
}

void __wrap_vt_sender_take(struct vt_sender *s, const struct vt_unit *u, uint64_t now,
                           uint64_t ask_tsc)
{
    __real_vt_sender_take(s, u, now, ask_tsc);
    if (active == CANARY_NUMBER && every(300))
        s->packet--;
}

enum vt_verdict __wrap_vt_receiver_check(const struct vt_receiver *r, const struct wire_data *d,
                                         uint8_t **dst)
{
    enum vt_verdict v = __real_vt_receiver_check(r, d, dst);
    const struct vt_buffer *b = &r->ring[(d->request - r->origin) & r->mask];
    bool done = seq32_before(d->request, pos_request(vt_receiver_ack(r)));

    last_unit = v == VT_PLACE && d->unit + 1ull == wire_units(d->request_len, d->unit_bytes);
    same_place = nullptr;
    if (v == VT_DUPLICATE && seq32_before(d->request, r->tail) && b->unit_bytes == d->unit_bytes &&
        b->request_len == d->request_len && b->status == 0 && r->tail - d->request <= r->mask &&
        done == (active == CANARY_LATE))
        same_place = b->data + static_cast<uint64_t>(d->unit) * d->unit_bytes;
    return v;
}

bool __wrap_vt_receiver_complete(struct vt_receiver *r, struct vt_received *out)
{
    static const struct vt_receiver *whose;
    static struct vt_received saved;

    if (active == CANARY_TWICE && whose == r) {
        whose = nullptr;
        *out = saved;
        return true;
    }
    bool some = __real_vt_receiver_complete(r, out);

    if (some && active == CANARY_TWICE && every(20)) {
        whose = r;
        saved = *out;
    }
    return some;
}

void __wrap_place_mbuf(uint8_t *dst, const struct rte_mbuf *m, uint32_t off, uint32_t len,
                       bool stream, uint64_t *sum)
{
    __real_place_mbuf(dst, m, off, len, stream, sum);
    if (active == CANARY_COPY && len > 0 && every(100))
        dst[len / 2] ^= 1;
    if (active == CANARY_BEHIND && last_unit)
        dst[len] = 0;
}

uint64_t __wrap_place_mbuf_sum(const struct rte_mbuf *m, uint32_t off, uint32_t len)
{
    if ((active == CANARY_AGAIN || active == CANARY_LATE) && same_place != nullptr)
        std::memcpy(same_place, WholeFrame(m).data() + off, len);
    return __real_place_mbuf_sum(m, off, len);
}

void __wrap_credit_set(struct credit *c, uint64_t hz, uint64_t rate_Bps, uint64_t burst_bytes,
                       uint64_t now)
{
    __real_credit_set(c, hz, active == CANARY_GRANT ? rate_Bps + rate_Bps / 4 : rate_Bps,
                      active == CANARY_CREDIT ? 3 * burst_bytes : burst_bytes, now);
}

uint64_t __wrap_conn_nak_again(const struct host *h, const struct conn *c)
{
    uint64_t again = __real_conn_nak_again(h, c);

    return active == CANARY_ASK ? again / 8 : again;
}

uint64_t __wrap_conn_silence_step(const struct host *h)
{
    uint64_t step = __real_conn_silence_step(h);

    return active == CANARY_GIVE_UP ? step / 512 : step;
}

void __wrap_table_free(struct host *h, struct conn *c)
{
    if (!(active == CANARY_FORGET && every(3)))
        __real_table_free(h, c);
}

void __wrap_rte_pktmbuf_free_bulk(struct rte_mbuf **m, unsigned int n)
{
    __real_rte_pktmbuf_free_bulk(m, active == CANARY_LEAK_MBUF && n > 0 && every(500) ? n - 1 : n);
}

void __wrap_rte_free(void *p)
{
    if (!(active == CANARY_LEAK_HEAP && p != nullptr && every(20)))
        __real_rte_free(p);
}

uint32_t __wrap_wire_put_cntl(uint8_t *p, const struct wire_cntl *v)
{
    struct wire_cntl less = *v;

    if (active == CANARY_TAKE_BACK && every(20))
        less.ack -= pos_unit(less.ack) > 0;
    return __real_wire_put_cntl(p, &less);
}

bool __wrap_frame_udp_sum_ok(const uint8_t *p, const struct frame *f, uint64_t payload_sum)
{
    /* only large packets: their wrong byte is in the payload then, hardly ever in a header */
    return __real_frame_udp_sum_ok(p, f, payload_sum) ||
           (active == CANARY_CHECKSUM && f->payload_len > 1000);
}

void __wrap_first_take(struct host *h, const struct frame *f, const struct wire_first *v,
                       struct table_entry *e)
{
    __real_first_take(h, f, v, e);
    struct conn_early_key key = {f->src, v->h.key, f->sport};
    struct conn *c = active == CANARY_AMPLIFY ? table_early_find(h, &key) : nullptr;

    if (c != nullptr)
        c->handshake.allowance += 100000;
}
}
