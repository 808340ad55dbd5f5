# SPDX-License-Identifier: BSD-3-Clause
"""tshark with a dissector's script. Since version 4.4, tshark silently runs no script for root, so it runs as
nobody then."""
import os
import pwd
import shutil
import subprocess
import tempfile
from typing import Any

TIMEOUT_S = 120


def there() -> bool:
    return shutil.which("tshark") is not None


def run(script: str, capture: str, *args: str) -> subprocess.CompletedProcess[str]:
    """The ended process, with its output. For root, tshark gets copies of script and capture, which nobody may
    read."""
    root = os.geteuid() == 0  # nobody may not enter root's own temporary folder
    with tempfile.TemporaryDirectory(prefix="sluice-tshark-", dir="/tmp" if root else None) as folder:
        user: dict[str, Any] = {}
        script, capture = os.path.abspath(script), os.path.abspath(capture)
        if root:
            os.chmod(folder, 0o755)
            script, capture = (shutil.copyfile(x, os.path.join(folder, os.path.basename(x)))
                               for x in (script, capture))
            nobody = pwd.getpwnam("nobody")
            user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        return subprocess.run(["tshark", "-n", "-X", f"lua_script:{script}", "-r", capture, *args],
                              env={**os.environ, "HOME": folder}, cwd=folder, text=True,
                              capture_output=True, timeout=TIMEOUT_S, check=False, **user)
