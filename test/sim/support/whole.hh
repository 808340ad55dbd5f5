// SPDX-License-Identifier: BSD-3-Clause
// The bytes of a frame in one piece, also if it lies in several mbufs.
#ifndef SLUICE_TEST_SIM_WHOLE_HH
#define SLUICE_TEST_SIM_WHOLE_HH

#include <cstdint>
#include <vector>

#include <rte_mbuf.h>

// Valid as long as the mbufs are; a frame in one mbuf is not copied.
class WholeFrame
{
  public:
    explicit WholeFrame(const rte_mbuf *m) : copy(m->nb_segs > 1 ? m->pkt_len : 0), n(m->pkt_len)
    {
        p = static_cast<const uint8_t *>(rte_pktmbuf_read(m, 0, n, copy.data()));
    }
    WholeFrame(const WholeFrame &) = delete;
    const uint8_t *data() const
    {
        return p;
    }
    uint32_t size() const
    {
        return n;
    }

  private:
    std::vector<uint8_t> copy;
    const uint8_t *p;
    uint32_t n;
};

#endif
