# SPDX-License-Identifier: BSD-3-Clause
"""tshark with a dissector's script, as somebody for whom it runs one: since 4.4 it does not for root,
and says nothing of it."""
import os
import pwd
import shutil
import subprocess
import tempfile

TIMEOUT_S = 120


def there():
    return shutil.which("tshark") is not None


def run(script, capture, *args):
    """The ended process, with its output; nobody sees copies of script and capture, if root asks."""
    root = os.geteuid() == 0  # whose own temporary folder nobody may not enter
    with tempfile.TemporaryDirectory(prefix="sluice-tshark-", dir="/tmp" if root else None) as folder:
        who, script, capture = {}, os.path.abspath(script), os.path.abspath(capture)
        if root:
            os.chmod(folder, 0o755)
            script, capture = (shutil.copyfile(x, os.path.join(folder, os.path.basename(x)))
                               for x in (script, capture))
            nobody = pwd.getpwnam("nobody")
            who = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        return subprocess.run(["tshark", "-n", "-X", f"lua_script:{script}", "-r", capture, *args],
                              env={**os.environ, "HOME": folder}, cwd=folder, text=True,
                              capture_output=True, timeout=TIMEOUT_S, check=False, **who)
