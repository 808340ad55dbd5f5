-- SPDX-License-Identifier: BSD-3-Clause
--
-- A Pktgen of two ports without packets, for pktgen_test.py:
--     lua5.3 pktgen_fake.lua API SCRIPT CAPACITY_PPS
-- API: old (22.07 to 25.x) or new (26.01 on), as Pktgen's sources have them. Runs SCRIPT as Pktgen would. Of
-- more than CAPACITY_PPS frames a second the rest is lost. What the real one refuses ends with an error.

local api, script, capacity_pps = arg[1], arg[2], tonumber(arg[3])
local HZ, BURST, LINK_MBPS = 2.0e9, 64, 100000

local function port_new()
    return {size = 60, rate = 100, cycles = 0, count = 0, sending = false, sent = 0, received = 0, seen = nil, left = 0,
            range = false, seq_cnt = 0, seq = {}, links = 0}
end
local ports = {[0] = port_new(), [1] = port_new()}
local now_ms, refreshed_ms = 0, 0
local quits = false

local function each(list)
    return ports[assert(tonumber(list), "the fake knows single ports only: " .. tostring(list))]
end

local function size_bytes(p)
    if p.seq_cnt == 0 then return p.size end
    local sum = 0
    for i = 0, p.seq_cnt - 1 do sum = sum + p.seq[i].pktSize - 4 end
    return sum / p.seq_cnt
end

local function rate_update(p)
    local pps = math.floor(LINK_MBPS * 1e6 / ((size_bytes(p) + 24) * 8) * p.rate / 100)
    p.pps = pps
    p.cycles = (pps > 0 and HZ // pps or HZ) * BURST
end
for _, p in pairs(ports) do rate_update(p) end

local function refresh()
    for _, p in pairs(ports) do p.seen = {opackets = p.sent, ipackets = p.received} end
end
refresh()

local function advance(ms)
    now_ms = now_ms + ms
    for i, p in pairs(ports) do
        if p.sending then
            local pps = BURST * HZ / p.cycles
            local n = math.floor(pps * ms / 1000)
            if p.limited then n = math.min(n, p.left) end
            p.left, p.sent = p.left - n, p.sent + n
            local other = ports[tonumber(os.getenv("FAKE_PEER") or i)]
            other.received = other.received + math.floor(math.min(n, n * capacity_pps / pps))
            if p.limited and p.left == 0 then p.sending = false end
        end
    end
    if now_ms - refreshed_ms >= 1000 then -- the counters are read once a second
        refreshed_ms = now_ms
        refresh()
    end
end

local function stats(p)
    return {opackets = p.seen.opackets, ipackets = p.seen.ipackets, obytes = 0, ibytes = 0, ierrors = 0, oerrors = 0,
            imissed = 0, rx_nombuf = 0}
end

local setters = {
    size = function(p, v) p.size = math.max(v, 64) - 4; rate_update(p) end,
    rate = function(p, v) assert(type(v) == "string", "rate is a string"); p.rate = tonumber(v); rate_update(p) end,
    cycles = function(p, v) assert(math.type(v) == "integer", "cycles have no fraction"); p.cycles = v end,
    count = function(p, v) assert(math.type(v) == "integer", "count has no fraction"); p.count = v end,
    seq_cnt = function(p, v) p.seq_cnt = v; rate_update(p) end,
}

local function range_setter(port, field, value)
    assert(({start = 1, inc = 1, min = 1, max = 1})[field], "no such field: " .. field)
    assert(value ~= nil)
    each(port)
end

pktgen = {
    info = {Pktgen_Version = api == "old" and "Pktgen 23.03.0" or "Pktgen 26.02.4"},
    screen = function() end,
    clr = function() for _, p in pairs(ports) do p.sent, p.received = 0, 0 end refresh() end,
    set = function(port, what, value) assert(setters[what], "no such setting: " .. what)(each(port), value) end,
    set_proto = function(port, what) assert(what == "udp"); each(port) end,
    set_mac = function(port, what, mac) assert(what == "dst" and mac:match("%x")); each(port) end,
    set_range = function(port, what) each(port).range = what == "on" end,
    seqTable = function(slot, port, t)
        for _, key in ipairs{"eth_dst_addr", "eth_src_addr", "ip_dst_addr", "ip_src_addr", "ethType", "ipProto"} do
            assert(type(t[key]) == "string", key)
        end
        assert(math.type(slot) == "integer" and slot < 16 and math.type(t.pktSize) == "integer")
        each(port).seq[slot] = t
    end,
    start = function(port)
        local p = each(port)
        p.sending, p.left, p.limited = true, p.count, p.count > 0
    end,
    stop = function(port) each(port).sending = false end,
    delay = function(ms) assert(math.type(ms) == "integer", "delay has no fraction"); advance(ms) end,
    isSending = function(port) return {[tonumber(port)] = each(port).sending and "y" or "n", n = 1} end,
    linkState = function(port)
        local p = each(port)
        p.links = p.links + 1 -- up at the third look
        return {[tonumber(port)] = p.links > 2 and "<UP-" .. LINK_MBPS .. "-FD>" or "<--Down-->", n = 1}
    end,
    portInfo = function(port)
        local p = each(port)
        return {[tonumber(port)] = {info = {tx_burst = BURST, tx_debug = {tx_pps = p.pps, tx_cycles = p.cycles}}}, n = 1}
    end,
    latency = function(port, what) assert(what == "on" or what == "off"); each(port) end,
    quit = function() quits = true end,
    range = setmetatable({}, {__index = function() return range_setter end}),
}
if api == "old" then
    pktgen.portStats = function(port, what)
        assert(what == "port" or what == "rate", "portStats, wrong number of arguments")
        return {[tonumber(port)] = stats(each(port)), n = 1}
    end
    pktgen.pktStats = function(port)
        return {[tonumber(port)] = {latency = {num_pkts = 7, min_us = 1.5, avg_us = 0, max_us = 9.25}}, n = 1}
    end
else
    pktgen.portStats = function(port, ...)
        assert(select("#", ...) == 0, "portStats, wrong number of arguments")
        return {[tonumber(port)] = {curr = stats(each(port)), sizes = {}, qstats = {}}, n = 1}
    end
end

dofile(script)
if os.getenv("FAKE_SIZES") then -- of the frames that port 0 sends by turns
    for i = 0, ports[0].seq_cnt - 1 do io.stderr:write(ports[0].seq[i].pktSize, " ") end
end
if not quits then
    io.stderr:write("the script does not end Pktgen\n")
    os.exit(1)
end
