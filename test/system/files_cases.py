# SPDX-License-Identifier: BSD-3-Clause
"""What the cases of files_test.py share: running `sluice`, comparing trees, counting."""
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

BUILD = os.environ.get("SLUICE_BUILD", "build")
SOCK_A = os.environ.get("SLUICE_SOCK_A", "")
SOCK_B = os.environ.get("SLUICE_SOCK_B", "")
ADDR_B = os.environ.get("SLUICE_ADDR_B", "")
SLUICE = os.path.join(BUILD, "app", "sluice", "sluice")
PATIENCE_S = 60
SEED = int(os.environ.get("SLUICE_SEED") or str(random.randrange(1 << 32)), 0)
MIB = 1 << 20
OK, TRANSFER, USAGE, DAEMON, PEER, LOCAL, REMOTE, RESOURCE = range(8)

_ports = iter(range(20000, 30000))
_cases = []


class Skip(Exception):
    pass


def case(name):
    def register(function):
        _cases.append((name, function))
        return function
    return register


def port():
    """A service number that no other case uses."""
    return next(_ports)


class Run:
    """A process of the command, its output in files."""
    running = []

    def __init__(self, *args, stdin=subprocess.DEVNULL, stdout=None, sock=None, prefix=(),
                 env=None, umask=-1):
        self.out_file = tempfile.TemporaryFile() if stdout is None else stdout
        self.err_file = tempfile.TemporaryFile()
        argv = [*prefix, SLUICE, *(str(a) for a in args)]
        if sock is not None:
            argv += ["--socket", sock]
        self.process = subprocess.Popen(argv, stdin=stdin, stdout=self.out_file,
                                        stderr=self.err_file, env=env, umask=umask)
        Run.running.append(self)

    @classmethod
    def end_all(cls):
        """What a case that broke has left."""
        for run in cls.running:
            if run.process.poll() is None:
                run.process.kill()
                run.process.wait()
        cls.running.clear()

    @staticmethod
    def _text(file):
        return os.pread(file.fileno(), 1 << 20, 0).decode(errors="surrogateescape")

    @property
    def out(self):
        return self._text(self.out_file)

    @property
    def err(self):
        return self._text(self.err_file)

    @property
    def errors(self):
        """Lines on stderr but for remarks."""
        return [x for x in self.err.splitlines()
                if not x.startswith(("sluice: waiting on port", "sluice: sent ",
                                     "sluice: received "))]

    def ready(self):
        """Waits until a receiver or server listens (-v)."""
        wait_for("ready", lambda: "waiting on port" in self.err or self.process.poll() is not None)
        assert self.process.poll() is None, f"ended\n{self.err}"

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self, timeout_s=PATIENCE_S):
        try:
            return self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"{' '.join(self.process.args)}: not over after {timeout_s} s\n"
                                 f"{self.err}") from None

    def expect(self, code, *words, lines=None, timeout_s=PATIENCE_S):
        """Ends with this code; errors are one line each that names cause and cure."""
        status = self.wait(timeout_s)
        assert status == code, f"exit {status}, not {code}\n{self.err}{self.out[-500:]}"
        errors = self.errors
        if lines is None:
            lines = 0 if code == 0 else 1
        assert len(errors) == lines, f"{lines} lines expected\n{self.err}"
        for line in errors:
            assert line.startswith("sluice: ") and len(line) > 20, line
            assert ": " in line[8:] or ";" in line, f"no cause and cure: {line}"
        for word in words:
            assert word in self.err, f"{word!r} is not in\n{self.err}"


def recv(where, *args, once=True, **more):
    """A receiver that is ready, and takes all permission bits. Returns it and the host:port to send
    to."""
    number = port()
    more.setdefault("umask", 0)
    run = Run("recv", "-v", "-p", number, "-o", where, *(["--once"] if once else []), *args,
              sock=SOCK_B, **more)
    run.ready()
    return run, f"{ADDR_B}:{number}"


def send(*args, **more):
    return Run("send", *args, sock=SOCK_A, **more)


def feeding(*args, **more):
    """A sender of standard input that stays open, and the pipe into it."""
    reader, writer = os.pipe()
    run = send(*args, stdin=reader, **more)
    os.close(reader)
    return run, writer


def make(folder, name, content):
    path = os.path.join(folder, name)
    with open(path, "wb") as f:
        f.write(content)
    return path


def to_folder(folder, *paths, options=(), code=OK, recv_code=OK):
    """Sends paths into folder/in; both processes."""
    target = os.path.join(folder, "in")
    os.makedirs(target, exist_ok=True)
    receiver, host = recv(target)
    sender = send(*options, *paths, host)
    sender.expect(code)
    receiver.expect(recv_code)
    assert not parts(target), parts(target)
    return target


def parts(folder):
    """Names of temporary files left in it."""
    return [n for _, _, names in os.walk(folder) for n in names if ".part-" in n]


def wait_for(what, condition, timeout_s=PATIENCE_S):
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, f"waited in vain: {what}"
        time.sleep(0.02)


def same_file(a, b):
    with open(a, "rb") as x, open(b, "rb") as y:
        while True:
            one, two = x.read(1 << 22), y.read(1 << 22)
            if one != two:
                return False
            if not one:
                return True


def listing(folder):
    """{name: (kind, mode, mtime_ns, size)} of what lies in it."""
    found = {}
    for path, dirs, files in os.walk(os.fsencode(folder)):
        for name in dirs + files:
            full = os.path.join(path, name)
            st = os.lstat(full)
            is_dir = name in dirs
            found[os.path.relpath(full, os.fsencode(folder))] = (
                is_dir, st.st_mode & 0o777, st.st_mtime_ns, 0 if is_dir else st.st_size)
    return found


def main(argv):
    if not (SOCK_A and SOCK_B and ADDR_B):
        print("set SLUICE_BUILD, SLUICE_SOCK_A, SLUICE_SOCK_B and SLUICE_ADDR_B (daemons must run)")
        return 2
    print(f"# SLUICE_SEED={SEED}")
    chosen = [(n, f) for n, f in _cases if not argv or any(a in n for a in argv)]
    passed = failed = 0
    for number, (name, function) in enumerate(chosen, 1):
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="sluice-files-") as folder:
            try:
                function(folder)
                passed += 1
                print(f"ok {number} - {name} ({time.monotonic() - began:.1f} s)", flush=True)
            except Skip as why:
                print(f"ok {number} - {name} # SKIP {why}", flush=True)
            except Exception as error:  # a case that breaks is a case that failed
                failed += 1
                print(f"not ok {number} - {name}", flush=True)
                for line in f"{type(error).__name__}: {error}".splitlines():
                    print(f"# {line}", flush=True)
            finally:
                Run.end_all()
    print(f"1..{len(chosen)}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


INTERRUPT = signal.SIGINT
sys.dont_write_bytecode = True
