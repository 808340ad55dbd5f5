-- SPDX-License-Identifier: BSD-3-Clause
-- Wireshark and tshark dissector for Sluice (doc/protocol.md), version 2.
--
-- Copy it to Wireshark's personal Lua plugin folder, or: tshark -X lua_script:sluice.lua
-- Packets are found by their UDP port (a preference, 47800 by default). Lengths are checked before
-- fields, and what every host would refuse carries an expert item named after the host's verdict. A
-- host without keys also refuses sealed packets and handshakes, which are not called bad here. Units
-- sent again, units reported missing and grants that change carry remarks (sluice.retransmission,
-- sluice.nak, sluice.grant_change). Sealed packets are dissected too, but for the payload, which is
-- encrypted. With the key log of a daemon (the preference sluice.key_log_file), tags are checked,
-- and payload is decrypted: only of packets whose details are shown, or where a filter or column
-- asks for them. That needs sluice_ciphers.lua in the same folder.

local sluice = Proto("sluice", "Sluice Transport")

local VERSION = 1
local UNIT_MIN, UNIT_MAX = 64, 65471
local REQUEST_MAX = 4294967296
local RATE_MAX = UInt64.new(0, 65536) -- 2^48
local BURST_MAX = UInt64.new(4294967295, 0)
local SPANS_MAX, REFUSED_MAX = 32, 8
local HEADER_BYTES, DATA_BYTES, CNTL_BYTES, FIRST_BYTES, RCNTL_BYTES = 16, 56, 176, 192, 40
local RCNTL_PROVEN_BYTES = 48
local INIT_BYTES, RESPONSE_BYTES, COOKIE_BYTES = 160, 80, 64
local TRAILER_BYTES, NUMBER_BYTES = 24, 8 -- behind a sealed packet: a number, and the tag
local FIRST, DATA, CNTL, RCNTL, INIT, RESPONSE, COOKIE = 1, 2, 3, 4, 5, 6, 7

local types = { [FIRST] = "FIRST", [DATA] = "DATA", [CNTL] = "CNTL", [RCNTL] = "RCNTL",
                [INIT] = "INIT", [RESPONSE] = "RESPONSE", [COOKIE] = "COOKIE" }
local sealable = { [FIRST] = true, [DATA] = true, [CNTL] = true }
local ends = { [0] = "normal close", [1] = "abort", [2] = "nobody", [3] = "silence",
               [4] = "protocol", [5] = "shutdown" }
local refusals = { [1] = "too long" }

-- Bit by bit, the lowest first; which flags each type may carry is written the same way.
local flag_names = { "SREQ", "DREQ", "WCLOSE", "RCLOSE", "END", "PACK", "EARLY", "REPEAT" }
local flags_allowed = {
    [FIRST] = { EARLY = true },
    [DATA] = { SREQ = true, DREQ = true, WCLOSE = true, PACK = true, EARLY = true, REPEAT = true },
    [CNTL] = { SREQ = true, DREQ = true, WCLOSE = true, RCLOSE = true, END = true, PACK = true,
               EARLY = true },
    [RCNTL] = {},
    [INIT] = {},
    [RESPONSE] = {},
    [COOKIE] = {},
}

local fields, experts = {}, {}

local function field(kind, abbrev, name, ...)
    local f = ProtoField[kind]("sluice." .. abbrev, name, ...)
    fields[#fields + 1] = f
    return f
end

local function expert_new(abbrev, text, group, severity)
    local e = ProtoExpert.new("sluice." .. abbrev, text, expert.group[group],
                              expert.severity[severity])
    experts[#experts + 1] = e
    return e
end

local function problem(abbrev, text)
    return expert_new(abbrev, text, "PROTOCOL", "ERROR")
end

-- The common header.
local f_version = field("uint8", "version", "Version", base.DEC, nil, 0xf0)
local f_type = field("uint8", "type", "Type", base.DEC, types, 0x0f)
local f_flags = field("uint8", "flags", "Flags", base.HEX)
local f_flag = {}
for i, name in ipairs(flag_names) do
    f_flag[i] = field("bool", "flags." .. name:lower(), name, 8, nil, 2 ^ (i - 1))
end
local f_path = field("uint8", "path", "Path id", base.DEC)
local f_reserved = field("bytes", "reserved", "Reserved")
local f_association = field("uint32", "association", "Association", base.HEX)
local f_key = field("uint64", "key", "Key", base.HEX)

-- {field, offset, bytes}, as in doc/protocol.md.
local first_fields = {
    { field("uint32", "first.initial_request", "Initial request"), 16, 4 },
    { field("uint32", "first.unit_max", "Largest unit (bytes)"), 20, 4 },
    { field("uint16", "first.service", "Service"), 24, 2 },
    { field("uint16", "first.capabilities", "Capabilities", base.HEX), 26, 2 },
    { field("uint32", "first.ahead", "Requests ahead of posted"), 28, 4 },
    { field("uint64", "first.rate_req", "Requested rate (bytes/s)"), 32, 8 },
    { field("uint64", "first.burst_req", "Requested burst (bytes)"), 40, 8 },
    { field("uint64", "first.time", "Time (ns)"), 48, 8 },
    { field("uint64", "first.cookie", "Cookie", base.HEX), 56, 8 },
    { field("uint32", "first.silence", "Silence limit (ms)"), 64, 4 },
    { field("uint32", "first.answer_request", "Initial request of the answer"), 68, 4 },
    { field("bytes", "first.padding", "Padding"), 72, 120 },
}

local data_fields = {
    { field("uint64", "data.packet", "Packet number"), 16, 8 },
    { field("uint64", "data.time", "Time (ns)"), 24, 8 },
    { field("uint32", "data.request", "Request"), 32, 4 },
    { field("uint32", "data.unit", "Unit"), 36, 4 },
    { field("uint64", "data.request_len", "Request length (bytes)"), 40, 8 },
    { field("uint32", "data.unit_bytes", "Unit size (bytes)"), 48, 4 },
    { field("uint32", "data.cntl_seen", "Newest CNTL seen"), 52, 4 },
}
local f_units = field("uint32", "data.units", "Units of the request")
local f_offset = field("uint64", "data.offset", "Offset in the request (bytes)")
local f_payload = field("bytes", "data.payload", "Payload")
local f_encrypted = field("bytes", "data.encrypted", "Payload, encrypted")

-- A fourth entry, true, marks a position: request << 32 | unit.
local cntl_fields = {
    { field("uint64", "cntl.own_key", "Key the speaker wants to see", base.HEX), 16, 8 },
    { field("uint32", "cntl.seq", "Sequence number"), 24, 4 },
    { field("uint32", "cntl.cntl_seen", "Newest CNTL seen"), 28, 4 },
    { field("uint64", "cntl.rate", "Granted rate (bytes/s)"), 32, 8 },
    { field("uint32", "cntl.burst", "Granted burst (bytes)"), 40, 4 },
    { field("uint16", "cntl.reason", "Reason of the grant"), 44, 2 },
    { field("uint8", "cntl.occupancy", "Occupancy of posted buffers (0-255)"), 46, 1 },
    { field("uint8", "cntl.refused_count", "Refused requests"), 47, 1 },
    { field("uint64", "cntl.peak", "Peak rate (bytes/s)"), 48, 8 },
    { field("uint64", "cntl.ack", "All placed before", base.HEX), 56, 8, true },
    { field("uint32", "cntl.posted", "Receive buffers before request"), 64, 4 },
    { field("uint32", "cntl.close_request", "Request after the last"), 68, 4 },
    { field("uint64", "cntl.sent", "All sent before", base.HEX), 72, 8, true },
    { field("uint64", "cntl.backlog", "Backlog (bytes)"), 80, 8 },
    { field("uint64", "cntl.received", "Packets received"), 88, 8 },
    { field("uint64", "cntl.time", "Time (ns)"), 96, 8 },
    { field("uint64", "cntl.echo", "Newest time of the peer (ns)"), 104, 8 },
    { field("uint32", "cntl.echo_held", "Held for (ns)"), 112, 4 },
    { field("uint32", "cntl.unit_max", "Largest unit (bytes)"), 116, 4 },
    { field("uint32", "cntl.initial_request", "Initial request"), 120, 4 },
    { field("uint16", "cntl.capabilities", "Capabilities", base.HEX), 124, 2 },
    { field("uint16", "cntl.end", "Reason of the end", base.DEC, ends), 126, 2 },
    { field("uint32", "cntl.ecn_ce", "Packets with CE"), 128, 4 },
    { field("uint32", "cntl.ecn_ect", "Packets with ECT"), 132, 4 },
    { field("uint64", "cntl.lost", "Packets missing"), 136, 8 },
    { field("uint64", "cntl.cookie", "Cookie", base.HEX), 144, 8 },
    { field("uint8", "cntl.span_count", "Missing spans"), 152, 1 },
    { f_reserved, 153, 3 },
    { field("uint32", "cntl.silence", "Silence limit (ms)"), 156, 4 },
    { field("uint64", "cntl.hop_rate", "Routers' rate (bytes/s)"), 160, 8 },
    { field("uint32", "cntl.hop_burst", "Routers' burst (bytes)"), 168, 4 },
    { field("uint16", "cntl.hop_expiry", "Routers' limit expires after (ms)"), 172, 2 },
    { field("uint16", "cntl.hop_count", "Routers that lowered"), 174, 2 },
}
local f_rate_before = field("uint64", "cntl.rate_before", "Rate granted before (bytes/s)")
local f_burst_before = field("uint32", "cntl.burst_before", "Burst granted before (bytes)")
local f_span = field("none", "cntl.span", "Missing")
local f_span_first = field("uint64", "cntl.span.first", "From", base.HEX)
local f_span_end = field("uint64", "cntl.span.end", "Up to, not including", base.HEX)
local f_refused = field("none", "cntl.refused", "Refused")
local f_refused_request = field("uint32", "cntl.refused.request", "Request")
local f_refused_reason = field("uint16", "cntl.refused.reason", "Reason", base.DEC, refusals)

local rcntl_fields = {
    { field("uint64", "rcntl.rate", "Rate (bytes/s)"), 16, 8 },
    { field("uint32", "rcntl.burst", "Burst (bytes)"), 24, 4 },
    { field("uint16", "rcntl.expiry", "Expires after (ms)"), 28, 2 },
    { field("uint16", "rcntl.hop", "Hop"), 30, 2 },
    { field("uint64", "rcntl.time", "Router's time (ns)"), 32, 8 },
}
local rcntl_proof = { { field("uint64", "rcntl.proof", "First half of a CNTL's tag", base.HEX), 40, 8 } }

-- Noise's messages are shown in their parts: what is sealed is as long as its text and a tag.
local init_fields = {
    { field("bytes", "init.ephemeral", "Initiator's ephemeral public key"), 16, 32 },
    { field("bytes", "init.static", "Initiator's public key, sealed"), 48, 48 },
    { field("bytes", "init.offer", "Time, association and ciphers, sealed"), 96, 32 },
    { field("bytes", "init.mac1", "mac1 (knows the responder's key)"), 128, 16 },
    { field("bytes", "init.mac2", "mac2 (has a cookie)"), 144, 16 },
}
local response_fields = {
    { field("bytes", "response.ephemeral", "Responder's ephemeral public key"), 16, 32 },
    { field("bytes", "response.choice", "Association and cipher, sealed"), 48, 32 },
}
local cookie_fields = {
    { field("bytes", "cookie.nonce", "Nonce"), 16, 12 },
    { f_reserved, 28, 4 },
    { field("bytes", "cookie.cookie", "Cookie, sealed"), 32, 16 },
    { field("bytes", "cookie.tag", "Tag"), 48, 16 },
}

-- The trailer of sealed packets.
local f_trailer = field("none", "trailer", "Trailer")
local f_number = field("uint64", "trailer.number", "Number", base.HEX)
local f_worker = field("uint8", "trailer.worker", "Worker", base.DEC)
local f_is_first = field("bool", "trailer.first", "Of a FIRST", 8, nil, 0x80)
local f_count = field("uint64", "trailer.count", "Count", base.DEC)
local COUNT_MASK = UInt64.new(4294967295, 0x007fffff) -- without the FIRST bit
local f_tag = field("bytes", "trailer.tag", "Tag")
local f_tag_right = field("bool", "trailer.tag_right", "Tag is right, by the key log")

local e_short = problem("short", "Ends inside its header")
local e_version = problem("bad_version", "Unknown version")
local e_type = problem("bad_type", "Unknown type")
local e_security = problem("bad_security", "A packet of this type cannot be sealed")
local e_flags = problem("bad_flags", "A flag this type cannot have, or one it must have is missing")
local e_field = problem("bad_field", "A field beyond its limits")
local e_length = problem("bad_length", "Length does not agree with the fields")
local e_wrong_key = expert_new("wrong_key", "Wrong key or damaged", "DECRYPTION", "ERROR")
-- What goes on, none of it wrong.
local e_repeat = expert_new("retransmission", "A unit that was sent before", "SEQUENCE", "NOTE")
local e_nak = expert_new("nak", "Units are missing", "SEQUENCE", "NOTE")
local e_grant = expert_new("grant_change", "Another grant than before", "SEQUENCE", "CHAT")
local e_no_key = expert_new("no_key", "The key log has no key", "DECRYPTION", "NOTE")

sluice.fields = fields
sluice.experts = experts
sluice.prefs.ports = Pref.range("UDP ports", "47800", "UDP ports on which Sluice hosts listen",
                                65535)
sluice.prefs.key_log_file = Pref.string("Key log", "",
                                        "The file that key_log_file in [daemon] of a daemon's " ..
                                            "configuration names (doc/capture.md)")

local function position_text(tvb, offset)
    return string.format("request %.0f unit %.0f", tvb(offset, 4):uint(), tvb(offset + 4, 4):uint())
end

local function tree_add(tree, tvb, list)
    for _, entry in ipairs(list) do
        local item = tree:add(entry[1], tvb(entry[2], entry[3]))
        if entry[4] then
            item:append_text(" (" .. position_text(tvb, entry[2]) .. ")")
        end
    end
end

-- Shows the header; returns the type where the rest can be read, with the names of its flags.
local function header_dissect(tvb, tree)
    local version, kind = tvb(0, 1):bitfield(0, 4), tvb(0, 1):bitfield(4, 4)
    local names = {}

    tree:add(f_version, tvb(0, 1))
    tree:add(f_type, tvb(0, 1))
    local flags = tree:add(f_flags, tvb(1, 1))
    local legal = kind ~= FIRST or tvb(1, 1):bitfield(1, 1) == 1
    for i, name in ipairs(flag_names) do
        flags:add(f_flag[i], tvb(1, 1))
        if tvb(1, 1):bitfield(8 - i, 1) == 1 then
            names[#names + 1] = name
            legal = legal and flags_allowed[kind] ~= nil and flags_allowed[kind][name] == true
        end
    end
    flags:append_text(" (" .. table.concat(names, ", ") .. ")")
    tree:add(f_path, tvb(2, 1))
    tree:add(f_reserved, tvb(3, 1))
    local association = tree:add(f_association, tvb(4, 4))
    local key = tree:add(f_key, tvb(8, 8))
    if version ~= VERSION then
        tree:add_proto_expert_info(e_version)
        return nil, names
    end
    if types[kind] == nil then
        tree:add_proto_expert_info(e_type)
        return nil, names
    end
    if tvb(4, 4):uint() ~= 0 and not sealable[kind] then
        association:add_proto_expert_info(e_security)
        return nil, names
    end
    if not legal then
        flags:add_proto_expert_info(e_flags)
    end
    if tvb(8, 8):uint64() == UInt64(0) then
        key:add_proto_expert_info(e_field)
    end
    return kind, names
end

local function unit_ok(unit, unit_bytes, request_len)
    return unit_bytes >= UNIT_MIN and unit_bytes <= UNIT_MAX and request_len <= REQUEST_MAX and
               (unit == 0 or unit * unit_bytes < request_len)
end

local function data_dissect(tvb, len, tree)
    local unit, unit_bytes = tvb(36, 4):uint(), tvb(48, 4):uint()
    local request_len = tvb(40, 8):uint64():tonumber()
    local units = "?"

    tree_add(tree, tvb, data_fields)
    if tvb(1, 1):bitfield(0, 1) == 1 then
        tree:add_proto_expert_info(e_repeat)
    end
    if not unit_ok(unit, unit_bytes, request_len) then
        tree:add_proto_expert_info(e_field)
    else
        local offset = unit * unit_bytes
        units = math.max(1, math.ceil(request_len / unit_bytes))
        tree:add(f_units, tvb(40, 12), units):set_generated()
        tree:add(f_offset, tvb(36, 16), UInt64.new(offset, 0)):set_generated()
        if len - DATA_BYTES ~= math.min(unit_bytes, request_len - offset) then
            tree:add_proto_expert_info(e_length)
        end
    end
    if tvb:len() > DATA_BYTES then
        local sealed = tvb(4, 4):uint() ~= 0
        tree:add(sealed and f_encrypted or f_payload, tvb(DATA_BYTES))
    end
    return string.format("request %.0f unit %.0f/%s len %.0f", tvb(32, 4):uint(), unit,
                         tostring(units), len - DATA_BYTES)
end

-- Distances from the first span's start are plain numbers, whatever wraps.
local function spans_dissect(tvb, tree, spans)
    local base, previous = nil, UInt64(0)

    for i = 1, spans do
        local at = CNTL_BYTES + 16 * (i - 1)
        local span = tree:add(f_span, tvb(at, 16))
        local text = position_text(tvb, at) .. " up to " .. position_text(tvb, at + 8)
        span:append_text(": " .. text)
        span:add(f_span_first, tvb(at, 8))
        span:add(f_span_end, tvb(at + 8, 8))
        base = base or tvb(at, 8):uint64()
        local from, to = tvb(at, 8):uint64() - base, tvb(at + 8, 8):uint64() - base
        if from < previous or to <= from or to:higher() >= 2147483648 then
            span:add_proto_expert_info(e_field)
        end
        previous = to
    end
end

local function refused_dissect(tvb, tree, at, refused)
    for _ = 1, refused do
        local item = tree:add(f_refused, tvb(at, 8))
        item:append_text(": request " .. tvb(at, 4):uint())
        item:add(f_refused_request, tvb(at, 4))
        item:add(f_refused_reason, tvb(at + 4, 2))
        item:add(f_reserved, tvb(at + 6, 2))
        at = at + 8
    end
end

local function unit_max_ok(unit_max)
    return unit_max >= UNIT_MIN and unit_max <= UNIT_MAX
end

local function cntl_ok(tvb)
    return tvb(152, 1):uint() <= SPANS_MAX and tvb(47, 1):uint() <= REFUSED_MAX and
               tvb(126, 2):uint() <= 5 and tvb(16, 8):uint64() ~= UInt64(0) and
               tvb(24, 4):uint() ~= 0 and unit_max_ok(tvb(116, 4):uint()) and
               tvb(32, 8):uint64() <= RATE_MAX and tvb(48, 8):uint64() <= RATE_MAX and
               tvb(160, 8):uint64() <= RATE_MAX
end

-- The newest grant of each speaker's connection, and per frame the one that it replaced: frames are
-- looked at again in any order, but first in the capture's.
local grants, replaced = {}, {}

-- CNTL packets may overtake each other; only newer ones count.
local function grant_follow(tvb, pinfo)
    local id = tostring(pinfo.src) .. " " .. tvb(16, 8):uint64():tohex()
    local new = { seq = tvb(24, 4):uint(), rate = tvb(32, 8):uint64(), burst = tvb(40, 4):uint() }
    local old = grants[id]

    if old ~= nil and ((new.seq - old.seq) % 4294967296 == 0 or
                       (new.seq - old.seq) % 4294967296 >= 2147483648) then
        return
    end
    if old ~= nil and (old.rate ~= new.rate or old.burst ~= new.burst) then
        replaced[pinfo.number] = old
    end
    grants[id] = new
end

local function grant_remark(tvb, pinfo, tree)
    if not pinfo.visited then
        grant_follow(tvb, pinfo)
    end
    local old = replaced[pinfo.number]
    if old ~= nil then
        local item = tree:add(f_rate_before, tvb(32, 8), old.rate):set_generated()
        tree:add(f_burst_before, tvb(40, 4), old.burst):set_generated()
        item:add_proto_expert_info(e_grant, string.format(
            "Grant changed: rate %s to %s bytes/s, burst %.0f to %.0f bytes", tostring(old.rate),
            tostring(tvb(32, 8):uint64()), old.burst, tvb(40, 4):uint()))
    end
end

local function cntl_dissect(tvb, len, tree, pinfo)
    local spans, refused = tvb(152, 1):uint(), tvb(47, 1):uint()
    local exact = CNTL_BYTES + 16 * spans + 8 * refused

    tree_add(tree, tvb, cntl_fields)
    if cntl_ok(tvb) then
        grant_remark(tvb, pinfo, tree)
    else
        tree:add_proto_expert_info(e_field)
    end
    if spans <= SPANS_MAX and refused <= REFUSED_MAX then
        if len ~= exact then
            tree:add_proto_expert_info(len < exact and e_short or e_length)
        end
        if tvb:len() >= exact then
            spans_dissect(tvb, tree, spans)
            if spans > 0 then
                tree:add_proto_expert_info(e_nak, string.format(
                    "%d span(s) missing, the first at %s", spans, position_text(tvb, CNTL_BYTES)))
            end
            refused_dissect(tvb, tree, CNTL_BYTES + 16 * spans, refused)
        end
    end
    return string.format("seq %.0f rate %s ack (%s)", tvb(24, 4):uint(),
                         tostring(tvb(32, 8):uint64()), position_text(tvb, 56))
end

local function first_dissect(tvb, _, tree)
    tree_add(tree, tvb, first_fields)
    if tvb(24, 2):uint() == 0 or not unit_max_ok(tvb(20, 4):uint()) or
        tvb(32, 8):uint64() > RATE_MAX or tvb(40, 8):uint64() > BURST_MAX then
        tree:add_proto_expert_info(e_field)
    end
    return string.format("service %.0f rate %s", tvb(24, 2):uint(), tostring(tvb(32, 8):uint64()))
end

local function rcntl_dissect(tvb, _, tree)
    tree_add(tree, tvb, rcntl_fields)
    if tvb:len() >= RCNTL_PROVEN_BYTES then
        tree_add(tree, tvb, rcntl_proof)
    end
    if tvb(28, 2):uint() == 0 or tvb(16, 8):uint64() > RATE_MAX then
        tree:add_proto_expert_info(e_field)
    end
    return string.format("hop %.0f rate %s", tvb(30, 2):uint(), tostring(tvb(16, 8):uint64()))
end

-- INIT, RESPONSE and COOKIE of one handshake have the same key.
local function handshake_dissector(list)
    return function(tvb, _, tree)
        tree_add(tree, tvb, list)
        return "handshake " .. tvb(8, 8):uint64():tohex()
    end
end

-- The least length of each type, and what shows the rest. If not every greater length is allowed: the
-- only one that is.
local bodies = {
    [FIRST] = { FIRST_BYTES, first_dissect },
    [DATA] = { DATA_BYTES, data_dissect },
    [CNTL] = { CNTL_BYTES, cntl_dissect },
    [RCNTL] = { RCNTL_BYTES, rcntl_dissect, RCNTL_PROVEN_BYTES },
    [INIT] = { INIT_BYTES, handshake_dissector(init_fields), INIT_BYTES },
    [RESPONSE] = { RESPONSE_BYTES, handshake_dissector(response_fields), RESPONSE_BYTES },
    [COOKIE] = { COOKIE_BYTES, handshake_dissector(cookie_fields), COOKIE_BYTES },
}

-- Shows the trailer, which starts at this offset, as far as it was captured.
local function trailer_dissect(tvb, at, tree)
    if tvb:len() < at + NUMBER_BYTES then
        return
    end
    local trailer = tree:add(f_trailer, tvb(at))
    local number = trailer:add(f_number, tvb(at, NUMBER_BYTES))
    number:add(f_worker, tvb(at, 1))
    number:add(f_is_first, tvb(at + 1, 1))
    number:add(f_count, tvb(at + 1, 7), tvb(at, NUMBER_BYTES):uint64():band(COUNT_MASK))
    if tvb:len() > at + NUMBER_BYTES then
        trailer:add(f_tag, tvb(at + NUMBER_BYTES))
    end
end

-- ---- the key log -------------------------------------------------------------------------------

local have_ciphers, ciphers = pcall(require, "sluice_ciphers")

-- keys: by the association's number, a list of {cipher, bytes of the key, and the expanded key,
-- once it was used}. Numbers are random, so hardly ever have two associations the same; the tag
-- tells them apart. read_bytes: of the log, so far.
local key_log = { keys = {}, read_bytes = 0 }

-- What was decrypted, by the number of the frame: Wireshark shows a packet again and again.
local OPENED_MAX_BYTES = 67108864
local opened, opened_bytes = {}, 0

local function from_hex(text)
    return (text:gsub("%x%x", function(digits) return string.char(tonumber(digits, 16)) end))
end

-- Any other line is a remark, or was cut by a full disk.
local function key_log_line(line)
    local number, cipher, digits = line:match("^KEY %S+ (%x+) (%S+) %S+ %S+ (%x+)%s*$")
    local bytes = digits and #digits % 2 == 0 and from_hex(digits)

    if not bytes or #number ~= 8 or not ciphers.has(cipher, #bytes) then
        return
    end
    local list = key_log.keys[tonumber(number, 16)] or {}
    key_log.keys[tonumber(number, 16)] = list
    for _, key in ipairs(list) do
        if key.cipher == cipher and key.bytes == bytes then -- both hosts' logs in one file
            return
        end
    end
    list[#list + 1] = { cipher = cipher, bytes = bytes }
end

-- Reads the lines that the log has got since the last time: it grows during a live capture. Returns
-- what is wrong, or nil.
local function key_log_read()
    local file, why = io.open(sluice.prefs.key_log_file, "rb")

    if file == nil then
        return "The key log cannot be read: " .. why
    end
    if file:seek("end") < key_log.read_bytes then
        key_log = { keys = {}, read_bytes = 0 }
    end
    file:seek("set", key_log.read_bytes)
    local text = file:read("*a") or ""
    file:close()
    for line in text:gmatch("([^\n]*)\n") do
        key_log_line(line)
        key_log.read_bytes = key_log.read_bytes + #line + 1
    end
    return nil
end

-- The keys of an association, or nil and what is wrong.
local function key_log_find(number)
    local why = nil

    if not have_ciphers then
        return nil, "sluice_ciphers.lua is missing: put it beside sluice.lua"
    end
    if key_log.keys[number] == nil then
        why = key_log_read()
    end
    return key_log.keys[number], why or "The key log has no key of this association"
end

local function key_log_forget()
    key_log = { keys = {}, read_bytes = 0 }
    opened, opened_bytes = {}, 0
end

function sluice.init()
    grants, replaced = {}, {}
    key_log_forget()
end

local addresses = { { Field.new("ip.src"), Field.new("ip.dst"), ("\0"):rep(10) .. "\255\255" },
                    { Field.new("ipv6.src"), Field.new("ipv6.dst"), "" } }

local function port_bytes(port)
    return string.char(math.floor(port / 256), port % 256)
end

-- What the tag covers besides encrypted bytes (doc/protocol.md, section 11): a list, as a packet in
-- a tunnel may have addresses of both families.
local function associated_of(kind, tvb, len, pinfo)
    local list, packet = {}, tvb:raw(0, kind == DATA and DATA_BYTES or len)

    if kind == DATA then
        return { packet }
    end
    if kind == CNTL then -- routers may write there
        packet = packet:sub(1, 160) .. ("\0"):rep(16) .. packet:sub(177)
    end
    for _, family in ipairs(addresses) do
        local from, to = { family[1]() }, { family[2]() }
        if #from > 0 and #to > 0 then
            list[#list + 1] = family[3] .. from[#from].range:raw() .. family[3] ..
                                  to[#to].range:raw() .. port_bytes(pinfo.src_port) ..
                                  port_bytes(pinfo.dst_port) .. packet
        end
    end
    return list
end

-- The bytes that were encrypted, as a string, if one of these keys opens the packet; else nil.
local function packet_open(keys, kind, tvb, len, pinfo)
    local from = kind == DATA and DATA_BYTES or len
    local sealed = len > from and tvb:raw(from, len - from) or ""
    local nonce = ("\0"):rep(4) .. tvb:raw(len, NUMBER_BYTES)
    local tag = tvb:raw(len + NUMBER_BYTES, TRAILER_BYTES - NUMBER_BYTES)

    for _, key in ipairs(keys) do
        key.expanded = key.expanded or ciphers.key(key.cipher, key.bytes)
        for _, associated in ipairs(associated_of(kind, tvb, len, pinfo)) do
            local text = key.expanded:open(nonce, associated, sealed, tag)
            if text ~= nil then
                return text
            end
        end
    end
    return nil
end

-- packet_open(), or what it found before.
local function packet_opened(keys, kind, tvb, len, pinfo)
    local text = opened[pinfo.number]

    if text == nil then
        text = packet_open(keys, kind, tvb, len, pinfo)
        opened_bytes = opened_bytes + #(text or "")
        if opened_bytes > OPENED_MAX_BYTES then
            opened, opened_bytes = {}, #(text or "")
        end
        opened[pinfo.number] = text
    end
    return text
end

-- Checks the tag of a sealed packet that was captured whole, and shows what was encrypted. Nothing
-- of a packet with a wrong tag is decrypted.
local function opened_dissect(kind, tvb, len, tree, pinfo)
    if sluice.prefs.key_log_file == "" or len < bodies[kind][1] or
        tvb:len() < len + TRAILER_BYTES or
        not (tree:referenced(f_payload) or tree:referenced(f_tag_right)) then
        return
    end
    local keys, why = key_log_find(tvb(4, 4):uint())
    if keys == nil then
        tree:add_proto_expert_info(e_no_key, why)
        return
    end
    local text = packet_opened(keys, kind, tvb, len, pinfo)
    local right = tree:add(f_tag_right, tvb(len + NUMBER_BYTES), text ~= nil):set_generated()
    if text == nil then
        right:add_proto_expert_info(e_wrong_key)
    elseif #text > 0 then
        tree:add(f_payload, ByteArray.new(text, true):tvb("Decrypted payload")())
    end
end

-- What to say where fewer bytes than the least were sent or captured, or nil.
local function lack(tvb, len, least, tree)
    if len < least then
        tree:add_proto_expert_info(e_short)
        return "too short"
    end
    return tvb:len() < least and "not captured whole" or nil
end

-- Shows what follows the header, and returns a line about it. len is what was sent, without the
-- trailer.
local function body_dissect(kind, tvb, len, tree, pinfo)
    local least, dissect, greater = bodies[kind][1], bodies[kind][2], bodies[kind][3]

    local lacking = lack(tvb, len, least, tree)
    if lacking then
        return lacking
    end
    if greater and len ~= least and len ~= greater then
        tree:add_proto_expert_info(e_length)
    end
    return dissect(tvb(0, math.min(len, tvb:len())):tvb(), len, tree, pinfo)
end

-- A capture may hold less than what was sent (snap length).
function sluice.dissector(tvb, pinfo, root)
    local len = tvb:reported_len()
    local tree = root:add(sluice, tvb())

    pinfo.cols.protocol = "Sluice"
    local lacking = lack(tvb, len, HEADER_BYTES, tree)
    if lacking then
        pinfo.cols.info = lacking
        return
    end
    local kind, names = header_dissect(tvb, tree)
    if kind == nil then
        pinfo.cols.info = "not a packet of version 1 or 2"
        return
    end
    local sealed = tvb(4, 4):uint() ~= 0
    if sealed then
        len = len - TRAILER_BYTES
    end
    if kind == FIRST then -- what is behind it, and its trailer, is padding
        len = math.min(len, FIRST_BYTES)
    end
    local text = types[kind] .. " " .. body_dissect(kind, tvb, len, tree, pinfo)
    if sealed and len >= HEADER_BYTES then
        trailer_dissect(tvb, len, tree)
        opened_dissect(kind, tvb, len, tree, pinfo)
        text = text .. " sealed"
    end
    if #names > 0 then
        text = text .. " [" .. table.concat(names, " ") .. "]"
    end
    tree:append_text(", " .. text)
    pinfo.cols.info = text
end

local udp_ports = DissectorTable.get("udp.port")
local registered = sluice.prefs.ports

udp_ports:add(registered, sluice)

function sluice.prefs_changed()
    key_log_forget()
    if registered ~= sluice.prefs.ports then
        udp_ports:remove(registered, sluice)
        registered = sluice.prefs.ports
        udp_ports:add(registered, sluice)
    end
end
