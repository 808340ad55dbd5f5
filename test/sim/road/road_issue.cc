// SPDX-License-Identifier: BSD-3-Clause
#include "road_issue.hh"

const RoadIssue kRoadIssues[] = {
    {"stall-1ms-rx-link",
     "rate_bps=10000000000 rtt_ns=100000 queue_bytes=125000 stall_rx_ns=1000000 gap_rx_ns=5000000"},
    {"stall-1ms-rx-host", "rate_bps=40000000000 rtt_ns=100000 queue_bytes=500000 "
                          "host_bps=10000000000 stall_rx_ns=1000000 gap_rx_ns=5000000"},
    {"stall-1ms-tx-link",
     "rate_bps=10000000000 rtt_ns=100000 queue_bytes=125000 stall_tx_ns=1000000 gap_tx_ns=5000000"},
    {"stall-1ms-tx-host", "rate_bps=40000000000 rtt_ns=100000 queue_bytes=500000 "
                          "host_bps=10000000000 stall_tx_ns=1000000 gap_tx_ns=5000000"},
    {"stall-1ms-both-link",
     "rate_bps=10000000000 rtt_ns=100000 queue_bytes=125000 stall_rx_ns=1000000 gap_rx_ns=5000000 "
     "stall_tx_ns=1000000 gap_tx_ns=5000000"},
    {"stall-1ms-both-host",
     "rate_bps=40000000000 rtt_ns=100000 queue_bytes=500000 host_bps=10000000000 "
     "stall_rx_ns=1000000 gap_rx_ns=5000000 stall_tx_ns=1000000 gap_tx_ns=5000000"},
    {"stall-4ms-rx-link", "rate_bps=10000000000 rtt_ns=100000 queue_bytes=125000 "
                          "stall_rx_ns=4000000 gap_rx_ns=10000000"},
    {"stall-4ms-rx-host", "rate_bps=40000000000 rtt_ns=100000 queue_bytes=500000 "
                          "host_bps=10000000000 stall_rx_ns=4000000 gap_rx_ns=10000000"},
    {"stall-4ms-tx-link", "rate_bps=10000000000 rtt_ns=100000 queue_bytes=125000 "
                          "stall_tx_ns=4000000 gap_tx_ns=10000000"},
    {"stall-4ms-tx-host", "rate_bps=40000000000 rtt_ns=100000 queue_bytes=500000 "
                          "host_bps=10000000000 stall_tx_ns=4000000 gap_tx_ns=10000000"},
    {"stall-4ms-both-link",
     "rate_bps=10000000000 rtt_ns=100000 queue_bytes=125000 stall_rx_ns=4000000 gap_rx_ns=10000000 "
     "stall_tx_ns=4000000 gap_tx_ns=10000000"},
    {"stall-4ms-both-host",
     "rate_bps=40000000000 rtt_ns=100000 queue_bytes=500000 host_bps=10000000000 "
     "stall_rx_ns=4000000 gap_rx_ns=10000000 stall_tx_ns=4000000 gap_tx_ns=10000000"},
    {"stall-20ms-rx-link", "rate_bps=10000000000 rtt_ns=100000 queue_bytes=125000 "
                           "stall_rx_ns=20000000 gap_rx_ns=40000000"},
    {"stall-20ms-rx-host", "rate_bps=40000000000 rtt_ns=100000 queue_bytes=500000 "
                           "host_bps=10000000000 stall_rx_ns=20000000 gap_rx_ns=40000000"},
    {"stall-20ms-tx-link", "rate_bps=10000000000 rtt_ns=100000 queue_bytes=125000 "
                           "stall_tx_ns=20000000 gap_tx_ns=40000000"},
    {"stall-20ms-tx-host", "rate_bps=40000000000 rtt_ns=100000 queue_bytes=500000 "
                           "host_bps=10000000000 stall_tx_ns=20000000 gap_tx_ns=40000000"},
    {"stall-20ms-both-link",
     "rate_bps=10000000000 rtt_ns=100000 queue_bytes=125000 stall_rx_ns=20000000 "
     "gap_rx_ns=40000000 stall_tx_ns=20000000 gap_tx_ns=40000000"},
    {"stall-20ms-both-host",
     "rate_bps=40000000000 rtt_ns=100000 queue_bytes=500000 host_bps=10000000000 "
     "stall_rx_ns=20000000 gap_rx_ns=40000000 stall_tx_ns=20000000 gap_tx_ns=40000000"},
    {"jitter-10-uniform-ordered",
     "rate_bps=100000000 rtt_ns=40000000 queue_bytes=500000 jitter_ns=4000000 law=0 reorders=0"},
    {"jitter-10-uniform-reorders",
     "rate_bps=100000000 rtt_ns=40000000 queue_bytes=500000 jitter_ns=4000000 law=0 reorders=1"},
    {"jitter-10-normal-ordered",
     "rate_bps=100000000 rtt_ns=40000000 queue_bytes=500000 jitter_ns=4000000 law=1 reorders=0"},
    {"jitter-10-normal-reorders",
     "rate_bps=100000000 rtt_ns=40000000 queue_bytes=500000 jitter_ns=4000000 law=1 reorders=1"},
    {"jitter-10-pareto-ordered",
     "rate_bps=100000000 rtt_ns=40000000 queue_bytes=500000 jitter_ns=4000000 law=2 reorders=0"},
    {"jitter-10-pareto-reorders",
     "rate_bps=100000000 rtt_ns=40000000 queue_bytes=500000 jitter_ns=4000000 law=2 reorders=1"},
    {"jitter-50-uniform-ordered",
     "rate_bps=100000000 rtt_ns=40000000 queue_bytes=500000 jitter_ns=20000000 law=0 reorders=0"},
    {"jitter-50-uniform-reorders",
     "rate_bps=100000000 rtt_ns=40000000 queue_bytes=500000 jitter_ns=20000000 law=0 reorders=1"},
    {"jitter-50-normal-ordered",
     "rate_bps=100000000 rtt_ns=40000000 queue_bytes=500000 jitter_ns=20000000 law=1 reorders=0"},
    {"jitter-50-normal-reorders",
     "rate_bps=100000000 rtt_ns=40000000 queue_bytes=500000 jitter_ns=20000000 law=1 reorders=1"},
    {"jitter-50-pareto-ordered",
     "rate_bps=100000000 rtt_ns=40000000 queue_bytes=500000 jitter_ns=20000000 law=2 reorders=0"},
    {"jitter-50-pareto-reorders",
     "rate_bps=100000000 rtt_ns=40000000 queue_bytes=500000 jitter_ns=20000000 law=2 reorders=1"},
    {"rtt-10-1-back-500",
     "rate_bps=100000000 rtt_ns=10000000 queue_bytes=125000 flows=2 rtt_ratio=10 back_bps=200000"},
    {"rtt-10-1", "rate_bps=100000000 rtt_ns=10000000 queue_bytes=125000 flows=2 rtt_ratio=10"},
    {"back-500", "rate_bps=100000000 rtt_ns=10000000 queue_bytes=125000 back_bps=200000"},
    {"step-up-10M", "rate_bps=10000000 rtt_ns=20000000 queue_bytes=25000 step=10"},
    {"step-down-10M0", "rate_bps=100000000 rtt_ns=20000000 queue_bytes=250000 step=0.1"},
    {"step-up-100M", "rate_bps=100000000 rtt_ns=20000000 queue_bytes=250000 step=10"},
    {"step-down-100M0", "rate_bps=1000000000 rtt_ns=20000000 queue_bytes=2500000 step=0.1"},
    {"flows-64-late-cross", "rate_bps=200000000 rtt_ns=20000000 queue_bytes=500000 flows=64 late=3 "
                            "cross=0.5 cross_on_ns=2000000000 cross_off_ns=2000000000"},
    {"flows-64-late", "rate_bps=200000000 rtt_ns=20000000 queue_bytes=500000 flows=64 late=3"},
    {"loss-5-rtt-1s",
     "rate_bps=1000000000 rtt_ns=1000000000 queue_bytes=125000000 mtu=9000 loss=0.05"},
    {"loss-30-rtt-1s",
     "rate_bps=1000000000 rtt_ns=1000000000 queue_bytes=125000000 mtu=9000 loss=0.3"},
    {"loss-1-rtt-50ms", "rate_bps=100000000 rtt_ns=50000000 queue_bytes=625000 loss=0.01"},
    {"loss-1-rtt-50ms-1G", "rate_bps=1000000000 rtt_ns=50000000 queue_bytes=6250000 loss=0.01"},
    {"loss-5-rtt-50ms", "rate_bps=100000000 rtt_ns=50000000 queue_bytes=625000 loss=0.05"},
    {"loss-5-rtt-50ms-1G", "rate_bps=1000000000 rtt_ns=50000000 queue_bytes=6250000 loss=0.05"},
    {"loss-10-rtt-50ms", "rate_bps=100000000 rtt_ns=50000000 queue_bytes=625000 loss=0.1"},
    {"loss-10-rtt-50ms-1G", "rate_bps=1000000000 rtt_ns=50000000 queue_bytes=6250000 loss=0.1"},
    {"cubic-100M-40ms", "rate_bps=100000000 rtt_ns=40000000 queue_bytes=500000 tcp=1"},
    {"bbr-100M-40ms", "rate_bps=100000000 rtt_ns=40000000 queue_bytes=500000 tcp=2"},
    {"copa-100M-40ms", "rate_bps=100000000 rtt_ns=40000000 queue_bytes=500000 tcp=3"},
    {"cubic-10M-40ms", "rate_bps=10000000 rtt_ns=40000000 queue_bytes=50000 tcp=1"},
    {nullptr, nullptr},
};
