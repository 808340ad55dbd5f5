-- SPDX-License-Identifier: BSD-3-Clause
--
-- Measures the latency of a device at several loads with Pktgen's stamped frames.
--
--   pktgen --lcores 0@0,1@1 ... -- -P -m 1.0 -f config/pktgen/latency.lua
--
-- Settings, in the environment:
--   TX=0 RX=0          ports that send and receive
--   SIZE=128           bytes with CRC
--   LOADS=1e5,5e5      frames a second; 10, 50 and 90 % of the NDR are usual
--   SECONDS=5          of each load
--   OUT=latency.csv
--
-- Frames with a stamp replace others. A stamped frame that is lost has no latency, so with losses the maximum
-- is too low. Pktgen's mean is not written: 23.03 always says 0.

local here = debug.getinfo(1, "S").source:match("^@(.*/)") or "./"
local P = dofile(here .. "sluice_pktgen.lua")
local results = assert(io.open(os.getenv("OUT") or "latency.csv", "w"))

P.main(results, function()
    local tx, rx = P.setting("TX", "0"), P.setting("RX", "0")
    local size, seconds = P.setting("SIZE", 128), P.setting("SECONDS", 5)
    P.open(tx, rx)
    pktgen.set_proto(tx, "udp")
    pktgen.latency(tx, "on")
    pktgen.latency(rx, "on")
    results:write("size_bytes,asked_pps,sent,received,stamped,min_us,max_us\n")
    for _, pps in ipairs(P.settings("LOADS", {1e5, 5e5})) do
        P.rate_set(tx, size, pps)
        local counts = P.window(tx, rx, pps, seconds)
        local l = P.latency(rx)
        if l == nil then error("this Pktgen tells scripts no latencies; 23.03 to 25.08 do", 0) end
        results:write(string.format("%d,%.0f,%d,%d,%d,%.2f,%.2f\n", size, pps, counts.sent, counts.received,
                                    l.frames, l.min_us, l.max_us))
        results:flush()
    end
    pktgen.latency(tx, "off")
    pktgen.latency(rx, "off")
end)
