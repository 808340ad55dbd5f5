# SPDX-License-Identifier: BSD-3-Clause
"""Violations and faults that the checks must notice.

PLANTED: violations of the house's rules in a small clean tree; each run of the house test judges them.
FAULTS: faults in this tree, each with a command that must fail; plants.py plants them one by one.
"""
import glob
import json
import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass

import rules

HEAD = "/* SPDX-License-Identifier: BSD-3-Clause */\n"
PAGE = ('.\\" SPDX-License-Identifier: BSD-3-Clause\n.Dd January 1, 2026\n.Dt {0} {1}\n.Os\n'
        ".Sh NAME\n.Nm {2}\n.Nd a page\n")
PYTHON = "# SPDX-License-Identifier: BSD-3-Clause\n"


def _mypy_config() -> str:
    """mypy.ini of this tree, for a tree that has Python below scripts only."""
    with open(os.path.join(os.path.dirname(__file__), os.path.basename(rules.MYPY_CONFIG)), encoding="utf-8") as f:
        return re.sub(r"(?m)^files = .*", "files = scripts", f.read())


CLEAN: Mapping[str, str | None] = {
    "lib/base/seq.h": HEAD + "/* Sequence numbers that wrap around. */\n#ifndef SEQ_H\n#define SEQ_H\n"
                             "#include <stdint.h>\n"
                             "static inline int seq_before(uint32_t a, uint32_t b)\n{\n"
                             "    return (int32_t)(a - b) < 0;\n}\n#endif\n",
    "lib/wire/packet.h": HEAD + "/* The length of a packet in bytes. */\n#ifndef PACKET_H\n#define PACKET_H\n"
                                "#include \"base/seq.h\"\n"
                                "int packet_len(void);\n#endif\n",
    "lib/wire/packet.c": HEAD + "#include \"wire/packet.h\"\n\n#include <stdint.h>\n\n"
                                "#include <rte_ether.h>\n\n#include \"base/seq.h\"\n\n"
                                "/* rand() and malloc() in a comment are only words */\n"
                                "int packet_len(void)\n{\n    const char *s = \"free(time())\";\n\n"
                                "    return s[0];\n}\n",
    "lib/host/host.h": HEAD + "/* A host with all its state. */\nstruct host;\n",
    "lib/host/host.c": HEAD + "#include \"host/host.h\"\n\n#include <rte_malloc.h>\n\n"
                              "void *host_create(void);\nvoid *host_create(void)\n{\n"
                              "    return rte_zmalloc(\"host\", 64, 64);\n}\n",
    "lib/client/sluice.h": HEAD + "/* Functions for programs that send. */\n#ifndef SLUICE_H\n#define SLUICE_H\n"
                                  "int sluice_fd(void);\n#endif\n",
    "scripts/twice.py": PYTHON + "def twice(n: int) -> int:\n    return 2 * n\n",
    rules.MYPY_CONFIG: _mypy_config(),
    "README.md": "# Top\n[below](doc/guide.md#a-word-or-two), [here](#top), [source](lib/base/seq.h), [web](https://a.example)\n"
                 "```\n[an example](doc/none.md)\n```\n`[code](doc/none.md)`\n",
    "doc/guide.md": "# Guide\n## A word, or `two`\n[up](../README.md#top) [again](#a-word-or-two-1)\n## A word, or two\n",
    "doc/sluiced.8": PAGE.format("SLUICED", 8, "sluiced"),
    "doc/sluice.1": PAGE.format("SLUICE", 1, "sluice"),
    "doc/sluice-emu.8": PAGE.format("SLUICE-EMU", 8, "sluice-emu"),
    "doc/sluice-exporter.8": PAGE.format("SLUICE-EXPORTER", 8, "sluice-exporter"),
    "doc/sluice-load.8": PAGE.format("SLUICE-LOAD", 8, "sluice-load"),
    "doc/sluice-lab.1": PAGE.format("SLUICE-LAB", 1, "sluice-lab"),
    "doc/sluice-path.7": PAGE.format("SLUICE-PATH", 7, "sluice-path"),
    "doc/sluice-console.7": PAGE.format("SLUICE-CONSOLE", 7, "sluice-console"),
    "doc/libsluice.3": PAGE.format("LIBSLUICE", 3, "libsluice"),
}


def _in_function(path: str, header: str, body: str, name: str = "planted") -> dict[str, str]:
    return {path: f"{HEAD}{header}void {name}(void);\nvoid {name}(void)\n{{\n{body}}}\n"}


# (violation, name of the check, {path: its new text, or None to leave the file out})
PLANTED: list[tuple[str, str, Mapping[str, str | None]]] = [
    ("wire includes host", "rooms include only what the table allows",
     {"lib/wire/bad.h": HEAD + "#include \"host/host.h\"\n"}),
    ("base includes wire", "rooms include only what the table allows",
     {"lib/base/bad.h": HEAD + "#include \"wire/packet.h\"\n"}),
    ("client includes base", "rooms include only what the table allows",
     {"lib/client/bad.h": HEAD + "#include \"base/seq.h\"\n"}),
    ("client includes DPDK", "rooms include only what the table allows",
     {"lib/client/bad.c": HEAD + "#include <rte_mbuf.h>\n"}),
    ("wire includes ethdev", "rooms include only what the table allows",
     {"lib/wire/bad.c": HEAD + "#include <rte_ethdev.h>\n"}),
    ("an include without its room", "rooms include only what the table allows",
     {"lib/wire/bad.c": HEAD + "#include \"packet.h\"\n"}),
    ("a room that is not in the table", "rooms include only what the table allows", {"lib/attic/attic.h": HEAD}),
    ("own header not first", "includes stand in order",
     {"lib/wire/packet.c": HEAD + "#include <stdint.h>\n\n#include \"wire/packet.h\"\n"}),
    ("DPDK before system", "includes stand in order",
     {"lib/wire/bad.c": HEAD + "#include <rte_ether.h>\n\n#include <stdint.h>\n"}),
    ("groups without a blank line", "includes stand in order",
     {"lib/wire/bad.c": HEAD + "#include <stdint.h>\n#include <rte_ether.h>\n"}),
    ("project headers out of order", "includes stand in order",
     {"lib/wire/bad.c": HEAD + "#include <stdint.h>\n\n#include \"wire/packet.h\"\n"
                               "#include \"base/seq.h\"\n"}),
    ("reads the TSC", "state machines call nothing banned",
     _in_function("lib/wire/bad.c", "", "    rte_rdtsc();\n")),
    ("asks the time", "state machines call nothing banned",
     _in_function("lib/wire/bad.c", "", "    clock_gettime(0, 0);\n")),
    ("sends on a port", "state machines call nothing banned",
     _in_function("lib/wire/bad.c", "", "    rte_eth_tx_burst(0, 0, 0, 0);\n")),
    ("takes from the heap", "state machines call nothing banned",
     _in_function("lib/wire/bad.c", "", "    free(malloc(1));\n")),
    ("takes from DPDK's heap below host", "state machines call nothing banned",
     _in_function("lib/wire/bad.c", "", "    rte_free(rte_zmalloc(\"x\", 1, 0));\n", "x_create")),
    ("takes from DPDK's heap while running", "state machines call nothing banned",
     _in_function("lib/host/bad.c", "", "    rte_malloc(\"x\", 1, 0);\n", "host_run")),
    ("draws a random number", "state machines call nothing banned",
     _in_function("lib/wire/bad.c", "", "    rte_rand();\n")),
    ("prints", "state machines call nothing banned",
     _in_function("lib/wire/bad.c", "", "    printf(\"x\");\n")),
    ("asserts", "state machines call nothing banned",
     _in_function("lib/wire/bad.c", "", "    assert(1);\n")),
    ("a program polls a port itself", "programs poll ports through drivers/device.h",
     _in_function("app/sluiced/bad.c", "", "    rte_eth_rx_burst(0, 0, 0, 0);\n")),
    ("a file of 800 lines", "files and functions are small",
     {"lib/base/long.h": HEAD + "\n" * 799}),
    ("a function of 70 lines", "files and functions are small",
     _in_function("lib/base/long.c", "", "    ;\n" * 68)),
    ("a Python function of 70 lines", "files and functions are small",
     {"scripts/long.py": PYTHON + "def f():\n" + "    pass\n" * 69}),
    ("a Python function of 8 parameters", "Python functions take at most 7 parameters",
     {"scripts/bad.py": PYTHON + "class Bad:\n"
                               "    def f(self, a, b, c, /, *args, d=0, e=1, **kwargs):\n        pass\n"}),
    ("a Python function without types", "Python has types that mypy believes",
     {"scripts/bad.py": PYTHON + "def bad(n):\n    return n\n"}),
    ("a Python call with a wrong type", "Python has types that mypy believes",
     {"scripts/bad.py": PYTHON + "def bad(n: int) -> int:\n    return n\n\n\nbad(\"a\")\n"}),
    ("Python in a folder that mypy does not read", "Python has types that mypy believes",
     {"lib/base/bad.py": PYTHON}),
    ("a source without licence", "licence comes first", {"lib/base/bad.h": "/* a header */\n"}),
    ("a script without licence", "licence comes first", {"scripts/go": "#!/bin/sh\ntrue\n"}),
    ("a path of one machine", "no path of one machine",
     {"README.md": "see /" + "home/me/notes\n"}),
    ("a counter that no page explains", "counters are explained",
     {"lib/assoc/assoc.h": HEAD + "/* Counters. */\n#define ASSOC_COUNTERS(X) \\\n    X(drop_old) \\\n    X(drop_new)\n",
      "doc/counters.md": "# Counters\n| `drop_new` | a |\n## Handshakes\n| `drop_old` | b |\n"}),
    ("a counter that is only explained", "counters are explained",
     {"lib/host/host_internal.h": HEAD + "/* Counters. */\n#define HOST_COUNTERS(X) X(drop_new)\n",
      "doc/counters.md": "# Counters\n| `drop_old`, `drop_new` | a `word` |\n"}),
    ("a thread that is called who", "comments call things it",
     {"lib/base/bad.h": HEAD + "/* Two lines:\n * who sleeps loses. */\n"}),
    ("a flow that is called he", "comments call things it",
     {"app/bad.c": HEAD + "int a; /* until he sends */\n"}),
    ("a header that needs another", "headers compile alone",
     {"lib/base/bad.h": HEAD + "int bad(uint64_t x);\n"}),
    ("a public header that is no C++", "headers compile alone",
     {"lib/client/sluice.h": HEAD + "int sluice_new(int class);\n"}),
    ("a folder of 41 files", "folders hold few files", {f"lib/base/f{i}.h": HEAD for i in range(41)}),
    ("a folder of a program with 26 files", "folders hold few files",
     {f"app/sluice/view/f{i}.h": HEAD for i in range(26)}),
    ("a program that includes another's header", "programs link what they use",
     {"app/emu/bad.c": HEAD + '#include "sluice/say.h"\n'}),
    ("a program that links another's function", "programs link what they use",
     {"app/emu/main.c": HEAD + "int say(void);\nint main(void)\n{\n    return say();\n}\n",
      "app/sluice/say.c": HEAD + "int say(void);\nint say(void)\n{\n    return 0;\n}\n"}),
    ("two files that call each other", "no files call each other in a circle",
     {f"lib/base/{a}.c": HEAD + f"int {b}(void);\nint {a}(void);\nint {a}(void)\n{{\n    return {b}();\n}}\n"
      for a, b in (("one", "other"), ("other", "one"))}),
    ("a header that does not say what it is", "headers say what they are",
     {"lib/base/bad.h": HEAD + "#ifndef BAD_H\n#define BAD_H\nint bad(void); /* this comment comes too late */\n"
                               "#endif\n"}),
    ("a retired word", "retired words are no names", {"lib/base/bad.h": HEAD + "/* The worker's bell. */\n"}),
    ("a retired part of a name", "retired words are no names", {"lib/base/bad.h": HEAD + "int rate_most;\n"}),
    ("a paper that is not listed", "literature is listed", {"lib/base/bad.h": HEAD + "/* As in [NOBODY], 3. */\n"}),
    ("a file that does not exist", "files that comments name are there",
     {"lib/base/bad.h": HEAD + "/* As in base/gone.h. */\n"}),
    ("a specification that is not public", "literature is listed", {"lib/base/bad.h": HEAD + '/* spec "VT", 3.2 */\n'}),
    ("a link to a file that is not there", "links of documents lead somewhere", {"doc/more.md": "see [more](guid.md)\n"}),
    ("a link to a picture that is not there", "links of documents lead somewhere", {"README.md": "![a picture](doc/a.png)\n"}),
    ("a link out of the tree", "links of documents lead somewhere", {"doc/more.md": "[up](../../planted)\n"}),
    ("a link to a heading that is not there", "links of documents lead somewhere",
     {"doc/more.md": "# More\n[words](guide.md#a-word)\n"}),
    ("a link to a heading that is only an example's", "links of documents lead somewhere",
     {"doc/more.md": "```sh\n# More\n```\n[more](#more)\n"}),
    ("a page that is missing", "man pages exist and lint", {"doc/sluice.1": None}),
    ("a page with an unknown macro", "man pages exist and lint",
     {"doc/sluice.1": PAGE.format("SLUICE", 1, "sluice") + ".Zz what\n"}),
    ("a global variable", "objects hold no globals",
     {"lib/base/bad.c": HEAD + "int bad_count;\nint bad_next(void);\nint bad_next(void)\n{\n"
                               "    return ++bad_count;\n}\n"}),
    ("needs malloc", "objects hold no globals",
     {"lib/base/bad.c": HEAD + "void *m(void);\nvoid *malloc(unsigned long);\nvoid *m(void)\n{\n"
                               "    return malloc(3);\n}\n"}),
]


def write_tree(root: str, changes: Mapping[str, str | None]) -> None:
    """Writes the clean tree with changes below root."""
    for path, text in {**CLEAN, **changes}.items():
        if text is None:
            continue
        full = os.path.join(root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as f:
            f.write(text)


def build_base(root: str) -> str:
    """Builds lib/base and app as meson would: objects, an archive, programs. Returns the build folder."""
    build = os.path.join(root, "build")
    folder = os.path.join(build, "lib", "base")
    os.makedirs(folder)
    commands, objects = [], []
    for path in sorted(glob.glob(os.path.join(root, "lib/base/*.c")) + glob.glob(os.path.join(root, "app/**/*.c"),
                                                                                 recursive=True)):
        objects.append(os.path.join(folder, os.path.basename(path) + ".o"))
        commands.append({"directory": build, "file": path, "output": objects[-1]})
        subprocess.run(["gcc", "-c", "-o", objects[-1], path], check=True)
    with open(os.path.join(build, "compile_commands.json"), "w", encoding="utf-8") as f:
        json.dump(commands, f)
    subprocess.run(["ar", "rcs", os.path.join(folder, "libsluice_base.a")] + objects, check=True)
    if os.path.exists(os.path.join(root, "app/emu/main.c")):
        os.makedirs(os.path.join(build, "app/emu"))
        subprocess.run(["gcc", "-o", os.path.join(build, "app/emu/sluice-emu")] + objects, check=True)
    return build


@dataclass(frozen=True)
class Fault:
    """A fault to plant in a copy of this tree."""
    name: str
    hole: str  # why this fault, or one like it, once passed the checks
    file: str
    old: str  # is in the file exactly once
    new: str
    command: str  # of the shell, in the root of the tree: status 0 without the fault, another with it
    says: str  # regular expression in the output of the command with the fault: it must fail for this reason
    build: tuple[str, ...] = ()  # what the command needs, as "FOLDER: TARGETS..."; FOLDER: see scripts/lib.sh


# Parts of commands.
SCENE = "python3 -B test/system/run.py --build build $HUGE --only "  # HUGE: --huge, where there are hugepages
PROGRAMS = "build: programs"
PYTHON_PACKAGE = (PROGRAMS + " python examples/buffer",)  # the example needs the shared library
SHARED_LIBRARY = ("build: examples/buffer",)
TIDY = "python3 -B scripts/stages/tidy.py build 1 ^lib/base/span.c"
LAB = "python3 -B test/lab/lab_test.py build/app/lab/sluice-lab . "
ASAN = "build-asan: programs"
TSAN = "build-tsan: programs"
THREADS = "python3 -B test/system/run.py --build build-tsan --tsan-build build-tsan --only ThreadSanitizer"
STAGES = "python3 -B test/house/stages_test.py"
JUDGE = "/usr/bin/python3 -B test/bench/judge_test.py "

TEST_ASSOC = "build: test/unit/assoc/test_assoc"
ASSOC = "build/test/unit/assoc/test_assoc --gtest_filter="
DEVICE = "build/test/unit/drivers/test_device --gtest_filter="
TEST_SLUICE = "build: test/unit/sluice/test_sluice"
FILES = "build/test/unit/sluice/test_sluice --gtest_filter="
TEST_SIM = "build: test/sim/test_sim"
STEP = "build/test/sim/test_sim --gtest_filter="
LAB_ENGINE = "build: app/lab/sluice-lab-engine"

FAULTS = [
    # ---- scripts

    Fault("the status of `meson test` is thrown away",
          "the cases of a killed run counted, but the kill was no failure",
          "scripts/test",
          "\"$@\" >\"$SCRATCH/meson.log\" 2>&1 || status=$?", "\"$@\" >\"$SCRATCH/meson.log\" 2>&1 || true",
          STAGES, "not ok .*meson test is killed between two programs"),
    Fault("the status of the system tests is thrown away",
          "the cases of a killed run counted, but the kill was no failure",
          "scripts/test", "status=${PIPESTATUS[0]}", "true",
          STAGES, "not ok .*the system tests are killed"),
    Fault("no test in a suite is no failure",
          "a suite whose tests had gone was ok",
          "scripts/test", "        cat \"$2\"\n        stage_failed=$((stage_failed + 1))\n    fi\n}",
          "        stage_passed=$((stage_passed + 1))\n    fi\n}",
          STAGES, "not ok .*no test is in the suite"),
    Fault("the last lines do not mention skips",
          "the closing line was the same whether cases were judged or skipped",
          "scripts/test", "    skips\n", "", STAGES, "not ok .*skips say why"),
    Fault("a build beside that was killed counts as made",
          "none: a fault like the one of the status of `meson test`",
          "scripts/test", "|| echo 1)", "|| echo 0)", STAGES, "not ok .*beside is killed"),
    Fault("clang-tidy no longer checks a file that has changed",
          "none: clang-tidy checks only files that have changed",
          "lib/base/span.c", "#include \"base/span.h\"\n",
          "#include \"base/span.h\"\n\nint planted(int a);\nint planted(int a)\n{\n    return a == 1 || a == 1;\n}\n",
          TIDY, "misc-redundant-expression", ("build: lib/base/libsluice_base.a",)),
    Fault("clang-tidy no longer checks a file whose header has changed",
          "none: clang-tidy checks only files that have changed",
          "lib/base/span.h", "#endif\n",
          "static inline int planted(int a)\n{\n    return a == 1 || a == 1;\n}\n#endif\n",
          TIDY, "misc-redundant-expression", ("build: lib/base/libsluice_base.a",)),

    # ---- test/unit

    Fault("a later sequence number is before an earlier one",
          "none: the fault shows that plants.py builds and runs what it plants",
          "lib/base/seq.h", "(int32_t)(a - b) < 0", "(int32_t)(a - b) > 0",
          "build/test/unit/base/test_base --gtest_filter='Seq*'", r"FAILED", ("build: test/unit/base/test_base",)),

    Fault("an old INIT with a fresh cookie replaces the handshake that is pending",
          "the first version did this: a cookie proves an address, and not that the INIT is new",
          "lib/assoc/exchange.c", "init_answer(a, p, IN_REWOUND, in, out);", "init_answer(a, p, IN_PENDING, in, out);",
          ASSOC + "'Attack.OldInit*'", "FAILED", (TEST_ASSOC,)),
    Fault("a RESPONSE counts however late it comes",
          "the first version did this: no test waited that long",
          "lib/assoc/assoc_internal.h", "now - t->begun_ns < 2 * ASSOC_ATTEMPT_NS", "now >= t->begun_ns",
          ASSOC + "'Life.Late*'", "FAILED", (TEST_ASSOC,)),
    Fault("a RESPONSE is opened without the key that both share",
          "none: a handshake works as well without it",
          "lib/crypto/noise.c", "    hash_hkdf(n->chain, psk, NOISE_KEY_BYTES,",
          "    psk = (const uint8_t[NOISE_KEY_BYTES]){0};\n    hash_hkdf(n->chain, psk, NOISE_KEY_BYTES,",
          "build/test/unit/crypto/test_crypto --gtest_filter='Noise*'", "FAILED",
          ("build: test/unit/crypto/test_crypto",)),
    Fault("the milliseconds in a key log are always 0",
          "the first test looked only at the form of the time",
          "app/common/utc.c", "(uint64_t)now.tv_nsec", "0 * (uint64_t)now.tv_nsec",
          "build/test/unit/app/test_key_log", "FAILED .*KeyLog.HasTheTimeOfDay", ("build: test/unit/app/test_key_log",)),
    Fault("a key log is opened through symbolic links",
          "none: in a folder of ours a link does no harm",
          "app/sluiced/control/key_log.c", "flags | O_NOFOLLOW | O_CLOEXEC", "flags | O_CLOEXEC",
          "build/test/unit/app/test_key_log", "FAILED .*KeyLog.LinksAreNotFollowed", ("build: test/unit/app/test_key_log",)),

    Fault("the descriptor of a message without bytes stays open",
          "no test had sent a message without bytes; a fuzz target did",
          "app/sluiced/session/session_message.c",
          "    if (*fd >= 0)\n        fd_closer_add(*fd, x->uid);\n    *fd = -1;\n    return -1;", "    return -1;",
          "build/test/unit/client/test_client --gtest_filter='FdCloserTest.MessageWithoutBytes'", "FAILED",
          ("build: test/unit/client/test_client",)),
    Fault("a sender follows a link that took a directory's place",
          "the tests walked trees that nobody changed meanwhile",
          "app/sluice/files/name.c", "O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC", "O_DIRECTORY | O_CLOEXEC",
          FILES + "'Source*'", "FAILED.*NoLinkIsFollowed", (TEST_SLUICE,)),
    Fault("a sender waits for the writer of a pipe, and hears nothing meanwhile",
          "the pipes of the tests had a writer",
          "app/sluice/files/source.c", "O_CLOEXEC | O_NONBLOCK", "O_CLOEXEC",
          FILES + "'Source*'", "FAILED.*APipeWithoutAWriter", (TEST_SLUICE,)),
    Fault("a near end takes an address before it has asked for one",
          "no test played a far end that breaks the order",
          "app/sluice/cp/far.c", "(where && !f->receives)", "(where && f->ended)",
          FILES + "'Far*'", "FAILED.*OutOfOrder", (TEST_SLUICE,)),
    Fault("a part that another process writes to is resumed",
          "both processes would write to one file",
          "app/sluice/files/part_name.c", "if (flock(fd, LOCK_EX | LOCK_NB) == 0 && is_ours", "if (is_ours",
          FILES + "'Resume*'", "FAILED.*APartThatIsBeingWritten", (TEST_SLUICE,)),
    Fault("a sender is told what another one has sent",
          "the name of a part followed from the file alone",
          "app/sluice/files/part_name.c", "    memcpy(fields + 24, owner, len);\n", "",
          FILES + "'Resume*'", "FAILED.*OnlyThisFileOfThisSender", (TEST_SLUICE,)),
    Fault("chunks are kept of which the sender has no hash",
          "a sender could keep what it has never seen",
          "app/sluice/transfer/incoming_record.c",
          "r->type == RECORD_KEEP && r->offset + r->size > in->part.hashed_bytes", "false",
          FILES + "'Incoming*'", "FAILED.*AskedAndKeptInOrder", (TEST_SLUICE,)),
    Fault("a sender has pieces copied into a file for which it has not said so",
          "the file that is replaced was not open then",
          "app/sluice/transfer/incoming_record.c",
          "r->type == RECORD_COPY && (in->part.offer.flags & RECORD_COPIES) == 0", "false",
          FILES + "'Sync*'", "FAILED.*CopiesThatAreWrong", (TEST_SLUICE,)),
    Fault("what is copied from the file that is replaced is not part of the hash",
          "a file that changes meanwhile would be copied unseen",
          "app/sluice/files/part_file.c", "digest_update(p->digest, piece, want);\n            err = part_file_put_copy",
          "digest_zeros(p->digest, want);\n            err = part_file_put_copy",
          FILES + "'Sync*'", "FAILED.*ABasisAndAPart", (TEST_SLUICE,)),
    Fault("blocks are looked for only where the file begins, and in order",
          "after the first byte that was put in, everything would be sent",
          "app/sluice/delta/rolling.h", "r->b += r->a - (uint64_t)block * out;", "r->b += r->a;",
          FILES + "'Rolling*'", "FAILED.*MovesAsDefined", (TEST_SLUICE,)),
    Fault("--delete deletes though the sender could not read everything",
          "what could not be read would be deleted at the target",
          "app/sluice/transfer/incoming_sync.c", "if ((r->flags & RECORD_UNREAD) == 0)", "if (true)",
          FILES + "'Sync*'", "FAILED.*Pruning", (TEST_SLUICE,)),
    Fault("--delete deletes beside the directory that is synced",
          "the first tests synced only what is in a source",
          "app/sluice/sync/prune.c", "else if (named &&", "else if ((named || true) &&",
          FILES + "'Sync*'", "FAILED.*NothingBesideIsPruned", (TEST_SLUICE,)),
    Fault("what is removed is looked for through a link",
          "a link could only come between two system calls, which no test did",
          "app/sluice/files/remove.c",
          "int fd = openat(dir_fd, base, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);",
          "int fd = openat(dir_fd, base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);",
          FILES + "'Sync*'", "FAILED.*NoLinkIsOpened", (TEST_SLUICE,)),
    Fault("a sync sets the mode of a directory behind a link",
          "none: the test came with the code",
          "app/sluice/sync/place.c",
          "fd = openat(parent_fd, base, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);",
          "fd = openat(parent_fd, base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);",
          FILES + "'Sync*'", "FAILED.*NothingGoesThroughLinks", (TEST_SLUICE,)),
    Fault("set-user-ID is given to a file whose owner is another one",
          "none: the test came with the code",
          "app/sluice/attributes/settle.c", "    if (st->st_uid == s->uid && st->st_gid == s->gid)\n", "    if (true)\n",
          FILES + "'Attributed*'", "FAILED.*SetUserId", (TEST_SLUICE,)),
    Fault("a further name is given to what has taken the place of a file",
          "none: the test came with the code",
          "app/sluice/sync/hard.c", "S_ISREG(st.st_mode) && st.st_dev == f->dev && st.st_ino == f->ino", "S_ISREG(st.st_mode)",
          FILES + "'Attributed*'", "FAILED.*HardLinks", (TEST_SLUICE,)),
    Fault("attributes of one file are those of the next one, too",
          "none: the test came with the code",
          "app/sluice/transfer/incoming_record.c", "        in->attributed = false;\n    }", "    }",
          FILES + "'Attributed*'", "FAILED.*TheOrderOfRecords", (TEST_SLUICE,)),

    # ---- test/fuzz

    Fault("a DATA packet with a wrong tag is placed",
          "the fuzz target did not connect hosts with keys in its first version, and nothing showed that",
          "lib/assoc/seal.c", "aead_open_end(e->open, trailer + TAG_OFF) ? t->clear : NULL",
          "aead_open_end(e->open, trailer + TAG_OFF) || t->clear != NULL ? t->clear : NULL",
          "SLUICE_FUZZ_RUNS=0 build/test/fuzz/fuzz_host_driver", r"broken invariant: op->buffer\[i\] == content",
          ("build: test/fuzz/fuzz_host_driver",)),

    # ---- test/sim

    Fault("a CNTL whose list of spans is full is not followed at once by the next",
          "in every test something else asked for a CNTL soon",
          "lib/host/cntl.c", "c->cntl.naks_left = v->span_count == max && max > 0;",
          "c->cntl.naks_left = v->span_count == max && max > WIRE_SPANS_MAX;",
          "build/test/sim/test_sim --gtest_filter='Repair.AFullList*'", r"FAILED", ("build: test/sim/test_sim",)),

    Fault("of 4096 flows each 512th gets an eighth less than its share",
          "the test ignored 2 % of the flows",
          "lib/control/share.c", "        f->bound = bound_of(f, &items[i], level);\n",
          "        if (n > 1024 && i % 512 == 511)\n            f->grant_Bps -= f->grant_Bps / 8;\n"
          "        f->bound = bound_of(f, &items[i], level);\n",
          STEP + "'Thousands/StepWorld.IsSharedAnew/0'", "MISSED", (TEST_SIM,)),

    Fault("one of 16 flows lowers its grant by an eighth of the difference each interval",
          "an error in the first intervals was lost in a mean over the next 12 to 120",
          "lib/host/sharing.c", "    if (f->bound != SHARE_DEMAND)\n        return f->grant_Bps;\n",
          "    if (r->flow == 4 && c->n_active > 8 && c->n_active <= 16 && r->grant_Bps > f->grant_Bps)\n"
          "        return f->grant_Bps + (r->grant_Bps - f->grant_Bps) / 8 * 7;\n"
          "    if (f->bound != SHARE_DEMAND)\n        return f->grant_Bps;\n",
          STEP + "'Senders/StepWorld.IsSharedAnew/19'", "MISSED", (TEST_SIM,)),

    # ---- test/lab

    Fault("a live finding holds only every other time",
          "a live experiment had two tries, whatever the first one gave",
          "app/lab/sluice_lab/main.py", "    findings = finding.judge_all(e, rows, head[\"quick\"], lenient)\n",
          "    findings = finding.judge_all(e, rows, head[\"quick\"], lenient)\n"
          "    if not os.path.exists(\"build/first\"):\n        open(\"build/first\", \"w\").close()\n"
          "        findings[0].update(holds=False, differs=\"\")\n",
          "rm -f build/first; " + LAB + "'experiment vt-size-live'", "not ok .*vt-size-live", (PROGRAMS,)),
    Fault("after a loss the paper's TCP waits four times as long",
          "a finding that was known not to hold could have any value",
          "app/lab/tcp93.c", '"tick", "500ms"', '"tick", "2s"',
          LAB + "'^experiment fr-regions$'", r"rate of 7 segments", (LAB_ENGINE,)),
    Fault("the reason why a finding does not hold excuses any value",
          "a finding that was known not to hold could have any value",
          "app/lab/sluice_lab/finding.py", 'section.keys["differs"] if as_known else ""', 'section.keys["differs"]',
          LAB + "'^known$'", r"not ok .* known", (LAB_ENGINE,)),
    Fault("the model of a SPARCstation accepts more than the experiment says",
          "the best throughput was compared with the model's own input, within 3 %",
          "lib/sim/workstation.c", "8050000 / 8", "8250000 / 8",
          LAB + "'xtp-rate-burst'", r"SPARC: best throughput", (LAB_ENGINE,)),
    Fault("of two sweeps that are compared, the senders of one stop at each answer",
          "settings were compared with a sweep whose sender stopped, although their own did not stop",
          "config/lab/xtp-host-capacity.conf", "turn = ${stall}ms", 'turn = ${stall if way == "given" else 0}ms',
          LAB + "'xtp-host-capacity'", r"stop for 10 ms", (LAB_ENGINE,)),
    Fault("three thresholds use the parameters of two",
          "the power of three thresholds had no lower bar",
          "config/lab/occupancy.conf", "alpha = 2.5e-6", "alpha = 1e-5",
          LAB + "'experiment occupancy'", r"But better than one", (LAB_ENGINE,)),
    Fault("there is no jitter",
          "the transition came without jitter, too, because of the delay that was added with it",
          "config/lab/fr-regions.conf", "far = 20\njitter = 20\n", "far = 20\njitter = 0\n",
          LAB + "'^experiment fr-regions$'", r"Jitter makes a transition", (LAB_ENGINE,)),
    Fault("the value of a formula is given as the paper's",
          "atm-policing gave the value of a formula as the paper's",
          "config/lab/atm-policing.conf",
          "lost cells, over (1 + x) / x\n", "lost cells, over (1 + x) / x\npaper = 501\n",
          LAB + "'^papers$'", r"the paper has no 501", (LAB_ENGINE,)),
    Fault("a finding that was not judged counts as one that holds",
          "--set of a swept parameter dropped findings silently and exited with 0",
          "app/lab/sluice_lab/finding.py", "return 3 if any(", "return 0 if any(",
          LAB + "'^set instead'", r"not ok .* set instead of sweep", (LAB_ENGINE,)),
    Fault("a quantile is the value at int(q * n)",
          "quantiles had the wrong definition: the median of 1 and 2 was 2",
          "app/lab/sluice_lab/finding.py",
          "values[below] + (values[above] - values[below]) * (q * (len(values) - 1) - below)",
          "values[min(len(values) - 1, int(q * len(values)))]",
          LAB + "'^quantiles$'", r"not ok .* quantiles", (LAB_ENGINE,)),
    Fault("synchronous writes are taken for single ones, and single ones for synchronous",
          "the tests did not judge eight of ten findings of vt-size-live, and a good run made up for a bad one",
          "app/lab/sluice_lab/live_memif.py", 'if keys["way"] == "copy" else', 'if keys["way"] != "copy" else',
          LAB + "'vt-size-live'", r"over the paper's link", (PROGRAMS,)),

    # ---- security

    Fault("a plain connection stays when its peer gets a key",
          "DATA went on in plain, for the silence limit, to a host that had a key since the reload",
          "lib/host/rekey.c", "return security_peer_of(h, &c->peer) == ASSOC_PEER_NONE;", "return true;",
          STEP + "'Sealed.PlainUntilThereIsAKey'", r"FAILED", (TEST_SIM,)),

    # ---- drivers

    Fault("a memif is polled while its link is down",
          "a program with several queues crashed in one of twenty runs when a peer connected",
          "drivers/device.c", "is_memif(port), __ATOMIC_RELAXED", "false, __ATOMIC_RELAXED",
          DEVICE + "'*Polled*Go'", r"\[ RUN", ("build: test/unit/drivers/test_device",)),
    Fault("the EAL's memory goes while its interrupt thread looks at events",
          "a daemon without --in-memory crashed at its end in some runs on a busy machine",
          "app/common/eal.c", "    for (;;)\n        pause();\n", "",
          DEVICE + "'*EalHasEnded'", "FAILED .*Device.MemifLeavesWhenTheEalHasEnded", ("build: test/unit/drivers/test_device",)),
    Fault("a memif is stopped while the interrupt thread lets go of its peer",
          "a daemon crashed in one of seven runs when both ends of a memif stopped at once",
          "drivers/device.c", "if (!is_memif(port))\n", "if (port < RTE_MAX_ETHPORTS)\n",
          DEVICE + "'*Stops*'", r"\[ RUN", ("build: test/unit/drivers/test_device",)),

    # ---- test/bench

    Fault("bench memif is judged against a testpmd that lost its core",
          "the lower of testpmd's and memcpy's medians fell with the noisier of the two",
          "scripts/python/bench/memif.py",
          "        names = paired.lower(candidates, results.seed)\n",
          "        candidates[best] = testpmd[best]\n"
          "        names = [min(candidates, key=lambda name: sorted(candidates[name])[15])]\n",
          JUDGE + "Memif", r"FAIL: test_a_noisy_testpmd_is_not_the_limit"),
    Fault("a bench says holds though the interval reaches the bar",
          "the verdict came from medians, however noisy the machine was",
          "scripts/python/bench/paired.py", "        if self.high - self.low > abs(self.value - bar):\n",
          "        if self.high - self.low < 0:\n",
          "/usr/bin/python3 -B test/bench/paired_test.py FalseVerdicts.test_at_the_bar_it_is_too_noisy",
          r"FAIL: test_at_the_bar"),
    Fault("a row that is missing passes", "all([]) is true, so a row that was not measured held",
          "scripts/python/bench/results.py", "if not self.rows or self.missing() or", "if not self.rows or",
          JUDGE + "Paths Pace", r"FAIL: test_a_path_whose_child_crashed"),
    Fault("a bench that measured nothing passes", "all([]) is true",
          "scripts/python/bench/results.py", "if not self.rows or self.missing() or", "if self.missing() or",
          "/usr/bin/python3 -B test/bench/paired_test.py Rows Program", r"FAIL: test_nothing_measured"),
    Fault("bench paths --only nonsense passes", "a table without any path has no NO",
          "scripts/python/bench/results.py", "    if not found:\n", "    if found is None:\n",
          JUDGE + "Paths", r"FAIL: test_a_pattern_of_nothing"),
    Fault("bench paths uses one seed", "the verdict depended on one seed of losses and keys",
          "scripts/python/bench/paths.py", "    return range(first, first + args.seeds)\n",
          "    return range(first, first + 1)\n",
          JUDGE + "Paths", r"FAIL: test_seeds_are_fresh_unless_told"),
    Fault("an engine that is absent from bench pace passes", "its rows were left out of the table",
          "scripts/python/bench/pace.py", "            if not figures.tops(flows, engine):\n",
          "            if figures.tops(flows, engine) is None:\n",
          JUDGE + "Pace", r"FAIL: test_an_absent_engine"),
    Fault("a row without a bar holds", "rows without a bar had the verdict holds",
          "scripts/python/bench/results.py", "        self._row(name, value, unit)\n",
          "        self._row(name, value, unit, verdict=paired.HOLDS)\n",
          "/usr/bin/python3 -B test/bench/paired_test.py Rows", r"FAIL: test_a_figure_is_no_verdict"),
    Fault("all of bench share's plain passes write", "three passes that write take longer than one that does",
          "test/bench/share_bench.cc",
          "            for (const share_flow &f : w.flows)\n                all += flow_read(f);\n",
          "            for (share_flow &f : w.flows)\n                f.grant_Bps = all += flow_read(f);\n",
          JUDGE + "Share", r"FAIL: test_one_of_the_passes_writes"),
    Fault("bench pace cuts slow polls of some engines from the clock",
          "a supposed interruption was cut only for the three engines that are told the time",
          "test/bench/pace_run.c", "            cost -= lost;\n", "            cost = real_clock ? cost : usual;\n",
          JUDGE + "Pace", r"FAIL: test_nothing_is_cut_from_one_engine_alone"),
    Fault("bench pace does not report that it left out gaps", "no table had the share of gaps left out",
          "scripts/python/bench/pace.py", "        if figures.left_out(flows, SLUICE) > LEFT_OUT_MAX:\n",
          "        if figures.left_out(flows, SLUICE) > 1:\n",
          JUDGE + "Pace", r"FAIL: test_gaps_that_are_left_out_count"),
    Fault("the wheels of bench pace keep narrow slots", "a million flows had slots of 256 cycles",
          "test/bench/pace_compare.c", "        if (engines[engine]->slotted)\n",
          "        if (engines[engine]->slotted && b->flows[size] == 0)\n",
          "build/test/bench/pace_compare --lcores 0@0 --no-huge --no-shconf -m 512 --no-pci --no-telemetry "
          "--log-level=4 --file-prefix sluice-plant-$$ -- --flows 1000 --engines carousel --rounds 1 "
          "--seconds 0.02 --slots 1048576 | tee /dev/stderr | grep -q '\"slot_tsc\": 1048576'",
          r"\"slot_tsc\": 0", ("build: test/bench/pace_compare",)),
    Fault("bench paced leaves out windows with a stall", "too low a rate counted only in windows without a stall",
          "scripts/python/bench/paced.py", "            least += grant_Bps * self.away.seconds(begin, over)\n",
          "            least += due * (self.away.seconds(begin, over) > 0)\n",
          JUDGE + "Paced", r"FAIL: test_(a_core_that|a_short_stall)"),
    Fault("bench paced judges a sender whose core is mostly away", "the share of time left out had no bar",
          "scripts/python/bench/paced.py", "    if away > AWAY_MAX and", "    if away > 1 and",
          JUDGE + "Paced", r"FAIL: test_a_core_that_is_mostly_away"),
    Fault("nothing contends in bench exception", "200 Mbit/s were granted, iperf3 sent 20, and the veth carries both",
          "scripts/python/bench/exception.py", "args.capacity <= args.link:", "args.capacity <= 0:",
          JUDGE + "Exception_", r"FAIL: test_something_must_contend"),

    Fault("bench files does not count a transfer beyond its limit",
          "such a transfer crashed the bench, or its time was left out",
          "scripts/python/bench/files.py", "    seen.failed.append(why)\n    print(", "    print(",
          JUDGE + "Files", r"FAIL: test_a_transfer_beyond_the_limit"),
    Fault("bench files says that WHY was never queue though it never looked", "all([]) is true",
          "scripts/python/bench/files.py", "else paired.HOLDS if looks > 0 else paired.NOISY", "else paired.HOLDS",
          JUDGE + "Files", r"FAIL: test_where_nobody_looked"),
    Fault("a few runs of bench files hold", "a single run gave the verdict",
          "scripts/python/bench/files.py",
          "(verdict == paired.HOLDS and not enough)", "(verdict is None and not enough)",
          JUDGE + "Files", r"FAIL: test_few_runs"),
    Fault("bench files excuses any longest time where the reference varies", "a noisy machine excused everything",
          "scripts/python/bench/files.py", " and max(ours_s) <= bar * max(reference_s)\n", "\n",
          JUDGE + "Files", r"FAIL: test_the_longest_says_little"),

    # ---- test/system

    Fault("the dissector decrypts whatever the tag is",
          "none: with the right key everything is as it should be",
          "config/wireshark/sluice_ciphers.lua", "word_bytes(bxor(h3, e3)) ~= tag then",
          "word_bytes(bxor(h3, e3)) ~= tag and false then",
          "/usr/bin/python3 -B test/system/wireshark/decrypt_test.py", "changed"),
    Fault("a worker uses a plain increment for a counter that control reads",
          "reports with a frame in DPDK's libraries were dropped, and DPDK calls each worker",
          "app/sluiced/worker/worker.c", "counter_add(&w->iterations, 1);", "w->iterations++;",
          THREADS, "data race", (TSAN,)),
    Fault("a worker says that it has ended before it has",
          "reports with a frame in DPDK's libraries were dropped, and DPDK calls each worker",
          "app/sluiced/worker/worker.c",
          "    worker_disarm(w);\n    __atomic_store_n(&w->running, false, __ATOMIC_SEQ_CST);",
          "    __atomic_store_n(&w->running, false, __ATOMIC_SEQ_CST);\n    worker_disarm(w);",
          THREADS, "data race", (TSAN,)),
    Fault("the daemon crashes on AF_XDP",
          "a process that named AF_XDP and ended was taken for a machine without AF_XDP",
          "app/sluiced/port/port_pool.c", "    if (strcmp(p->driver, \"net_af_xdp\") == 0)\n",
          "    if (strcmp(p->driver, \"net_af_xdp\") == 0)\n"
          "        fprintf(stderr, \"%s\\n\", p->driver), __builtin_trap();\n"
          "    if (strcmp(p->driver, \"net_af_xdp\") == 0)\n",
          SCENE + "'^AF_XDP on veth'", "not ok .*AF_XDP", (PROGRAMS,)),
    Fault("the box crashes on AF_XDP",
          "a process that named AF_XDP and ended was taken for a machine without AF_XDP",
          "app/common/port.c",
          "        return XDP_RINGS;\n", "        fprintf(stderr, \"%s\\n\", p->driver), __builtin_trap();\n",
          SCENE + "'the box on AF_XDP'", "not ok .*AF_XDP", (PROGRAMS,)),
    Fault("the box crashes on TAP devices",
          "a process that named a tun and ended was taken for a machine without TAP devices",
          "app/common/port.c", "    if (strcmp(p->driver, \"net_af_xdp\") == 0)\n        return XDP_RINGS;\n",
          "    if (strcmp(p->driver, \"net_tap\") == 0)\n        fprintf(stderr, \"tun\\n\"), __builtin_trap();\n",
          SCENE + "'the box on TAP'", "not ok .*TAP", (PROGRAMS,)),
    Fault("lists of clients that went away are not freed",
          "the test let a hostile client leave 200 mappings and 1 GiB in 10 s",
          "app/sluiced/session/session.c",
          "    free(x->regions);\n    free(x->channels);\n", "    free(x->channels);\n",
          SCENE + "'^hostile client' --asan-build build-asan", r"sluiced b leaks",
          (PROGRAMS + " test/unit/client/hostile", ASAN)),
    Fault("a tenth of the forged frames never arrives",
          "the test let half of the forged frames get lost",
          "test/system/programs/forge.c", "        if (batch_send(g, batch, n) != n) {\n",
          "        if (sent / BATCH % 10 != 0 && batch_send(g, batch, n) != n) {\n",
          SCENE + "'a million forged'", r"of \d+ forged frames that are no fragments",
          (PROGRAMS + " test/system/forge",)),
    Fault("a finalizer frees memory of Python that another one still sees",
          "none: the garbage collector runs finalizers in any order",
          "lib/python/sluice/_handle.py", "        self._dying[address] = weakref.ref(token, dead)\n", "        dead(None)\n",
          "PYTHONPATH=build/lib/python LD_LIBRARY_PATH=build/lib/client /usr/bin/python3 -B test/unit/python/session_test.py",
          "FAIL: test_garbage_uses_its_view", PYTHON_PACKAGE),
    Fault("a send through Python copies the data",
          "the test saw copies in ordinary memory only, not in hugepages",
          "lib/python/sluice/session.py", "        pinned = ffi.from_buffer(data, require_writable=op == Op.RECV)\n",
          "        if op == Op.SEND:\n            copy = self._session.alloc(len(data))\n            copy[:] = data\n"
          "            data = copy\n        pinned = ffi.from_buffer(data)\n",
          SCENE + "'no process copies'", r"the process grew by \d+ bytes", PYTHON_PACKAGE),
    Fault("libsluice.so exports an internal function",
          "the version script exported whatever began with sluice_",
          "lib/client/libsluice.map", "        sluice_version;\n", "        sluice_version;\n        client_pump;\n",
          "/usr/bin/python3 -B test/unit/client/exports_test.py build/lib/client/libsluice.so.0",
          "take them out of libsluice.map", SHARED_LIBRARY),
    Fault("a field moves within a struct of libsluice",
          "nothing knew what the structs had been",
          "lib/client/sluice.h", "    uint64_t rtt_ns;\n", "    uint64_t planted, rtt_ns;\n",
          "/usr/bin/python3 -B test/unit/client/abi_test.py build/lib/client/libsluice.so.0 build/lib/sluice_version.h",
          "Programs that are linked with the reference would break", SHARED_LIBRARY),
    Fault("libsluice writes beyond a struct of an older program",
          "none: no public struct has grown yet",
          "lib/client/sized.c", "memcpy(out, in, both_bytes)", "memcpy(out, in, in_bytes)",
          "build/test/unit/client/test_client --gtest_filter=SizedTest.*", "FAILED .*StatsOfAnOlderProgram",
          ("build: test/unit/client/test_client",)),
    Fault("a client captures a port that the daemon does not have",
          "only a stand-in for the daemon's captures was tested",
          "app/sluiced/control/captures.c", "what->port >= d->n_ports", "what->port > d->n_ports",
          "build/test/unit/app/test_captures --gtest_filter=Captures.RefusesAPortThatIsNotThere; test $? = 0 || { echo FAILED; false; }",
          "FAILED", ("build: test/unit/app/test_captures",)),
    Fault("a client believes that its rings are longer than their memory",
          "no test had so many rings of that length",
          "lib/client/capture.c", "a.u.captured.ring_bytes > r->len_bytes / a.u.captured.rings", "false",
          "build/test/unit/client/test_client --gtest_filter=CaptureTest.BelievesNoRingsThatMakeNoSense", "FAILED",
          ("build: test/unit/client/test_client",)),
    Fault("a full disk cuts the last packet of a capture on standard output",
          "no test wrote a capture to standard output",
          "app/sluice/capture/capture_file.c", "S_ISREG(st.st_mode);\n", "S_ISREG(st.st_mode) && !output;\n",
          FILES + "CaptureFile.IsWholeOnStandardOutput", "FAILED", (TEST_SLUICE,)),
    Fault("a tutorial has a command that does not exist", "no test ran the commands of documents",
          "doc/tutorials/two-hosts.md", "sluice reload --socket b.sock\n", "sluice reread --socket b.sock\n",
          SCENE + "'^tutorial: two-hosts'", "a command of this block ends with", (PROGRAMS,)),
    Fault("a tutorial shows what its commands do not print", "no test ran the commands of documents",
          "doc/tutorials/two-hosts.md", "3 of 3 pings answered; round trip", "3 of 3 pings were answered; round trip",
          SCENE + "'^tutorial: two-hosts'", "but the commands before it print", (PROGRAMS,)),
    Fault("the tutorial of a NIC shows what its commands do not print", "no test ran the commands of a document on a NIC",
          "doc/tutorials/nic.md", "3 of 3 pings answered; round trip", "3 of 3 pings were answered; round trip",
          "scripts/test-nic --tutorial --seconds 600", "but the commands before it print", (PROGRAMS,)),
    Fault("the tutorial of a NIC has a command that fails there", "no test ran the commands of a document on a NIC",
          "doc/tutorials/nic.md", "modprobe vfio-pci\n", "modprobe vfio-none\n",
          "scripts/test-nic --tutorial --seconds 600", "a command of this block ends with", (PROGRAMS,)),
    Fault("on an emulated processor, tests are left out without a word", "no test ran on an emulated processor",
          "scripts/test", '        script) skip "$name" ', '        script) : "$name" ', STAGES, "not ok .* on arm64, programs run", ()),
]


def fault_problem(fault: Fault, text: str) -> str | None:
    """Why the fault cannot be planted in its file's text, or None."""
    count = text.count(fault.old)
    if count != 1:
        return f"{fault.file}: the old text is there {count} times, not once; correct FAULTS"
    if fault.new == fault.old:
        return f"{fault.file}: the new text is the old one; correct FAULTS"
    return None
