-- SPDX-License-Identifier: BSD-3-Clause
--
-- Floods a Sluice host with frames that are not Sluice's, from many addresses: what a port in a large
-- network meets. Start a transfer through the same port first and watch `sluice show` beside it: each frame
-- is one count of drop_foreign, or goes to the kernel if the port has an exception interface.
--
--   DST_MAC=02:00:00:00:00:01 DST_IP=10.0.0.2 pktgen --lcores 0@0,1@1 ... -- -P -m 1.0 \
--       -f config/pktgen/strangers.lua
--
-- Settings, in the environment:
--   TX=0
--   DST_MAC, DST_IP    of the host; without them the NIC or the host drops all frames by their address
--   DST_PORT=9         UDP port; 47800 is Sluice's own, where each frame fails the checks of the protocol
--   FLOWS=65536        source addresses, from 198.19.0.0 on
--   SIZE=64            bytes with CRC
--   PPS=0              frames a second; 0: as fast as the port takes them
--   SECONDS=10
--   OUT=strangers.csv

local here = debug.getinfo(1, "S").source:match("^@(.*/)") or "./"
local P = dofile(here .. "sluice_pktgen.lua")
local results = assert(io.open(os.getenv("OUT") or "strangers.csv", "w"))

P.main(results, function()
    local tx, size, pps = P.setting("TX", "0"), P.setting("SIZE", 64), P.setting("PPS", 0)
    local mac, ip = P.setting("DST_MAC", ""), P.setting("DST_IP", "")
    if mac == "" or ip == "" then error("set DST_MAC and DST_IP to those of the host", 0) end
    P.open(tx, tx)
    P.flows_set(tx, P.setting("FLOWS", 65536), mac, ip, P.setting("DST_PORT", 9))
    P.flows_size(tx, size)
    P.rate_set(tx, size, pps)
    local counts = P.window(tx, tx, pps, P.setting("SECONDS", 10))
    results:write("size_bytes,asked_pps,sent,errors\n")
    results:write(string.format("%d,%.0f,%d,%d\n", size, pps, counts.sent, counts.errors))
end)
