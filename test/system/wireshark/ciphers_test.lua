-- SPDX-License-Identifier: BSD-3-Clause
-- Runs config/wireshark/sluice_ciphers.lua through the vectors that its standards publish. Needs
-- that file beside it, or in the module path. It runs in Lua 5.3, and in tshark, whose Lua is 5.2;
-- says "N vectors right", or which one is wrong (decrypt_test.py reads that).

local ciphers = require("sluice_ciphers")

local function from_hex(text)
    return (text:gsub("%x%x", function(digits) return string.char(tonumber(digits, 16)) end))
end

local function to_hex(bytes)
    return bytes and (bytes:gsub(".", function(c) return string.format("%02x", c:byte()) end))
end

local right = 0

local function expect(what, got, want)
    if got ~= want then
        print("wrong: " .. what .. ": " .. tostring(got) .. ", not " .. tostring(want))
    else
        right = right + 1
    end
end

-- FIPS 197: appendix B, C.1 and C.3. Key, block, encrypted block.
for _, v in ipairs({
    { "2b7e151628aed2a6abf7158809cf4f3c", "3243f6a8885a308d313198a2e0370734",
      "3925841d02dc09fbdc118597196a0b32" },
    { "000102030405060708090a0b0c0d0e0f", "00112233445566778899aabbccddeeff",
      "69c4e0d86a7b0430d8cdb78070b4c55a" },
    { "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
      "00112233445566778899aabbccddeeff", "8ea2b7ca516745bfeafc49904b496089" },
}) do
    expect("AES", to_hex(ciphers.aes_encrypt(from_hex(v[1]), from_hex(v[2]))), v[3])
end

-- RFC 8439, section 2.3.2.
expect("ChaCha20", to_hex(ciphers.chacha20_block(
    from_hex("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"),
    from_hex("000000090000004a00000000"), 1)),
    "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e" ..
    "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e")

-- RFC 8439, section 2.5.2, and of appendix A.3 those from 7 on, which reach the limits of numbers.
-- Key, message, tag.
local z8, z12, z15 = ("00"):rep(8), ("00"):rep(12), ("00"):rep(15)
local z16, f15, f16 = ("00"):rep(16), ("ff"):rep(15), ("ff"):rep(16)
local r12 = "0100000000000000" .. "0400000000000000" .. z16
local m12 = "e33594d7505e43b9" .. z8 .. "3394d7505e4379cd" .. "01" .. ("00"):rep(7) .. z16
for _, v in ipairs({
    { "85d6be7857556d337f4452fe42d506a80103808afb0db2fd4abff6af4149f51b",
      to_hex("Cryptographic Forum Research Group"), "a8061dc1305136c6c22b8baf0c0127a9" },
    { "02" .. z15 .. z16, f16, "03" .. z15 },
    { "02" .. z15 .. f16, "02" .. z15, "03" .. z15 },
    { "01" .. z15 .. z16, f16 .. "f0" .. f15 .. "11" .. z15, "05" .. z15 },
    { "01" .. z15 .. z16, f16 .. "fb" .. ("fe"):rep(15) .. ("01"):rep(16), z16 },
    { "02" .. z15 .. z16, "fd" .. f15, "fa" .. f15 },
    { r12, m12 .. "01" .. z15, "1400000000000000" .. "55" .. ("00"):rep(7) },
    { r12, m12, "13" .. z15 },
}) do
    expect("Poly1305", to_hex(ciphers.poly1305(from_hex(v[1]), from_hex(v[2]))), v[3])
end

-- Test cases 1 to 4 and 13 to 16 of [GCM], and RFC 8439, section 2.8.2 and appendix A.5.
-- Cipher, key, nonce, associated data, sealed bytes, tag, text.
local vectors = {
    { "AES-128-GCM",
      "00000000000000000000000000000000",
      "000000000000000000000000",
      "",
      "",
      "58e2fccefa7e3061367f1d57a4e7455a",
      "" },
    { "AES-128-GCM",
      "00000000000000000000000000000000",
      "000000000000000000000000",
      "",
      "0388dace60b6a392f328c2b971b2fe78",
      "ab6e47d42cec13bdf53a67b21257bddf",
      "00000000000000000000000000000000" },
    { "AES-128-GCM",
      "feffe9928665731c6d6a8f9467308308",
      "cafebabefacedbaddecaf888",
      "",
      "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c" ..
       "7d8f6a5aac84aa051ba30b396a0aac973d58e091473f5985",
      "4d5c2af327cd64a62cf35abd2ba6fab4",
      "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c9595680953" ..
       "2fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255" },
    { "AES-128-GCM",
      "feffe9928665731c6d6a8f9467308308",
      "cafebabefacedbaddecaf888",
      "feedfacedeadbeeffeedfacedeadbeefabaddad2",
      "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c" ..
       "7d8f6a5aac84aa051ba30b396a0aac973d58e091",
      "5bc94fbc3221a5db94fae95ae7121a47",
      "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c9595680953" ..
       "2fcf0e2449a6b525b16aedf5aa0de657ba637b39" },
    { "AES-256-GCM",
      "0000000000000000000000000000000000000000000000000000000000000000",
      "000000000000000000000000",
      "",
      "",
      "530f8afbc74536b9a963b4f1c4cb738b",
      "" },
    { "AES-256-GCM",
      "0000000000000000000000000000000000000000000000000000000000000000",
      "000000000000000000000000",
      "",
      "cea7403d4d606b6e074ec5d3baf39d18",
      "d0d1c8a799996bf0265b98b5d48ab919",
      "00000000000000000000000000000000" },
    { "AES-256-GCM",
      "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308",
      "cafebabefacedbaddecaf888",
      "",
      "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3d" ..
       "a7b08b1056828838c5f61e6393ba7a0abcc9f662898015ad",
      "b094dac5d93471bdec1a502270e3cc6c",
      "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c9595680953" ..
       "2fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255" },
    { "AES-256-GCM",
      "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308",
      "cafebabefacedbaddecaf888",
      "feedfacedeadbeeffeedfacedeadbeefabaddad2",
      "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3d" ..
       "a7b08b1056828838c5f61e6393ba7a0abcc9f662",
      "76fc6ece0f4e1768cddf8853bb2d551b",
      "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c9595680953" ..
       "2fcf0e2449a6b525b16aedf5aa0de657ba637b39" },
    { "ChaCha20-Poly1305",
      "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f",
      "070000004041424344454647",
      "50515253c0c1c2c3c4c5c6c7",
      "d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d63dbea45e8ca96712" ..
       "82fafb69da92728b1a71de0a9e060b2905d6a5b67ecd3b3692ddbd7f2d778b8c9803aee328091b58" ..
       "fab324e4fad675945585808b4831d7bc3ff4def08e4b7a9de576d26586cec64b6116",
      "1ae10b594f09e26a7e902ecbd0600691",
      "4c616469657320616e642047656e746c656d656e206f662074686520636c617373206f6620273939" ..
       "3a204966204920636f756c64206f6666657220796f75206f6e6c79206f6e652074697020666f7220" ..
       "746865206675747572652c2073756e73637265656e20776f756c642062652069742e" },
    { "ChaCha20-Poly1305",
      "1c9240a5eb55d38af333888604f6b5f0473917c1402b80099dca5cbc207075c0",
      "000000000102030405060708",
      "f33388860000000000004e91",
      "64a0861575861af460f062c79be643bd5e805cfd345cf389f108670ac76c8cb24c6cfc18755d43ee" ..
       "a09ee94e382d26b0bdb7b73c321b0100d4f03b7f355894cf332f830e710b97ce98c8a84abd0b9481" ..
       "14ad176e008d33bd60f982b1ff37c8559797a06ef4f0ef61c186324e2b3506383606907b6a7c02b0" ..
       "f9f6157b53c867e4b9166c767b804d46a59b5216cde7a4e99040c5a40433225ee282a1b0a06c523e" ..
       "af4534d7f83fa1155b0047718cbc546a0d072b04b3564eea1b422273f548271a0bb2316053fa7699" ..
       "1955ebd63159434ecebb4e466dae5a1073a6727627097a1049e617d91d361094fa68f0ff77987130" ..
       "305beaba2eda04df997b714d6c6f2c29a6ad5cb4022b02709b",
      "eead9d67890cbb22392336fea1851f38",
      "496e7465726e65742d4472616674732061726520647261667420646f63756d656e74732076616c69" ..
       "6420666f722061206d6178696d756d206f6620736978206d6f6e74687320616e64206d6179206265" ..
       "20757064617465642c207265706c616365642c206f72206f62736f6c65746564206279206f746865" ..
       "7220646f63756d656e747320617420616e792074696d652e20497420697320696e617070726f7072" ..
       "6961746520746f2075736520496e7465726e65742d447261667473206173207265666572656e6365" ..
       "206d6174657269616c206f7220746f2063697465207468656d206f74686572207468616e20617320" ..
       "2fe2809c776f726b20696e2070726f67726573732e2fe2809d" },
}

local function flipped(s, at)
    return s:sub(1, at - 1) .. string.char((s:byte(at) + 128) % 256) .. s:sub(at + 1)
end

for i, v in ipairs(vectors) do
    local what = v[1] .. " " .. i
    local key, nonce, ad = ciphers.key(v[1], from_hex(v[2])), from_hex(v[3]), from_hex(v[4])
    local sealed, tag = from_hex(v[5]), from_hex(v[6])
    expect(what, to_hex(key:open(nonce, ad, sealed, tag)), v[7])
    -- Whatever is changed, nothing is opened.
    for at = 1, #tag do
        expect(what .. ", changed tag", to_hex(key:open(nonce, ad, sealed, flipped(tag, at))), nil)
    end
    for at = 1, #sealed, 7 do
        expect(what .. ", changed", to_hex(key:open(nonce, ad, flipped(sealed, at), tag)), nil)
    end
    for at = 1, #ad do
        expect(what .. ", changed header", to_hex(key:open(nonce, flipped(ad, at), sealed, tag)), nil)
    end
    expect(what .. ", other nonce", to_hex(key:open(flipped(nonce, 12), ad, sealed, tag)), nil)
    expect(what .. ", longer", to_hex(key:open(nonce, ad, sealed .. "\0", tag)), nil)
end
expect("a key of another length", ciphers.key("AES-128-GCM", ("k"):rep(32)), nil)
expect("an unknown cipher", ciphers.key("AES-192-GCM", ("k"):rep(24)), nil)
print(right .. " vectors right")
