-- SPDX-License-Identifier: BSD-3-Clause
-- The ciphers of sealed packets, for sluice.lua, which loads this file from its own folder:
-- AES-GCM ([FIPS 197], [NIST SP 800-38D]) and ChaCha20-Poly1305 ([RFC 8439]). Wireshark's Lua has
-- none of its own. Nothing here uses Wireshark; on its own, the file does nothing.
--
--   local key = ciphers.key("AES-128-GCM", bytes)        nil: no such cipher, or another length
--   local text = key:open(nonce, associated, sealed, tag) nil: wrong key, or a changed packet
--
-- All of these are strings of bytes. What open() returns is always what was sealed: the tag is
-- compared before anything is decrypted. It takes about a millisecond for a kilobyte. Times depend
-- on keys and bytes: use it for keys that stand in a file anyway.
--
-- Words are numbers from 0 to 2^32 - 1. Lua 5.2 computes with them through bit32, later ones have
-- operators, which Lua 5.2 cannot even parse.

local ciphers = {}

local bits = bit32 or load([[
    return {
        band = function(a, b) return a & b end,
        bxor = function(a, b, c, d, e)
            return (a ~ b ~ (c or 0) ~ (d or 0) ~ (e or 0)) & 0xffffffff
        end,
        lshift = function(a, n) return a << n & 0xffffffff end,
        rshift = function(a, n) return (a & 0xffffffff) >> n end,
        lrotate = function(a, n)
            a = a & 0xffffffff
            return (a << n | a >> 32 - n) & 0xffffffff
        end,
        extract = function(a, n, width) return a >> n & (1 << width) - 1 end,
    }]])()
local band, bxor, lshift, rshift = bits.band, bits.bxor, bits.lshift, bits.rshift
local lrotate, extract = bits.lrotate, bits.extract
local byte, char, floor = string.byte, string.char, math.floor

-- The word whose highest byte is the one at this place of a string.
local function word_at(s, at)
    local a, b, c, d = byte(s, at, at + 3)
    return ((a * 256 + b) * 256 + c) * 256 + d
end

-- The word whose lowest byte is the one at this place.
local function low_word_at(s, at)
    local a, b, c, d = byte(s, at, at + 3)
    return ((d * 256 + c) * 256 + b) * 256 + a
end

local function word_bytes(w)
    return char(rshift(w, 24), extract(w, 16, 8), extract(w, 8, 8), extract(w, 0, 8))
end

local function low_word_bytes(w)
    return char(extract(w, 0, 8), extract(w, 8, 8), extract(w, 16, 8), rshift(w, 24))
end

-- Zeros up to the next multiple of 16 bytes.
local function padded(s)
    return s .. ("\0"):rep(-#s % 16)
end

-- ---- AES: FIPS 197 -----------------------------------------------------------------------------

local sbox = {}
-- Column 1 of MixColumns times the S-box; the other columns are the same, rotated.
local mix0, mix1, mix2, mix3 = {}, {}, {}, {}

-- A byte of GF(2^8) times x (section 4.2.1).
local function double(b)
    return b < 128 and 2 * b or bxor(2 * b, 0x11b)
end

-- The S-box (section 5.1.1): inverses come from powers of 3, which are all bytes but 0.
local function sbox_make()
    local power, log, b = {}, {}, 1

    for i = 0, 254 do
        power[i], log[b] = b, i
        b = bxor(b, double(b))
    end
    for i = 0, 255 do
        local inverse = i == 0 and 0 or power[(255 - log[i]) % 255]
        local twice = inverse * 257 -- rotating the byte is shifting this
        sbox[i] = bxor(bxor(inverse, 0x63), rshift(twice, 4) % 256, rshift(twice, 5) % 256,
                       bxor(rshift(twice, 6) % 256, rshift(twice, 7) % 256))
        local s = sbox[i]
        local column = double(s) * 16777216 + s * 65536 + s * 256 + bxor(s, double(s))
        mix0[i], mix1[i] = column, lrotate(column, 24)
        mix2[i], mix3[i] = lrotate(column, 16), lrotate(column, 8)
    end
end

sbox_make()

local function substituted(a, b, c, d)
    return sbox[rshift(a, 24)] * 16777216 + sbox[extract(b, 16, 8)] * 65536 +
               sbox[extract(c, 8, 8)] * 256 + sbox[extract(d, 0, 8)]
end

-- The key schedule (section 5.2): words from 0 on.
local function aes_expand(key)
    local words, in_key, factor = {}, floor(#key / 4), 1
    local rounds = in_key + 6

    for i = 0, in_key - 1 do
        words[i] = word_at(key, 4 * i + 1)
    end
    for i = in_key, 4 * rounds + 3 do
        local w = words[i - 1]
        if i % in_key == 0 then
            w = lrotate(w, 8)
            w = bxor(substituted(w, w, w, w), lshift(factor, 24))
            factor = double(factor)
        elseif in_key > 6 and i % in_key == 4 then
            w = substituted(w, w, w, w)
        end
        words[i] = bxor(words[i - in_key], w)
    end
    return { words = words, rounds = rounds }
end

-- The block of these four words, encrypted (section 5.1).
local function aes_block(aes, a, b, c, d)
    local w, at = aes.words, 4

    a, b, c, d = bxor(a, w[0]), bxor(b, w[1]), bxor(c, w[2]), bxor(d, w[3])
    for _ = 2, aes.rounds do
        a, b, c, d = bxor(mix0[rshift(a, 24)], mix1[extract(b, 16, 8)], mix2[extract(c, 8, 8)],
                          mix3[extract(d, 0, 8)], w[at]),
                     bxor(mix0[rshift(b, 24)], mix1[extract(c, 16, 8)], mix2[extract(d, 8, 8)],
                          mix3[extract(a, 0, 8)], w[at + 1]),
                     bxor(mix0[rshift(c, 24)], mix1[extract(d, 16, 8)], mix2[extract(a, 8, 8)],
                          mix3[extract(b, 0, 8)], w[at + 2]),
                     bxor(mix0[rshift(d, 24)], mix1[extract(a, 16, 8)], mix2[extract(b, 8, 8)],
                          mix3[extract(c, 0, 8)], w[at + 3])
        at = at + 4
    end
    return bxor(substituted(a, b, c, d), w[at]), bxor(substituted(b, c, d, a), w[at + 1]),
           bxor(substituted(c, d, a, b), w[at + 2]), bxor(substituted(d, a, b, c), w[at + 3])
end

-- ---- GCM: NIST SP 800-38D ----------------------------------------------------------------------

-- The products of the hash key with all values of each byte of a block. tables[p][4 v] to [4 v + 3]
-- is that of value v in byte p (from 0 on). The highest bit of a byte stands for the lowest power
-- (section 6.3).
local function ghash_tables(a, b, c, d)
    local tables = {}

    for p = 0, 15 do
        local t = { [0] = 0, 0, 0, 0 }
        for bit = 7, 0, -1 do
            local at = 4 * 2 ^ bit
            t[at], t[at + 1], t[at + 2], t[at + 3] = a, b, c, d
            local reduction = d % 2 == 1 and 0xe1000000 or 0
            a, b, c, d = bxor(rshift(a, 1), reduction), rshift(b, 1) + a % 2 * 0x80000000,
                         rshift(c, 1) + b % 2 * 0x80000000, rshift(d, 1) + c % 2 * 0x80000000
        end
        for bit = 1, 7 do
            local high = 4 * 2 ^ bit
            for low = 4, high - 4, 4 do
                for i = 0, 3 do
                    t[high + low + i] = bxor(t[high + i], t[low + i])
                end
            end
        end
        tables[p] = t
    end
    return tables
end

-- GHASH (section 6.4) of bytes in whole blocks: four words.
local function ghash(tables, s)
    local y = { 0, 0, 0, 0 }

    for at = 1, #s, 16 do
        local a, b, c, d = 0, 0, 0, 0
        for i = 0, 3 do
            local w = bxor(y[i + 1], word_at(s, at + 4 * i))
            local t0, t1, t2, t3 = tables[4 * i], tables[4 * i + 1], tables[4 * i + 2],
                                   tables[4 * i + 3]
            local v0, v1, v2, v3 = 4 * rshift(w, 24), 4 * extract(w, 16, 8), 4 * extract(w, 8, 8),
                                   4 * extract(w, 0, 8)
            a = bxor(a, t0[v0], t1[v1], t2[v2], t3[v3])
            b = bxor(b, t0[v0 + 1], t1[v1 + 1], t2[v2 + 1], t3[v3 + 1])
            c = bxor(c, t0[v0 + 2], t1[v1 + 2], t2[v2 + 2], t3[v3 + 2])
            d = bxor(d, t0[v0 + 3], t1[v1 + 3], t2[v2 + 3], t3[v3 + 3])
        end
        y[1], y[2], y[3], y[4] = a, b, c, d
    end
    return y[1], y[2], y[3], y[4]
end

-- A length in bits, as 8 bytes.
local function bits_bytes(len_bytes)
    return word_bytes(floor(len_bytes / 536870912)) .. word_bytes(len_bytes % 536870912 * 8)
end

local gcm = {}

-- Section 7.2, for nonces of 12 bytes.
function gcm.open(key, nonce, associated, sealed, tag)
    local n0, n1, n2 = word_at(nonce, 1), word_at(nonce, 5), word_at(nonce, 9)
    local h0, h1, h2, h3 = ghash(key.tables, padded(associated) .. padded(sealed) ..
                                     bits_bytes(#associated) .. bits_bytes(#sealed))
    local e0, e1, e2, e3 = aes_block(key.aes, n0, n1, n2, 1)

    if word_bytes(bxor(h0, e0)) .. word_bytes(bxor(h1, e1)) .. word_bytes(bxor(h2, e2)) ..
        word_bytes(bxor(h3, e3)) ~= tag then
        return nil
    end
    local out, text = {}, padded(sealed)
    for at = 1, #text, 16 do
        e0, e1, e2, e3 = aes_block(key.aes, n0, n1, n2, (at + 15) / 16 + 1)
        out[#out + 1] = word_bytes(bxor(e0, word_at(text, at)))
        out[#out + 1] = word_bytes(bxor(e1, word_at(text, at + 4)))
        out[#out + 1] = word_bytes(bxor(e2, word_at(text, at + 8)))
        out[#out + 1] = word_bytes(bxor(e3, word_at(text, at + 12)))
    end
    return table.concat(out):sub(1, #sealed)
end

local function gcm_new(bytes)
    local aes = aes_expand(bytes)
    return { aes = aes, tables = ghash_tables(aes_block(aes, 0, 0, 0, 0)), open = gcm.open }
end

-- ---- ChaCha20: RFC 8439, section 2.4 -----------------------------------------------------------

-- The quarters of a double round: columns, then diagonals (section 2.3), from 1 on.
local quarters = { { 1, 5, 9, 13 }, { 2, 6, 10, 14 }, { 3, 7, 11, 15 }, { 4, 8, 12, 16 },
                   { 1, 6, 11, 16 }, { 2, 7, 12, 13 }, { 3, 8, 9, 14 }, { 4, 5, 10, 15 } }

-- The block of a state of 16 words: 16 words. Sums stay below 2^38 here; bit32 and bxor() above
-- take the lowest 32 bits of them.
local function chacha_block(state)
    local s = {}

    for i = 1, 16 do
        s[i] = state[i]
    end
    for _ = 1, 10 do
        for i = 1, 8 do
            local q = quarters[i]
            local ia, ib, ic, id = q[1], q[2], q[3], q[4]
            local a, b, c, d = s[ia], s[ib], s[ic], s[id]
            a = a + b
            d = lrotate(bxor(d, a), 16)
            c = c + d
            b = lrotate(bxor(b, c), 12)
            a = a + b
            d = lrotate(bxor(d, a), 8)
            c = c + d
            b = lrotate(bxor(b, c), 7)
            s[ia], s[ib], s[ic], s[id] = a, b, c, d
        end
    end
    for i = 1, 16 do
        s[i] = (s[i] + state[i]) % 4294967296
    end
    return s
end

-- The state for the first block of a packet.
local function chacha_state(key, nonce)
    local state = { 0x61707865, 0x3320646e, 0x79622d32, 0x6b206574 }

    for i = 0, 7 do
        state[5 + i] = low_word_at(key, 4 * i + 1)
    end
    state[13] = 0
    for i = 0, 2 do
        state[14 + i] = low_word_at(nonce, 4 * i + 1)
    end
    return state
end

-- ---- Poly1305: RFC 8439, section 2.5 -----------------------------------------------------------

-- Numbers are six limbs of 22 bits, the lowest first. Products of limbs have 44 bits, and a sum of
-- six of them, each up to 20 times, fewer than 52: Lua 5.2 counts exactly up to 2^53.
local LIMB, TOP = 4194304, 1048576 -- 2^22; 2^20, of which the highest limb has 2^130

-- The limbs of the 16 bytes at this place, as one number; high: its bits from 128 on.
local function limbs_at(s, at, high)
    local a, b, c, d = low_word_at(s, at), low_word_at(s, at + 4), low_word_at(s, at + 8),
                       low_word_at(s, at + 12)

    return a % LIMB, floor(a / LIMB) + b % 4096 * 1024, floor(b / 4096) + c % 4 * 1048576,
           floor(c / 4) % LIMB, floor(c / 16777216) + d % 16384 * 256,
           floor(d / 16384) + high * 262144
end

-- Carries once from limb to limb; what is above the highest comes back at the lowest, as 2^132 is
-- 20 modulo 2^130 - 5.
local function carried(a, b, c, d, e, f)
    b, a = b + floor(a / LIMB), a % LIMB
    c, b = c + floor(b / LIMB), b % LIMB
    d, c = d + floor(c / LIMB), c % LIMB
    e, d = e + floor(d / LIMB), d % LIMB
    f, e = f + floor(e / LIMB), e % LIMB
    a, f = a + 20 * floor(f / LIMB), f % LIMB
    return a, b, c, d, e, f
end

-- The number below 2^130 - 5 that is the same modulo it, plus the second half of the key, as 16
-- bytes.
local function poly_end(key, a, b, c, d, e, f)
    a, b, c, d, e, f = carried(a, b, c, d, e, f)
    a, f = a + 5 * floor(f / TOP), f % TOP
    a, b, c, d, e, f = carried(a, b, c, d, e, f)
    local a5, b5, c5, d5, e5, f5 = carried(a + 5, b, c, d, e, f)
    if f5 >= TOP then
        a, b, c, d, e, f = a5, b5, c5, d5, e5, f5 - TOP
    end
    local out, sum, have, carry = {}, 0, 0, 0
    for _, limb in ipairs({ a, b, c, d, e, f }) do
        sum, have = sum + limb * 2 ^ have, have + 22
        while have >= 8 and #out < 16 do
            local total = sum % 256 + byte(key, 17 + #out) + carry
            out[#out + 1] = char(floor(total % 256))
            carry, sum, have = floor(total / 256), floor(sum / 256), have - 8
        end
    end
    return table.concat(out)
end

-- The tag of these bytes under a key of 32 bytes, which serves once.
local function poly1305(key, s)
    local clamped = {}
    for i = 1, 16 do
        local b = byte(key, i)
        clamped[i] = char((i == 4 or i == 8 or i == 12 or i == 16) and b % 16 or
                              (i == 5 or i == 9 or i == 13) and b - b % 4 or b)
    end
    local r0, r1, r2, r3, r4, r5 = limbs_at(table.concat(clamped), 1, 0)
    local s1, s2, s3, s4, s5 = 20 * r1, 20 * r2, 20 * r3, 20 * r4, 20 * r5
    local a, b, c, d, e, f = 0, 0, 0, 0, 0, 0

    for at = 1, #s, 16 do
        local n0, n1, n2, n3, n4, n5
        if at + 15 <= #s then
            n0, n1, n2, n3, n4, n5 = limbs_at(s, at, 1)
        else
            n0, n1, n2, n3, n4, n5 = limbs_at(padded(s:sub(at) .. "\1"), 1, 0)
        end
        a, b, c, d, e, f = a + n0, b + n1, c + n2, d + n3, e + n4, f + n5
        a, b, c, d, e, f = carried(
            a * r0 + b * s5 + c * s4 + d * s3 + e * s2 + f * s1,
            a * r1 + b * r0 + c * s5 + d * s4 + e * s3 + f * s2,
            a * r2 + b * r1 + c * r0 + d * s5 + e * s4 + f * s3,
            a * r3 + b * r2 + c * r1 + d * r0 + e * s5 + f * s4,
            a * r4 + b * r3 + c * r2 + d * r1 + e * r0 + f * s5,
            a * r5 + b * r4 + c * r3 + d * r2 + e * r1 + f * r0)
        b, a = b + floor(a / LIMB), a % LIMB
    end
    return poly_end(key, a, b, c, d, e, f)
end

-- ---- ChaCha20-Poly1305: RFC 8439, section 2.8 --------------------------------------------------

local function poly_key(key, nonce)
    local words, out = chacha_block(chacha_state(key, nonce)), {}

    for i = 1, 8 do
        out[i] = low_word_bytes(words[i])
    end
    return table.concat(out)
end

local function chacha_open(key, nonce, associated, sealed, tag)
    local lengths = low_word_bytes(#associated) .. "\0\0\0\0" .. low_word_bytes(#sealed) ..
                        "\0\0\0\0"

    if poly1305(poly_key(key.bytes, nonce), padded(associated) .. padded(sealed) .. lengths) ~= tag
    then
        return nil
    end
    local state, out = chacha_state(key.bytes, nonce), {}
    local text = sealed .. ("\0"):rep(-#sealed % 64)
    for at = 1, #text, 64 do
        state[13] = state[13] + 1
        local words = chacha_block(state)
        for i = 0, 15 do
            out[#out + 1] = low_word_bytes(bxor(words[i + 1], low_word_at(text, at + 4 * i)))
        end
    end
    return table.concat(out):sub(1, #sealed)
end

local function chacha_new(bytes)
    return { bytes = bytes, open = chacha_open }
end

-- ---- all ---------------------------------------------------------------------------------------

-- By the names in key logs: how many bytes a key has, and what makes one.
local names = { ["AES-128-GCM"] = { 16, gcm_new }, ["AES-256-GCM"] = { 32, gcm_new },
                ["ChaCha20-Poly1305"] = { 32, chacha_new } }

function ciphers.key(name, bytes)
    local cipher = names[name]

    return cipher and #bytes == cipher[1] and cipher[2](bytes) or nil
end

-- Is there such a cipher, with keys of this length?
function ciphers.has(name, key_bytes)
    return names[name] ~= nil and names[name][1] == key_bytes
end

-- The parts, for tests with the vectors of their standards.
function ciphers.aes_encrypt(key, block)
    local a, b, c, d = aes_block(aes_expand(key), word_at(block, 1), word_at(block, 5),
                                 word_at(block, 9), word_at(block, 13))
    return word_bytes(a) .. word_bytes(b) .. word_bytes(c) .. word_bytes(d)
end

function ciphers.chacha20_block(key, nonce, count)
    local state, out = chacha_state(key, nonce), {}
    state[13] = count
    for i, w in ipairs(chacha_block(state)) do
        out[i] = low_word_bytes(w)
    end
    return table.concat(out)
end

ciphers.poly1305 = poly1305

return ciphers
