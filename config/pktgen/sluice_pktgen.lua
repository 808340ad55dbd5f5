-- SPDX-License-Identifier: BSD-3-Clause
--
-- What the scripts of this folder share: one interface over both Lua APIs of Pktgen-DPDK.
--
-- Pktgen 22.07 to 25.x: pktgen.portStats(port, "port") has the counters. From 26.01 on, it takes one
-- argument, and the counters are in ".curr". Sizes are those of frames with their CRC, as Pktgen and
-- RFC 2544 give them; Pktgen's buffers are 4 bytes smaller.
--
-- A script loads this file by its own folder, so it works from any working directory:
--     local here = debug.getinfo(1, "S").source:match("^@(.*/)") or "./"
--     local P = dofile(here .. "sluice_pktgen.lua")

local P = {}

P.OVERHEAD = 20 -- preamble and gap, in bytes of a frame's time on the wire
P.SIZES = {64, 128, 256, 512, 1024, 1280, 1518} -- RFC 2544, section 9.1

P.IMIX = {{size = 64, share = 7}, {size = 594, share = 4}, {size = 1518, share = 1}} -- "simple IMIX"

-- Reads a setting from the environment; Pktgen gives its scripts no arguments.
function P.setting(name, default)
    local value = os.getenv(name)
    if value == nil or value == "" then return default end
    if type(default) ~= "number" then return value end
    local number = tonumber(value)
    if number == nil then error(name .. "=" .. value .. " is not a number", 0) end
    return number
end

-- Reads a list of numbers, separated by commas, from the environment.
function P.settings(name, defaults)
    local text = os.getenv(name)
    if text == nil or text == "" then return defaults end
    local list = {}
    for word in text:gmatch("[^,]+") do
        local number = tonumber(word)
        if number == nil then error(name .. "=" .. text .. ": " .. word .. " is not a number", 0) end
        list[#list + 1] = number
    end
    if #list == 0 then error(name .. "=" .. text .. " has no numbers", 0) end
    return list
end

-- Returns the counters of a port since they were cleared.
function P.counters(port)
    local key = tonumber(port)
    local stats
    if pktgen.pktStats ~= nil then -- 26.01 removed it, together with portStats' second argument
        stats = pktgen.portStats(port, "port")[key]
    else
        stats = pktgen.portStats(port)[key]
        stats = stats.curr or stats
    end
    return {sent = stats.opackets, received = stats.ipackets, missed = stats.imissed + stats.rx_nombuf,
            errors = stats.ierrors + stats.oerrors}
end

-- The speed of a link in bit/s, or nil if it is down. Pktgen takes an unknown speed for 10 Gbit/s.
function P.link_bps(port)
    local text = pktgen.linkState(port)[tonumber(port)]
    local mbps = text:match("UP%-(%d+)")
    return mbps and tonumber(mbps) * 1e6
end

-- Waits until a link is up.
local function link_wait(port, seconds)
    for _ = 1, seconds * 20 do
        if P.link_bps(port) then return end
        pktgen.delay(50)
    end
    error("the link of port " .. port .. " stays down: is the device under test there?", 0)
end

-- The frames per second that fill a link.
function P.line_pps(port, size)
    return P.link_bps(port) / ((size + P.OVERHEAD) * 8)
end

-- Sets size and rate. pps 0: as fast as the port takes them. Pktgen's own rate is a share of the link,
-- cut to whole cycles per frame: at 10 million frames a second a step is half a per cent. The cycles of a
-- burst give finer steps. Returns the rate that was set.
function P.rate_set(port, size, pps)
    pktgen.set(port, "size", size)
    if pps == 0 then
        pktgen.set(port, "rate", "100")
        pktgen.set(port, "cycles", 1) -- between two bursts; Pktgen replaces 0 by the link's rate
        return 0
    end
    local share = 100 * pps / P.line_pps(port, size)
    if share > 100 then
        error(string.format("port %s: %.0f frames of %d bytes a second are %.0f %% of its link", port, pps, size,
                            share), 0)
    end
    pktgen.set(port, "rate", string.format("%.6f", share))
    if not P.hz then return pps end
    local burst = pktgen.portInfo(port)[tonumber(port)].info.tx_burst
    local cycles = math.floor(burst * P.hz / pps + 0.5)
    pktgen.set(port, "cycles", cycles)
    return burst * P.hz / cycles
end

-- Finds the TSC's frequency, if this Pktgen tells its cycles: at a low rate those of a frame are exact to 1 in
-- 10,000 and better.
local function calibrate(port)
    pktgen.set(port, "size", 64)
    pktgen.set(port, "rate", "0.01")
    local info = pktgen.portInfo(port)[tonumber(port)].info
    local d = info.tx_debug
    if d ~= nil and (d.tx_pps or 0) > 0 then P.hz = d.tx_cycles / info.tx_burst * d.tx_pps end
end

-- Makes Pktgen ready to send from one port and to count at the other. A screen would take processor time.
function P.open(tx, rx)
    pktgen.screen("off")
    link_wait(tx, 30)
    link_wait(rx, 30)
    calibrate(tx)
end

-- Pktgen reads the ports' counters once a second, in a thread of its own, and answers with what it read
-- last. So counters are only true after more than a second.
P.REFRESH_MS = 1100

-- Returns the counters of both ports once all that was sent has arrived, or nothing more arrives.
local function counters_settled(tx, rx, seconds)
    local before = -1
    for _ = 1, math.max(2, seconds * 1000 / P.REFRESH_MS) do
        pktgen.delay(P.REFRESH_MS)
        local sent, received = P.counters(tx), P.counters(rx)
        if received.received >= sent.sent or received.received == before then return sent, received end
        before = received.received
    end
    error("port " .. rx .. " still receives " .. seconds .. " s after the last frame", 0)
end

-- Seconds since the machine started, in steps of 10 ms; Lua's own clocks count processor time or whole seconds.
function P.now()
    local f = assert(io.open("/proc/uptime"))
    local text = f:read("l")
    f:close()
    return tonumber(text:match("^%S+"))
end

local function is_sending(port)
    return pktgen.isSending(port)[tonumber(port)] == "y"
end

-- Sends from one port and counts at the other (the same, if the device echoes): pps times seconds frames, or,
-- with pps 0, as many as go out in that time. "seconds" of the result has steps of 10 ms, and includes the
-- time for which Pktgen writes its 24,000 buffers before it sends.
function P.window(tx, rx, pps, seconds)
    pktgen.clr() -- takes effect at once
    pktgen.set(tx, "count", math.floor(pps * seconds + 0.5))
    local began = P.now()
    pktgen.start(tx)
    if pps == 0 then
        pktgen.delay(math.floor(seconds * 1000 + 0.5))
    else
        while is_sending(tx) and P.now() < began + 2 * seconds + 2 do pktgen.delay(5) end
    end
    pktgen.stop(tx)
    local ended = P.now()
    local sent, received = counters_settled(tx, rx, 10)
    return {seconds = ended - began, sent = sent.sent, received = received.received, missed = received.missed,
            errors = sent.errors + (tx ~= rx and received.errors or 0)}
end

-- Has the port send frames of several sizes by turns: `share` of every twelve, say, for P.IMIX. Pktgen has
-- room for 16. dst_mac: of the device under test, or any address if it looks at none.
function P.mix_set(port, mix, dst_mac)
    local slot = 0
    local rest = {}
    for i, part in ipairs(mix) do rest[i] = part.share end
    repeat -- one of each size in turn, so that equal ones do not follow each other where they need not
        local placed = false
        for i, part in ipairs(mix) do
            if rest[i] > 0 then
                if slot == 16 then error("a mix has at most 16 frames", 0) end
                pktgen.seqTable(slot, port, {
                    eth_dst_addr = dst_mac, eth_src_addr = "0200:0000:0002", ip_dst_addr = "198.18.0.1",
                    ip_src_addr = "198.19.0.1/16", sport = 49184, dport = 9, ethType = "ipv4", ipProto = "udp",
                    vlanid = 1, pktSize = part.size, teid = 0, gtpu_teid = 0, cos = 0, tos = 0, tcp_flags = ""})
                slot, rest[i], placed = slot + 1, rest[i] - 1, true
            end
        end
    until not placed
    pktgen.set(port, "seq_cnt", slot)
end

-- The mean size of a mix, in bytes with CRC.
function P.mix_bytes(mix)
    local bytes, frames = 0, 0
    for _, part in ipairs(mix) do bytes, frames = bytes + part.size * part.share, frames + part.share end
    return bytes / frames
end

-- Has the port count up source and destination, in so many flows; RFC 2544, appendix C, has the addresses.
function P.flows_set(port, flows, dst_mac, dst_ip, dst_port)
    local address = function(n) return string.format("198.19.%d.%d", n >> 8 & 255, n & 255) end
    local range = pktgen.range
    if flows < 1 or flows > 65536 then error("flows=" .. flows .. ": 1 to 65536", 0) end
    pktgen.set_proto(port, "udp")
    range.dst_mac(port, "start", dst_mac)
    range.dst_ip(port, "start", dst_ip)
    range.dst_ip(port, "inc", "0.0.0.0")
    range.dst_ip(port, "min", dst_ip)
    range.dst_ip(port, "max", dst_ip)
    range.src_ip(port, "start", address(0))
    range.src_ip(port, "inc", flows > 1 and "0.0.0.1" or "0.0.0.0")
    range.src_ip(port, "min", address(0))
    range.src_ip(port, "max", address(flows - 1))
    for _, field in ipairs{"start", "min", "max"} do
        range.dst_port(port, field, dst_port)
        range.src_port(port, field, 49184)
    end
    range.dst_port(port, "inc", 0)
    range.src_port(port, "inc", 0)
    pktgen.set_range(port, "on")
end

-- Sets the one size of frames in flows_set's range.
function P.flows_size(port, size)
    for _, field in ipairs{"start", "min", "max"} do pktgen.range.pkt_size(port, field, size) end
    pktgen.range.pkt_size(port, "inc", 0)
end

-- Latencies of the stamped frames that arrived at a port, in us: {frames, min_us, max_us}, or nil if
-- this Pktgen does not tell scripts (22.07, 26.02).
function P.latency(port)
    if pktgen.pktStats == nil then return nil end
    local l = pktgen.pktStats(port)[tonumber(port)].latency
    return l and {frames = l.num_pkts, min_us = l.min_us, max_us = l.max_us}
end

-- Runs a script's main function: an error is a line on stderr and in the results, and Pktgen ends. Its
-- exit status is 0 even then, so the results say how it went.
function P.main(results, f)
    local ok, message = pcall(f)
    if not ok then
        io.stderr:write("pktgen: ", tostring(message), "\n")
        results:write("error: ", tostring(message), "\n")
    end
    results:close()
    pktgen.quit()
end

return P
