-- SPDX-License-Identifier: BSD-3-Clause
--
-- Sends at rising rates, for each size of frames, and writes what came back as CSV. At each size it ends
-- at the first rate of which a hundredth is lost, or which Pktgen does not reach.
--
--   pktgen --lcores 0@0,1@1 ... -- -P -m 1.0 -f config/pktgen/sweep.lua
--
-- Settings, in the environment (Pktgen gives its scripts no arguments):
--   TX=0 RX=0          ports that send and count; the same if the device echoes
--   SIZES=64,128,...   bytes with CRC; those of RFC 2544, section 9.1, or MIX=imix: 7:4:1 of 64, 594 and 1518
--   FROM=1e5           the first rate, in frames a second
--   STEP=1.25          each rate is so many times the one before
--   SECONDS=2          of each window; Pktgen's counters are read a second later
--   DST_MAC=...        of the device under test; needed if it is no wire
--   OUT=sweep.csv

local here = debug.getinfo(1, "S").source:match("^@(.*/)") or "./"
local P = dofile(here .. "sluice_pktgen.lua")
local results = assert(io.open(os.getenv("OUT") or "sweep.csv", "w"))

P.main(results, function()
    local tx, rx = P.setting("TX", "0"), P.setting("RX", "0")
    local seconds, step = P.setting("SECONDS", 2), P.setting("STEP", 1.25)
    local mac = P.setting("DST_MAC", "0200:0000:0001")
    local sizes, mix = P.settings("SIZES", P.SIZES), P.setting("MIX", "")
    if step <= 1 then error("STEP=" .. step .. ": above 1", 0) end
    if mix ~= "" and mix ~= "imix" then error("MIX=" .. mix .. ": imix is the only one", 0) end
    P.open(tx, rx)
    if mix == "" then
        pktgen.set_proto(tx, "udp")
        pktgen.set_mac(tx, "dst", mac)
    else
        sizes = {P.mix_bytes(P.IMIX)}
        P.mix_set(tx, P.IMIX, mac)
    end
    results:write("size_bytes,asked_pps,sent,received,lost,lost_share\n")
    for _, size in ipairs(sizes) do
        local pps = P.setting("FROM", 1e5)
        while pps <= P.line_pps(tx, size) do
            P.rate_set(tx, math.floor(size), pps)
            local counts = P.window(tx, rx, pps, seconds)
            local lost = counts.sent - counts.received
            results:write(string.format("%.0f,%.0f,%d,%d,%d,%.6f\n", size, pps, counts.sent, counts.received, lost,
                                        lost / math.max(counts.sent, 1)))
            results:flush()
            if lost > counts.sent / 100 or counts.seconds > 2 * seconds + 1 then break end
            pps = pps * step
        end
    end
end)
