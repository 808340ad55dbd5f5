# SPDX-License-Identifier: BSD-3-Clause
"""The house's rules as tables: which room may include and call what, and how big files and functions may be.

ARCHITECTURE.md has the same table of rooms. A room that is not in ROOMS is a violation.
"""

# Room -> rooms whose headers it may include, besides its own.
ROOMS: dict[str, set[str]] = {
    "base": set(),
    "crypto": {"base"},
    "wire": {"base"},
    "pace": {"base"},
    "traffic": {"base", "wire"},
    "control": {"base"},
    "vt": {"base", "wire"},
    "path": {"base", "wire"},
    "assoc": {"base", "crypto", "wire"},
    "host": {"base", "crypto", "wire", "pace", "control", "vt", "assoc"},
    "sim": {"base", "crypto", "wire", "assoc", "host", "path"},
    "client": set(),
}

# Rooms of state machines: time and packets come in as parameters, memory from the caller.
PURE = {"base", "wire", "pace", "traffic", "control", "vt", "path", "assoc", "host", "sim"}

# Rooms that link without DPDK.
NO_DPDK = {"client"}

# Headers that state machines must not include, with the reason.
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

# kind -> (regular expression of functions that state machines must not call, reason)
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
        "state machines count and return; they do not print",
    ),
    "assert": (r"assert|RTE_ASSERT|RTE_VERIFY", "use CHECK() of base/check.h"),
    "order": (r"rte_hash_iterate\w*", "hash order differs from run to run"),
}

# (kind, path) that may call them: CHECK() prints why it aborts.
CALL_EXCEPTIONS = {("print", "lib/base/check.c")}

# DPDK's heap: only where a host or a world is created or destroyed.
DPDK_HEAP = r"rte_(?:z|c|re)?(?:m|c|re)alloc\w*|rte_free|rte_memzone_\w+|rte_mempool_create\w*"
DPDK_HEAP_ROOMS = {"assoc", "host", "path", "sim"}
DPDK_HEAP_FUNCTIONS = r"(?:^|_)(?:create|destroy|alloc|free|new|init|fini)(?:_|$)"

# Calls that drivers/device.h makes instead of a program: net_memif needs care while its peers come and go.
DEVICE_CALLS = r"rte_eth_(?:[rt]x_burst|dev_start|dev_stop|dev_close)"

# Symbols that objects of a room of PURE must not need: BANNED_CALLS, as the linker sees them.
BANNED_SYMBOLS = (
    r"^(?:malloc|calloc|realloc|free|strdup|clock_gettime|gettimeofday|time|nanosleep|rand|random|"
    r"getrandom|printf|puts|putchar|rte_rand|rte_eth_.*|rte_timer_.*|__printf_chk)$"
)

FILE_LINES_MAX = 799
TEST_LINES_MAX = 799
FUNCTION_LINES_MAX = 69
PARAMETERS_MAX = 7  # of a Python function

MYPY_CONFIG = "test/house/mypy.ini"

# Endings of files that need an SPDX line; scripts, which have "#!", need it as well.
SPDX_ENDINGS = (".c", ".h", ".cc", ".hh", ".py", ".sh", ".lua", ".build", ".conf", ".service", ".in",
                ".1", ".3", ".5", ".7", ".8")
SPDX = "SPDX-License-Identifier: BSD-3-Clause"

# Paths that exist on one machine only.
MACHINE_PATHS = r"(?<![\w.$}])/(?:home|root|work|Users|mnt|media)(?:/|\b(?=[\s\"'`)]|$))"

# Programs and libraries that need a man page.
MAN_PAGES = ("sluiced.8", "sluice.1", "libsluice.3", "sluice-emu.8", "sluice-path.7", "sluice-exporter.8",
             "sluice-lab.1", "sluice-load.8", "sluice-console.7")

# Headers for other programs: they must compile as C++, too.
PUBLIC_HEADERS = ("lib/client/sluice.h",)

# Headers that meson makes. To see whether others compile, an empty one is enough.
MADE_HEADERS = ("sluice_version.h",)

# Lists of counters, and the section of doc/counters.md that explains each list: file, macro, heading.
COUNTERS_PAGE = "doc/counters.md"
COUNTER_LISTS = (("lib/host/host_internal.h", "HOST_COUNTERS", "# Counters"),
                 ("lib/assoc/assoc.h", "ASSOC_COUNTERS", "## Handshakes"))

# Words for persons. In comments of the product, a flow, a thread or a host is "it".
PERSONS = r"\b(?:who|whom|whoever|he|him|his|himself)\b"

# How many files a folder holds at most; in and below a program's folder, fewer.
FOLDER_FILES_MAX = 40
FOLDER_FILES_MAX_APP = 25

# Program -> its folder below app, and the other rooms and folders whose headers and functions it may use.
ENGINE = {"base", "crypto", "wire", "pace", "control", "vt", "assoc", "host"}
PROGRAMS = {
    "sluiced": ("sluiced", ENGINE | {"path", "client", "drivers", "common", "console", "sluice/key", "sluice/remote",
                            "sluice/view"}),
    "sluice": ("sluice", {"base", "crypto", "client", "console"}),
    "sluice-emu": ("emu", {"base", "wire", "path", "drivers", "common", "console"}),
    "sluice-lab-engine": ("lab", ENGINE | {"path", "sim", "common"}),
    "sluice-load": ("load", {"base", "wire", "pace", "traffic", "drivers", "common"}),
}

# How many words a header has at least before its include guard, without the licence.
CONTRACT_WORDS_MIN = 5

# Retired names (CONTRIBUTING.md, Words): as words anywhere, and as parts of names in C.
# "rivals" is the name of a bench.
RETIRED_WORDS = r"(?i)\b(?:\w+_)?(?:(?:bell|grave|errand|lane|street)s?|rival)(?:_\w+)?\b"
RETIRED_PARTS = (r"\b(?:way|ways|told|most|least|usual|lean|occupied|station)_\w+|\b\w+_(?:told|most|least|stands)\b|"
                 r"\b\w+_(?:MOST|LEAST)\b")
NOUNS_ALLOWED = {"test/house/rules.py", "test/house/planted.py", "scripts/python/testbed/terminal.py"}

# A key of doc/references.md, in a comment.
REFERENCE = r"\[[A-Z]+(?:-[A-Z]+)*(?:\+\+)?\]"

# A file name in a comment, and the names of files of DPDK, the kernel and libraries, which this tree does not have.
FILE_NAME = r"(?<![\w/.<*-])((?:[a-z_]+/)*[a-z_0-9]+\.[ch])\b(?!\.\w)"
OTHERS_FILES = r"/(?:rte_|virtio|hinic|ixgbe|i40e|vhost|xxh)|/include/linux/|/drivers/net/|/[a-z]\.[ch]$"
