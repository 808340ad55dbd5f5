# SPDX-License-Identifier: BSD-3-Clause
"""The house's rules as tables: who may include whom, who may call what, how big things may be.

The room table is ARCHITECTURE.md's. A room that is not in ROOMS is a violation: say first what it
may include.
"""

# Room -> rooms whose headers it may include, besides its own.
ROOMS = {
    "base": set(),
    "wire": {"base"},
    "pace": {"base"},
    "control": {"base"},
    "vt": {"base", "wire"},
    "path": {"base", "wire"},
    "host": {"base", "wire", "pace", "control", "vt"},
    "sim": {"base", "wire", "host", "path"},
    "client": set(),
}

# Rooms of state machines: time and packets come in as parameters, memory from the caller.
PURE = {"base", "wire", "pace", "control", "vt", "path", "host", "sim"}

# Rooms that link without DPDK.
NO_DPDK = {"client"}

# Headers that only app/ (and lib/client, where it is the kernel's) may include.
BANNED_INCLUDES = {
    "rte_ethdev.h": "packets come as bursts of mbufs",
    "rte_ethdev_driver.h": "packets come as bursts of mbufs",
    "rte_cycles.h": "time is a parameter",
    "rte_timer.h": "timers are a wheel of our own",
    "rte_random.h": "random numbers come from base/rng.h",
    "time.h": "time is a parameter",
    "sys/time.h": "time is a parameter",
    "math.h": "no floating point from libm",
    "pthread.h": "a state machine belongs to one thread",
}

# name -> (regular expression of the called function, why)
BANNED_CALLS = {
    "clock": (
        r"rte_rdtsc\w*|__?rdtscp?|__builtin_ia32_rdtscp?|rte_get_(?:tsc|timer)_\w+|rte_delay_\w+|"
        r"rte_timer_\w+|clock_\w*time\w*|gettimeofday|time|times|nanosleep|usleep|sleep",
        "time is a parameter",
    ),
    "port": (r"rte_eth_(?!h_)\w+", "packets come as bursts of mbufs"),
    "heap": (
        r"malloc|calloc|realloc|reallocarray|free|strdup|strndup|v?asprintf|aligned_alloc|"
        r"posix_memalign|alloca|getline|open_memstream",
        "memory comes from the caller",
    ),
    "random": (
        r"rand|rand_r|srand|random|srandom|[dejlmn]rand48|rte_s?rand\w*|getrandom|getentropy",
        "random numbers come from base/rng.h",
    ),
    "print": (
        r"v?f?printf|v?dprintf|puts|fputs|putchar|putc|fputc|fwrite|perror|syslog|rte_v?log|"
        r"RTE_LOG\w*|rte_panic|rte_exit|write",
        "state machines count and return, they do not talk",
    ),
    "assert": (r"assert|RTE_ASSERT|RTE_VERIFY", "use CHECK() of base/check.h"),
    "order": (r"rte_hash_iterate\w*", "hash order differs from run to run"),
}

# (kind, path) that may nevertheless: the check that aborts has to say why.
CALL_EXCEPTIONS = {("print", "lib/base/check.c")}

# DPDK's heap: once, when a host or a world is made, and when it goes.
DPDK_HEAP = r"rte_(?:z|c|re)?(?:m|c|re)alloc\w*|rte_free|rte_memzone_\w+|rte_mempool_create\w*"
DPDK_HEAP_ROOMS = {"host", "path", "sim"}
DPDK_HEAP_FUNCTIONS = r"(?:^|_)(?:create|destroy|alloc|free|new|init|fini)(?:_|$)"

# Symbols that a pure room's objects must not need from outside: the same rule, seen by the linker.
BANNED_SYMBOLS = (
    r"^(?:malloc|calloc|realloc|free|strdup|clock_gettime|gettimeofday|time|nanosleep|rand|random|"
    r"getrandom|printf|puts|putchar|rte_rand|rte_eth_.*|rte_timer_.*|__printf_chk)$"
)

FILE_LINES_MAX = 799
TEST_LINES_MAX = 799
FUNCTION_LINES_MAX = 69

# Files that carry an SPDX line, by ending or name; scripts are known by their "#!".
SPDX_ENDINGS = (".c", ".h", ".cc", ".hh", ".py", ".sh", ".lua", ".build", ".conf", ".service", ".in",
                ".1", ".3", ".5", ".7", ".8")
SPDX = "SPDX-License-Identifier: BSD-3-Clause"

# Places that exist on one person's machine only.
MACHINE_PATHS = r"(?<![\w.$}])/(?:home|root|work|Users|mnt|media)(?:/|\b(?=[\s\"'`)]|$))"

# Programs and libraries that need a man page.
MAN_PAGES = ("sluiced.8", "sluice.1", "libsluice.3", "sluice-emu.8", "sluice-path.7", "sluice-exporter.8",
             "sluice-lab.1", "sluice-console.7")

# Headers for others' programs: they compile as C++ too.
PUBLIC_HEADERS = ("lib/client/sluice.h",)

# Words for persons. Comments of the product are about flows, threads and hosts.
PERSONS = r"\b(?:who|whom|whoever|he|him|his|himself)\b"

# How many files a folder holds at most; below a program's own folder, fewer.
FOLDER_FILES_MAX = 40
FOLDER_FILES_MAX_APP = 25

# Program -> its folder below app, and the rooms and folders whose headers and functions it may use besides.
ENGINE = {"base", "wire", "pace", "control", "vt", "host"}
PROGRAMS = {
    "sluiced": ("sluiced", ENGINE | {"path", "client", "drivers", "common", "console", "sluice/remote", "sluice/view"}),
    "sluice": ("sluice", {"base", "client", "console"}),
    "sluice-emu": ("emu", {"base", "wire", "path", "drivers", "common", "console"}),
    "sluice-lab-engine": ("lab", ENGINE | {"path", "sim", "common"}),
}

# Words before a header's include guard, the licence not counted.
CONTRACT_WORDS_MIN = 5

# Names that are gone (CONTRIBUTING.md, Words): anywhere, and as parts of the names of C.
RETIRED_WORDS = r"(?i)\b(?:\w+_)?(?:bell|grave|errand|lane|street|rival)s?(?:_\w+)?\b"
RETIRED_PARTS = (r"\b(?:way|ways|told|most|least|usual|lean|occupied|station)_\w+|\b\w+_(?:told|most|least|stands)\b|"
                 r"\b\w+_(?:MOST|LEAST)\b")
NOUNS_ALLOWED = {"test/house/rules.py", "test/house/planted.py", "test/system/terminal.py"}

# A key of doc/references.md, as comments cite it.
REFERENCE = r"\[[A-Z]+(?:-[A-Z]+)*(?:\+\+)?\]"

# A file that a comment names; and those of DPDK, the kernel and the libraries, which are not here.
FILE_NAME = r"(?<![\w/.<*-])((?:[a-z_]+/)*[a-z_0-9]+\.[ch])\b(?!\.\w)"
OTHERS_FILES = r"/(?:rte_|virtio|hinic|ixgbe|i40e|vhost|xxh)|/include/linux/|/drivers/net/|/[a-z]\.[ch]$"
