/* SPDX-License-Identifier: BSD-3-Clause */
/* All limits of the wire format; doc/protocol.md states the same numbers. */
#ifndef SLUICE_WIRE_LIMITS_H
#define SLUICE_WIRE_LIMITS_H

#define WIRE_VERSION         1
#define WIRE_UDP_PORT        47800        /* where hosts listen, unless configured otherwise */
#define WIRE_UNIT_MIN        64           /* payload bytes of a full unit: minimum and maximum */
#define WIRE_UNIT_MAX        65471        /* what a UDP datagram of 65535 bytes carries */
#define WIRE_UNITS_MAX       0xfffffff0u  /* units a request may have */
#define WIRE_REQUEST_MAX     (1ull << 32) /* bytes a request may have: 4 GiB */
#define WIRE_SPANS_MAX       32           /* NAK spans in one CNTL */
#define WIRE_REFUSED_MAX     8            /* refused requests in one CNTL */
#define WIRE_RATE_MAX_BPS    (1ull << 48)
#define WIRE_BURST_MAX_BYTES 0xffffffffu
#define WIRE_MTU_MIN         576   /* bytes of an IPv4 packet; IPv6 needs 1280 (RFC 8200) */
#define WIRE_MTU_MAX         65535 /* as far as IPv4's length and ethdev's MTU count */
#define WIRE_HEADERS_MAX     192   /* Ethernet + VLAN + IPv6 + UDP + DATA header, rounded up */

#endif
