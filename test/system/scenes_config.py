# SPDX-License-Identifier: BSD-3-Clause
"""The configuration of a daemon: `sluiced --check`, reload, doctor, keys, and the examples of config/."""
import glob
import json
import os
import re
import shlex
import signal
import subprocess
from typing import Any

from . import ROOT
from .harness import Context, TestbedError, need, one_line, perf, scene, transfer_works
from testbed.daemon import Build, Daemon, locking
from testbed.keys import introduce, key_file, key_pair
from testbed.pair import ADDR_A, ADDR_B, NETWORKS, memif_pair
from testbed.process import Testbed, cpus, until

GOOD, USAGE, CONFIG, LOCAL = 0, 2, 3, 5


def _check(context: Context, *args: str) -> tuple[int, str, str]:
    """(status, standard output, standard error) of sluiced --check."""
    done = subprocess.run([context.build.program("sluiced"), "--check", *args], capture_output=True,
                          text=True, timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr


@scene("sluiced --check: every file of config/, and what is wrong", company=True)
def check(testbed: Testbed, context: Context) -> None:
    files = sorted(glob.glob(os.path.join(ROOT, "config", "*.conf")))
    names = [os.path.basename(f) for f in files]
    for name in ("memif-a.conf", "memif-b.conf", "veth-afxdp.conf", "nic.conf", "nic-secured.conf", "bond.conf",
                 "lab.conf"):
        if name not in names:
            raise TestbedError(f"config/{name} is missing")
    key = key_pair(testbed, context.build, "private").file
    for file in files:
        with open(file, encoding="utf-8") as f:
            text = f.read()
        if "private_key_file" in text:  # a file of this machine, not of the example
            file = testbed.path(os.path.basename(file))
            with open(file, "w", encoding="utf-8") as f:
                f.write(text.replace("= /etc/sluice/private.key", f"= {key}"))
        status, out, err = _check(context, file)
        if status != GOOD or err or not out.startswith(f"{file}: good;"):
            raise TestbedError(f"{file}: status {status}\n{out}{err}")
    with open(os.path.join(ROOT, "config", "lab.conf"), encoding="utf-8") as f:
        lab_conf = f.read()
    mistakes = (
        ("mtu        = 9000", "mtu        = 90", "[port 0000:01:00.0] mtu: ", "too small"),
        ("capacity   = 10Gbit", "capacity   = 10Gb", "[port 0000:01:00.0] capacity: ", "unit"),
        ("[peer measured]", "[pear measured]", "[pear measured] ", "unknown section"),
        ("weight  = 4", "wait    = 4", "[peer measured] wait: ", "did you mean weight"),
        ("delay 20ms", "delai 20ms", "[port 0000:02:00.0] wire: ", 'did you mean "delay"'),
        ("limit 5MB", "limit 5MX", "[port 0000:02:00.0] wire: ", "position"),
    )
    for before, after, *parts in mistakes:
        path = testbed.path("wrong.conf")
        text = lab_conf.replace(before, after)
        line = 1 + text[:text.index(after)].count("\n")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        status, out, err = _check(context, path)
        parts.append(f"{path}:{line}: ")
        if status != CONFIG or out or err.count("\n") != 1 or any(p not in err for p in parts):
            raise TestbedError(f"{after}: status {status}, one line with {parts} was due\n{out}{err}")
    for args, due in ((["/nowhere.conf"], CONFIG), ([testbed.dir], CONFIG), (["--sockt=x"], USAGE)):
        status, out, err = _check(context, *args)
        if status != due or out or err.count("\n") != 1:
            raise TestbedError(f"{args}: status {status}, {due} was due\n{out}{err}")


def _reload(daemon: Daemon, keys: dict[str, Any] | None = None, port_keys: dict[str, Any] | None = None,
            status: int = GOOD) -> tuple[dict[str, Any], str]:
    """Reloads the daemon's configuration with these further keys; returns the JSON of `sluice reload`, and its standard
    error."""
    daemon.keys.update(keys or {})
    daemon.ports[0].keys.update(port_keys or {})
    daemon.write_config()
    done = subprocess.run(daemon.command("reload", "--json"), capture_output=True, text=True,
                          timeout=60, check=False)
    if done.returncode != status:
        raise TestbedError(f"reload: status {done.returncode} instead of {status}\n"
                           f"{done.stdout}{done.stderr}\n{daemon.process.tail()}")
    return json.loads(done.stdout), done.stderr


def _expect(said: dict[str, Any], changed: list[str], restart: list[str]) -> None:
    if (said["good"], said["changed"], said["restart"]) != (True, changed, restart):
        raise TestbedError(f"changed {changed}, restart {restart} were due: {said}")


def _grants(daemon: Daemon) -> list[int]:
    return sorted(c["rx_rate_Bps"] for c in daemon.show("conns") if c["state"] == "open")


@scene("reload: capacity, peers and idle change under a transfer; what is wrong changes nothing")
def reload_live(testbed: Testbed, context: Context) -> None:
    a, b = memif_pair(testbed, context.build, b_keys={"capacity": "800Mbit"})
    b.sluice("receiver", "perf", "server", "-1")
    b.wait_listening()
    sender = a.sluice("sender", "perf", "client", "-t", "600", "-i", "0", "-P", "2", ADDR_B)
    until(lambda: len(_grants(b)) == 2 and 90e6 < sum(_grants(b)) <= 100e6, 30, "a share of 800 Mbit/s")
    ring = b.show("ports")[0]["rx_ring"]

    _expect(_reload(b)[0], [], [])
    said, _ = _reload(b, {"idle": "poll", "sessions": 32, "log_level": "debug"},
                      {"capacity": "400Mbit", "queue_size": 512})
    _expect(said, ["[daemon] idle", "[daemon] log_level", "[port net_memif0] capacity"],
            ["[daemon] sessions", "[port net_memif0] queue_size"])
    until(lambda: 45e6 < sum(_grants(b)) <= 50e6, 30, "a share of 400 Mbit/s")
    if [w["idle"] for w in b.show("workers")] != ["poll"] or b.show("ports")[0]["rx_ring"] != ring:
        raise TestbedError(f"idle must be poll, and the ring as it was: {b.show('workers')} {b.show('ports')}")
    until(lambda: "reload: [daemon] sessions: needs a restart" in b.process.err(), 5,
          "the line that sessions needs a restart")

    # A file with a mistake changes nothing, not even the keys before the mistake.
    said, err = _reload(b, {"idle": "pause"}, {"capacity": "200Mbit", "mtu": 90}, status=1)
    if said["good"] or said["changed"] or "mtu" not in said["error"] or said["error"] not in err:
        raise TestbedError(f"the reload must name the mistake in mtu: {said} {err}")
    idle, capacity = [w["idle"] for w in b.show("workers")], b.show("capacity")[0]["capacity_Bps"]
    if idle != ["poll"] or capacity != 50_000_000:
        raise TestbedError(f"a file with a mistake has changed idle to {idle} or capacity to {capacity}")

    # A new peer gets its ceiling. Then the peer goes, and SIGHUP reloads as the command does.
    b.peers = "[peer a]\naddress = 10.90.0.1/32\nceiling = 40Mbit\n"
    _reload(b, {"idle": "sleep"}, {"mtu": 9000})
    until(lambda: max(_grants(b)) <= 5e6, 30, "a ceiling of 40 Mbit/s")
    b.peers = ""
    b.write_config()
    b.process.signal(signal.SIGHUP)
    until(lambda: b.show("reload")[0]["changed"] == ["[peer a], which is gone"], 10, "a reload")
    until(lambda: 22e6 < sum(_grants(b)) <= 25e6, 30, "a share of 200 Mbit/s")
    sender.must_run()
    sender.stop()
    for daemon in (a, b):
        daemon.stop()


@scene("reload: by whom, and without a daemon", company=True)
def reload_refused(testbed: Testbed, context: Context) -> None:
    a, b = memif_pair(testbed, context.build)
    program = b.build.program("sluice")
    one_line(testbed.start("none", [program, "reload", "--socket", testbed.path("none.sock")]), 20, 3)
    one_line(testbed.start("words", [program, "reload", "now"]), 20, USAGE)
    if os.geteuid() == 0:
        os.chmod(b.socket, 0o666)
        os.chmod(testbed.dir, 0o755)
        other = testbed.start("nobody", ["setpriv", "--reuid", "65534", "--clear-groups", program, "reload",
                                         "--socket", b.socket])
        one_line(other, 20, 5, "not permitted", "root")
    if b.show("reload"):
        raise TestbedError(f"a refused reload took place: {b.show('reload')}")
    for daemon in (a, b):
        daemon.stop()


@scene("doctor: a daemon that runs, and one that does not", company=True)
def doctor(testbed: Testbed, context: Context) -> None:
    a, b = memif_pair(testbed, context.build)

    def look(*args: str) -> dict[str, dict[str, Any]]:
        """The findings of the doctor, by check."""
        done = subprocess.run([context.build.program("sluice"), "doctor", "--json", *args],
                              capture_output=True, text=True, timeout=60, check=False,
                              env={**os.environ, "SLUICE_SOCKET": ""})  # empty counts as not set
        said = json.loads(done.stdout)
        if done.returncode != (1 if said["bad"] > 0 else 0):
            raise TestbedError(f"status {done.returncode}: {said}")
        if sum(f["level"] == "bad" for f in said["findings"]) != said["bad"] or any(
                not f["cure"] for f in said["findings"] if f["level"] != "good"):
            raise TestbedError(f"a wrong number of bad findings, or a finding without a cure: {said}")
        return {f["check"]: f for f in said["findings"]}

    found = look("--config", b.config)
    if found["config"]["level"] != "good" or f"process {b.pid()} answers" not in found["socket"]["text"]:
        raise TestbedError(f"the doctor must find this daemon healthy: {found}")
    if not {"hugepages", "ports", "locking", "clock", "cpus"} <= set(found):
        raise TestbedError(f"a check is missing: {sorted(found)}")
    b.stop()
    a.stop()
    with open(b.config, "a", encoding="utf-8") as f:
        f.write("mtv = 9000\n")
    found = look("--config", b.config)
    if found["config"]["level"] != "bad" or "did you mean mtu" not in found["config"]["text"] or \
            "no daemon runs" not in found["socket"]["text"]:
        raise TestbedError(f"the doctor must see the mistake, and that no daemon runs: {found}")
    one_line(testbed.start("usage", [context.build.program("sluice"), "doctor", "now"]), 20, USAGE)


class _Example(Daemon):
    """One of the two daemons of config/memif-*.conf, started as its comment says, with the lcores of its key `eal`."""

    def __init__(self, testbed: Testbed, build: Build, name: str) -> None:
        super().__init__(testbed, build, name, [], [], 0)
        with open(os.path.join(ROOT, "config", f"memif-{name}.conf"), encoding="utf-8") as f:
            self.text = f.read()
        line = next(x for x in self.text.splitlines() if x.startswith("#   sluiced "))
        self.options = shlex.split(line[1:])[1:]
        found = re.search(r"^eal += (--lcores \S+)", self.text, re.MULTILINE)
        assert found is not None, f"memif-{name}.conf has no lcores"
        self.lcores = self.shipped_lcores = found[1]

    def config_text(self) -> str:
        more = "".join(f"{key} = {value}\n" for key, value in locking().items())
        text = self.text.replace("/run/sluice/", self.testbed.dir + "/").replace("[daemon]\n", "[daemon]\n" + more)
        if not self.build.huge:  # as the comment says
            text = text.replace("--in-memory", "--no-huge --no-shconf")
        return text.replace(self.shipped_lcores, f"{self.lcores} --no-telemetry", 1)

    def args(self) -> list[object]:
        if self.options != ["--config", f"config/memif-{self.name}.conf"]:
            raise TestbedError(f"memif-{self.name}.conf is to be started by {self.options}")
        return [self.build.program("sluiced"), "--config", self.config]

    def worker_cpus_now(self) -> set[str]:
        """The CPU lists of its worker threads."""
        found: set[str] = set()
        for task in glob.glob(f"/proc/{self.pid()}/task/*"):
            with open(f"{task}/comm", encoding="utf-8") as f:
                if not f.read().startswith("sl-worker-"):
                    continue
            with open(f"{task}/status", encoding="utf-8") as f:
                found |= {line.split()[1] for line in f if line.startswith("Cpus_allowed_list:")}
        return found


@scene("the memif example as it stands: each worker has a CPU, and the doctor sees when they have not")
def memif_example(testbed: Testbed, context: Context) -> None:
    need(None if {0, 1} <= set(cpus()) else "the example needs CPUs 0 and 1")
    a, b = (_Example(testbed, context.build, name) for name in "ab")
    a.start()
    b.start()

    def told() -> list[dict[str, Any]]:
        """The findings of the doctor that name both daemons."""
        done = testbed.start("doctor", b.command("doctor", "--json", "--config", b.config))
        done.wait(30)
        return [f for f in json.loads(done.out())["findings"]
                if f["check"] == "workers" and str(a.pid()) in f["text"] and str(b.pid()) in f["text"]]

    if len(a.worker_cpus_now()) != 1 or a.worker_cpus_now() == b.worker_cpus_now() or told():
        raise TestbedError(f"workers on CPUs {a.worker_cpus_now()} and {b.worker_cpus_now()}: {told()}")
    for daemon in (a, b):
        daemon.wait_link()
    perf(b, a, ADDR_B, "-n", "64M")
    b.stop()
    b.lcores = a.lcores
    b.start()
    if [f["level"] for f in told()] != ["warning"]:
        raise TestbedError(f"both on CPU {b.worker_cpus_now()}, and the doctor says {told()}")
    for daemon in (a, b):
        daemon.stop()


# ---- keys ----------------------------------------------------------------------------------------

KEY = r"[A-Za-z0-9+/]{43}="  # as text


def _key(context: Context, *args: str, said: str = "") -> str:
    """What `sluice key` prints; said: its standard input."""
    done = subprocess.run([context.build.program("sluice"), "key", *args], input=said, capture_output=True, text=True,
                          timeout=60, check=False)
    if done.returncode != GOOD or done.stderr:
        raise TestbedError(f"sluice key {args}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout.strip()


def _text(path: str) -> str:
    with open(path, encoding="utf-8") as f:
        return f.read()


@scene("sluice key: makes keys without a daemon, and replaces none", company=True)
def key(testbed: Testbed, context: Context) -> None:
    program, file = context.build.program("sluice"), testbed.path("a.key")
    before = os.umask(0)
    try:
        public = _key(context, "generate", file)
        shared = testbed.path("shared.key")
        if _key(context, "shared", shared):
            raise TestbedError("a shared key in a file has nothing to print")
    finally:
        os.umask(before)
    for path in (file, shared):
        if os.stat(path).st_mode & 0o7777 != 0o600 or not re.fullmatch(KEY + "\n", _text(path)):
            raise TestbedError(f"{path} has mode {os.stat(path).st_mode:o} and {os.stat(path).st_size} bytes")
    private = _text(file)
    if not re.fullmatch(KEY, public) or public == private.strip() or _key(context, "public", file) != public or \
            _key(context, "public", said=private) != public or _key(context, "public", "-", said=private) != public:
        raise TestbedError(f"the public key of {file} is not always {public}")
    if _key(context, "generate") == _key(context, "generate", "-"):
        raise TestbedError("two keys are the same")
    # The example of the RFC that defines these keys (RFC 7748, section 6.1).
    if _key(context, "public", said="dwdtCnMYpX08FsFyUbJmRd9ML4frwJkqsXf7pR25LCo=") != \
            "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo=":
        raise TestbedError("the public key of RFC 7748's Alice is wrong")
    one_line(testbed.start("again", [program, "key", "generate", file]), 20, LOCAL, file, "exists", "remove it")
    if _text(file) != private:
        raise TestbedError("a key was replaced")
    os.chmod(file, 0o644)
    one_line(testbed.start("mode", [program, "key", "public", file]), 20, LOCAL, "0644", f"chmod 600 {file}")
    os.chmod(file, 0o600)
    with open(file, "a", encoding="utf-8") as f:
        f.write("more\n")
    one_line(testbed.start("more", [program, "key", "public", file]), 20, LOCAL, f"{file}:2: follows the key")
    one_line(testbed.start("folder", [program, "key", "shared", testbed.path("no/k")]), 20, LOCAL, "No such file")
    wrong: tuple[list[str], ...] = ([], ["private"], ["generate", "a", "b"], ["--owner", "root", "generate"],
                                    ["--owner", "nobody-at-all", "generate", testbed.path("k")], ["--sockt"])
    for number, args in enumerate(wrong):
        one_line(testbed.start(f"usage{number}", [program, "key", *args]), 20, USAGE)
    if os.path.exists(testbed.path("k")):
        raise TestbedError("a refused command has made a file")


def _secured(testbed: Testbed, context: Context, pair: list[Daemon]) -> list[str]:
    """Gives both daemons keys, and each the other as its peer; returns what nobody may see."""
    shared = _key(context, "shared")
    introduce(pair, NETWORKS, [{"shared_key_file": key_file(testbed, f"{d.name}-shared.key", shared)} for d in pair])
    return [shared, *(_text(testbed.path(f"{d.name}.key")).strip() for d in pair)]


def _all_shown(context: Context, daemon: Daemon) -> str:
    """All that the daemon shows and has said."""
    done = subprocess.run([context.build.program("sluice"), "complete", "show", ""], capture_output=True, text=True,
                          timeout=60, check=True)
    views = [line.split("\t")[0] for line in done.stdout.splitlines()]
    shown = [subprocess.run(daemon.command("show", view, "--json"), capture_output=True, text=True, timeout=60,
                            check=False).stdout for view in views]
    if sum(len(text) > 20 for text in shown) < 10:
        raise TestbedError(f"the daemon shows too little: {dict(zip(views, shown))}")
    return "\n".join(shown) + daemon.process.err() + daemon.process.out()


@scene("keys: of a daemon that had none, changed and taken away while it runs; none is ever shown")
def keys_live(testbed: Testbed, context: Context) -> None:
    pair = memif_pair(testbed, context.build)
    a, b = pair
    secrets = _secured(testbed, context, pair)
    # A key comes with the next start only.
    _expect(_reload(b)[0], [f"[peer {a.name}], which is new"], ["[daemon] private_key_file", "[port net_memif0] security"])
    for daemon in pair:
        daemon.stop()
    for daemon in pair:
        daemon.start()
    for daemon in pair:
        daemon.wait_link()
    if "1 of 1 peer(s) have a key" not in b.process.err():
        raise TestbedError(f"the start must say how many peers have keys: {b.process.tail()}")
    transfer_works(a, b, ADDR_B)
    _expect(_reload(b)[0], [], [])

    # The same file, another shared key: on both sides, and the next transfer works.
    secrets.append(_key(context, "shared"))
    for daemon, other in ((a, b), (b, a)):
        with open(testbed.path(f"{daemon.name}-shared.key"), "w", encoding="utf-8") as f:
            f.write(secrets[-1])
        _expect(_reload(daemon)[0], [f"[peer {other.name}] the key in shared_key_file"], [])
    transfer_works(b, a, ADDR_A)

    # Another private key waits for a restart, and says so each time.
    own = testbed.path("b.key")
    old = _text(own)
    os.unlink(own)
    _key(context, "generate", own)
    secrets.append(_text(own).strip())
    for _ in range(2):
        _expect(_reload(b)[0], [], ["[daemon] the key in private_key_file"])
    with open(own, "w", encoding="utf-8") as f:
        f.write(old)

    # A file that others may read changes nothing.
    os.chmod(own, 0o640)
    b.write_config()
    one_line(testbed.start("open", b.command("reload")), 20, 1, own, "0640", f"chmod 600 {own}")
    os.chmod(own, 0o600)

    # The last peer can be taken away.
    b.peers = ""
    _expect(_reload(b)[0], [f"[peer {a.name}], which is gone"], [])
    until(lambda: "nobody can connect through port net_memif0" in b.process.err(), 5, "the remark that nobody can connect")
    one_line(b.sluice("to-stranger", "perf", "client", "-t", "1", ADDR_A), 20, 4, "no key of that host", "public_key")

    for daemon in pair:
        text = _all_shown(context, daemon)
        for secret in secrets:
            if secret in text:
                raise TestbedError(f"a secret key of {daemon.name} was shown")
        daemon.stop()


def _findings(testbed: Testbed, context: Context, config: str) -> list[dict[str, str]]:
    """What the doctor finds, without a daemon."""
    done = subprocess.run([context.build.program("sluice"), "doctor", "--json", "--config", config], capture_output=True,
                          text=True, timeout=60, check=False, env={**os.environ, "SLUICE_SOCKET": testbed.path("none")})
    found: list[dict[str, str]] = json.loads(done.stdout)["findings"]
    return found


@scene("keys: a daemon does not start with files that others may read, or without anybody to talk to", company=True)
def keys_refused(testbed: Testbed, context: Context) -> None:
    program, private = context.build.program("sluiced"), testbed.path("k")
    config = testbed.path("k.conf")
    public = _key(context, "generate", private)

    def write(peers: str, daemon: str = "") -> None:
        with open(config, "w", encoding="utf-8") as f:
            f.write(f"[daemon]\nprivate_key_file = {private}\n{daemon}[port 0000:ff:00.0]\naddress = 10.0.0.1/24\n{peers}")

    def refused(name: str, *parts: str) -> None:
        """By the check and by the start, before the EAL is touched."""
        for kind, args in (("check", ["--check", config]), ("start", ["--config", config])):
            one_line(testbed.start(f"{name}-{kind}", [program, *args]), 20, CONFIG, *parts)

    write("")
    refused("nobody", re.escape(f"{config}:2: [daemon] private_key_file: no peer has a key"), "0000:ff:00.0")
    write(f"[peer b]\naddress = 10.0.0.2/32\npublic_key = {public}\n")
    refused("own", re.escape(f"{config}:7: [peer b] public_key: is that of this host"))
    peer = f"[peer b]\naddress = 10.0.0.2/32\npublic_key = {_key(context, 'public', said=_key(context, 'generate'))}\n"
    write(peer)
    os.chmod(private, 0o604)
    refused("mode", re.escape(f"{config}:2: [daemon] private_key_file: {private}: its mode 0604"), "chmod 600")
    os.chmod(private, 0o600)
    status, out, err = _check(context, config)
    if status != GOOD or f"public key of this host: {public}" not in out or "security required" not in out or \
            "peer b: secured, public key" not in out:
        raise TestbedError(f"the check must say what is secured: {out}{err}")
    found = {f["check"]: f for f in _findings(testbed, context, config)}
    if found["keys"]["level"] != "good" or found["security"]["level"] != "good" or "time" not in found:
        raise TestbedError(f"the doctor must find the key and the port all right: {found}")

    # A key log has rules of its own, and is warned of.
    log = testbed.path("log")
    write(peer, f"key_log_file = {log}\n")
    with open(os.open(log, os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="ascii") as f:
        f.write("a file of another kind\n")
    refused("log", re.escape(f"{config}:3: [daemon] key_log_file: {log}: has something in it"), "name another file")
    os.unlink(log)
    os.symlink(private, log)
    refused("link", re.escape(f"{config}:3: [daemon] key_log_file: {log}: is or goes through a symbolic link"))
    os.unlink(log)
    status, out, err = _check(context, config)
    if status != GOOD or f"WARNING: keys are logged to {log}" not in out or os.path.exists(log):
        raise TestbedError(f"the check must warn of the key log, and make none: {status} {out}{err}")
    if not any(f["level"] == "warning" and f"{log}: keys are logged there" in f["text"]
               for f in _findings(testbed, context, config)):
        raise TestbedError("the doctor must warn of the key log")
    write(peer)

    # Another user may check the file, but not see the key.
    need(None if os.geteuid() == 0 else "only root can become another user")
    os.chmod(testbed.dir, 0o755)
    other = subprocess.run(["setpriv", "--reuid", "65534", "--clear-groups", program, "--check", config],
                           capture_output=True, text=True, timeout=60, check=False)
    if other.returncode != GOOD or "key files are not checked" not in other.stdout or other.stderr:
        raise TestbedError(f"status {other.returncode}: {other.stdout}{other.stderr}")
