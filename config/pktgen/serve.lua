-- SPDX-License-Identifier: BSD-3-Clause
--
-- Makes Pktgen a generator that another program drives (scripts/bench linerate). Each line that it reads
-- is a window, in words KEY=VALUE, and it answers in lines of JSON:
--     size=64 pps=1e6 seconds=0.5      size with CRC; pps 0: as fast as the port takes them
--     {"size": 64, "seconds": 0.520, "requested_pps": 1000000, "set_pps": 999878.2, "sent": 500032, ...}
-- A line that it cannot use is answered by {"error": "..."}.
--
-- SLUICE_PKTGEN_IN and SLUICE_PKTGEN_OUT name the two pipes; SLUICE_PKTGEN_TX and SLUICE_PKTGEN_RX the
-- ports (0 and 0: the device echoes). SLUICE_PKTGEN_DST_MAC is where frames go, for a device that looks at it.

local here = debug.getinfo(1, "S").source:match("^@(.*/)") or "./"
local P = dofile(here .. "sluice_pktgen.lua")

local function window_parse(line)
    local window = {size = 64, pps = 0, seconds = 1}
    for word in line:gmatch("%S+") do
        local key, value = word:match("^(%w+)=(.+)$")
        if key == nil or window[key] == nil or tonumber(value) == nil then
            error(word .. ": use size=BYTES, pps=NUMBER or seconds=NUMBER", 0)
        end
        window[key] = tonumber(value)
    end
    if window.size < 64 or window.size > 10000 then error("size=" .. window.size .. ": 64 to 10000", 0) end
    if window.seconds <= 0 or window.seconds > 3600 then error("seconds=" .. window.seconds .. ": up to 3600", 0) end
    return window
end

local function answer_make(window, set_pps, counts)
    return string.format(
        '{"size": %d, "seconds": %.3f, "requested_pps": %.1f, "set_pps": %.1f, "sent": %d, "received": %d, "missed": %d, "errors": %d}',
        window.size, counts.seconds, window.pps, set_pps, counts.sent, counts.received, counts.missed, counts.errors)
end

local out = assert(io.open(assert(os.getenv("SLUICE_PKTGEN_OUT"), "SLUICE_PKTGEN_OUT is not set"), "w"))

local function say(text)
    out:write(text, "\n")
    out:flush()
end

P.main(out, function()
    local tx, rx = P.setting("SLUICE_PKTGEN_TX", "0"), P.setting("SLUICE_PKTGEN_RX", "0")
    local input = assert(io.open(assert(os.getenv("SLUICE_PKTGEN_IN"), "SLUICE_PKTGEN_IN is not set"), "r"))
    P.open(tx, rx)
    pktgen.set_proto(tx, "udp")
    local mac = P.setting("SLUICE_PKTGEN_DST_MAC", "")
    if mac ~= "" then pktgen.set_mac(tx, "dst", mac) end
    say(string.format('{"ready": true, "version": "%s", "link_bps": %.0f}', pktgen.info.Pktgen_Version, P.link_bps(tx)))
    for line in input:lines() do
        local ok, result = pcall(function()
            local window = window_parse(line)
            local set_pps = P.rate_set(tx, window.size, window.pps)
            return answer_make(window, set_pps, P.window(tx, rx, window.pps, window.seconds))
        end)
        say(ok and result or string.format('{"error": "%s"}', tostring(result):gsub('["\\]', "'")))
    end
end)
