#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The examples for clusters in config: container, kubernetes, slurm, ansible. A fault of one is noticed.

Usage: cluster_test.py BUILD [ROOT]      BUILD: a build folder, complete; TAP on standard output

- Each configuration of a daemon is one that `sluiced --check` calls good.
- Objects of Kubernetes have the fields that these kinds need and no others, name what exists, and give no privileges but those
  that they list. No schema of Kubernetes is used: Debian has none.
- The job of Slurm runs with programs that stand for srun and for `sluice cp`.
- ansible-playbook checks the playbook; its template is filled in for each host.
"""
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import tap

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(sys.argv[1])
ROOT = os.path.abspath(sys.argv[2] if len(sys.argv) > 2 else os.path.join(HERE, "../.."))
SLUICED, SLUICE = os.path.join(BUILD, "app/sluiced/sluiced"), os.path.join(BUILD, "app/sluice/sluice")
FOLDERS = ("container", "kubernetes", "slurm", "ansible")
# What the examples replace when they run.
PLACES: Mapping[str, str] = {"@LAST@": "7", "@PCI@": "0000:01:00.0"}
KINDS: Mapping[str, str] = {"ConfigMap": "v1", "Pod": "v1", "DaemonSet": "apps/v1"}
POD_KEYS = {"affinity", "containers", "hostNetwork", "initContainers", "restartPolicy", "securityContext", "volumes"}
CONTAINER_KEYS = {"args", "command", "env", "image", "name", "readinessProbe", "resources", "securityContext", "volumeMounts"}
SECURITY_KEYS = {"allowPrivilegeEscalation", "capabilities", "readOnlyRootFilesystem", "runAsGroup", "runAsNonRoot", "runAsUser"}
VOLUME_SOURCES = {"configMap", "emptyDir", "hostPath"}
# Stands for srun on two nodes: each has its own SCRATCH.
SRUN = """#!/bin/bash
while [[ $1 = --* ]]; do shift; done
status=0
for node in 0 1; do SLURM_NODEID=$node SCRATCH=$SCRATCH-$node "$@" || status=$?; done
exit $status
"""
# Stands for `sluice cp -r --resume FROM TO`, where the host "store" is this one. Every other call is cut off, and all that have
# $LOSES in TO.
SLUICE_CP = """#!/bin/bash
[ "$1 $2 $3" = "cp -r --resume" ] && [ $# = 5 ] || exit 2
[ -z "$LOSES" ] || [[ $5 != *$LOSES* ]] || exit 6
from=${4#store:} to=${5#store:}
[ -d "$to" ] || exit 5
echo >>"$CALLS"
[ $(($(wc -l <"$CALLS") % 2)) = 0 ] || exit 6
cp -r "$from" "$to"
"""
# (fault, file below config, its text, what stands there instead, what a message says)
FAULTS: list[tuple[str, str, str, str, str]] = [
    ("a key that the daemon does not know", "container/a.conf", "silence = 10s", "silent = 10s", "silent"),
    ("a configuration in an object", "kubernetes/daemonset.yaml", "mtu     = 1500", "mtu     = 15", "mtu"),
    ("another kind", "kubernetes/daemonset.yaml", "kind: DaemonSet", "kind: Daemonset", "Daemonset"),
    ("a field that no container has", "kubernetes/daemonset.yaml", "readinessProbe:", "readyProbe:", "readyProbe"),
    ("a volume that is not there", "kubernetes/memif.yaml", "- name: data\n      emptyDir", "- name: date\n      emptyDir", "volume data"),
    ("a configuration that is not mounted", "kubernetes/memif.yaml", "/etc/sluice/b.conf", "/etc/sluice/c.conf", "c.conf"),
    ("a selector of other pods", "kubernetes/daemonset.yaml", "labels:\n        app: sluiced", "labels:\n        app: sluice", "selector"),
    ("all capabilities", "kubernetes/sriov.yaml", 'drop: ["ALL"]', "drop: []", "drop ALL"),
    ("a privileged container", "kubernetes/sriov.yaml", "allowPrivilegeEscalation: false", "privileged: true", "privileged"),
    ("hugepages that are not guaranteed", "kubernetes/sriov.yaml", "          hugepages-2Mi: 1Gi\n          intel.com/sluice: \"1\"\n      vol",
     "          intel.com/sluice: \"1\"\n      vol", "hugepages-2Mi"),
    ("a job that forgets its status", "slurm/stage.sbatch", 'exit "$status"', "exit 0", "status 0"),
    ("a job that leaves its files", "slurm/stage.sbatch", 'exec rm -rf -- "$SCRATCH"', "exit 0", "is left"),
    ("a job that removes results", "slurm/stage.sbatch", 'rm -rf -- \\"\\$SCRATCH/input\\"', 'rm -rf -- \\"\\$SCRATCH\\"', "not on node"),
    ("a job that tries once", "slurm/stage.sbatch", "sluice cp -r --resume \"$STORE/input\" \"$SCRATCH/\" || exit 0",
     "sluice cp -r --resume \"$STORE/input\" \"$SCRATCH/\" && exit 0; exit 1", "status 1"),
    ("a module that Ansible does not have", "ansible/sluice.yml", "ansible.builtin.systemd:\n        name: sluiced\n        enabled",
     "ansible.builtin.service_unit:\n        name: sluiced\n        enabled", "service_unit"),
    ("a peer without a key", "ansible/sluiced.conf.j2", "public_key = ", "public_kay = ", "public_kay"),
]


def run(*words: str, env: Mapping[str, str] | None = None) -> tuple[int, str]:
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          timeout=120, env={**os.environ, "LC_ALL": "C.UTF-8", **(env or {})})
    return done.returncode, done.stdout


def text_of(path: str) -> str:
    with open(path, encoding="utf-8") as f:
        return f.read()


def write(path: str, text: str, mode: int = 0o644) -> None:
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(path, mode)


def paths(folder: str, ending: str) -> list[str]:
    found = sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(ending))
    assert found, f"{folder} has no {ending}"
    return found


def config_problems(name: str, text: str) -> list[str]:
    """What `sluiced --check` says of a configuration that is not good."""
    for place, value in PLACES.items():
        text = text.replace(place, value)
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as f:
        f.write(text)
        f.flush()
        status, said = run(SLUICED, "--check", f.name)
        return [] if status == 0 and said.startswith(f"{f.name}: good;") else [f"{name}: {said.replace(f.name, '').strip()}"]


def judge_container(folder: str) -> list[str]:
    return [problem for path in paths(folder, ".conf") for problem in config_problems(path, text_of(path))]


# ---- Kubernetes ----------------------------------------------------------------------------------


def unknown(where: str, found: Mapping[str, Any], known: set[str]) -> list[str]:
    return [f"{where}: {key} is no field that these examples use; correct it, or add it here" for key in sorted(set(found) - known)]


def container_problems(where: str, container: Mapping[str, Any], volumes: Mapping[str, Mapping[str, str]]) -> list[str]:
    """volumes: the files of each, by name."""
    bad = unknown(where, container, CONTAINER_KEYS)
    bad += [f"{where}: no {key}" for key in ("name", "image", "securityContext") if not container.get(key)]
    security = container.get("securityContext", {})
    capabilities = security.get("capabilities", {})
    bad += unknown(where, security, SECURITY_KEYS) + unknown(where, capabilities, {"add", "drop"})
    bad += [] if capabilities.get("drop") == ["ALL"] else [f"{where}: capabilities: drop ALL, and add what is needed"]
    bad += [f"{where}: Kubernetes names {name} without CAP_" for name in capabilities.get("add", []) if name.startswith("CAP_")]
    bad += [] if security.get("allowPrivilegeEscalation") is False else [f"{where}: allowPrivilegeEscalation is not false"]
    requests, limits = (container.get("resources", {}).get(key, {}) for key in ("requests", "limits"))
    bad += [f"{where}: {name}: requests and limits must be the same" for name in sorted({*requests, *limits} - {"cpu", "memory"})
            if requests.get(name) != limits.get(name)]
    files: dict[str, str] = {}
    for mount in container.get("volumeMounts", []):
        bad += unknown(where, mount, {"name", "mountPath", "readOnly"})
        if mount["name"] not in volumes:
            bad.append(f"{where}: no volume {mount['name']}")
        files.update({f"{mount['mountPath']}/{name}": text for name, text in volumes.get(mount["name"], {}).items()})
    words = [*container.get("command", []), *container.get("args", [])]
    bad += [f"{where}: {word!r} is no text" for word in words if not isinstance(word, str)]
    if "--config" in words and words[words.index("--config") + 1] not in files:
        bad.append(f"{where}: {words[words.index('--config') + 1]} is in no volume of a ConfigMap")
    if words[:2] == ["sh", "-ec"]:
        status, said = run("sh", "-nc", words[2])
        bad += [f"{where}: {said}"] if status != 0 else []
    return bad


def pod_problems(where: str, spec: Mapping[str, Any], maps: Mapping[str, Mapping[str, str]]) -> list[str]:
    """maps: the files of each ConfigMap."""
    bad = unknown(where, spec, POD_KEYS)
    volumes: dict[str, Mapping[str, str]] = {}
    for volume in spec.get("volumes", []):
        (source,) = set(volume) - {"name"}
        bad += unknown(where, {source: ""}, VOLUME_SOURCES)
        if source == "configMap" and volume[source]["name"] not in maps:
            bad.append(f"{where}: no ConfigMap {volume[source]['name']}")
        volumes[volume["name"]] = maps.get(volume[source]["name"], {}) if source == "configMap" else {}
    containers = [*spec.get("initContainers", []), *spec["containers"]]
    names = [container.get("name") for container in containers]
    bad += [] if len(set(names)) == len(names) else [f"{where}: two containers of one name: {names}"]
    for container in containers:
        bad += container_problems(f"{where}: {container.get('name')}", container, volumes)
    return bad


def objects(path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """(name for messages, object) of each object in a file."""
    yaml: Any = importlib.import_module("yaml")
    for one in yaml.safe_load_all(text_of(path)):
        yield f"{os.path.basename(path)}: {one.get('kind')} {one['metadata']['name']}", one


def judge_kubernetes(folder: str) -> list[str]:
    bad: list[str] = []
    for path in paths(folder, ".yaml"):
        found = list(objects(path))
        maps = {one["metadata"]["name"]: one["data"] for _, one in found if one["kind"] == "ConfigMap"}
        for where, one in found:
            if KINDS.get(one["kind"]) != one.get("apiVersion"):
                bad.append(f"{where}: not one of {dict(KINDS)}")
            elif one["kind"] == "ConfigMap":
                bad += unknown(where, one, {"apiVersion", "data", "kind", "metadata"})
                bad += [problem for name, text in one["data"].items() for problem in config_problems(f"{where}: {name}", text)]
            elif one["kind"] == "Pod":
                bad += unknown(where, one, {"apiVersion", "kind", "metadata", "spec"}) + pod_problems(where, one["spec"], maps)
            else:
                spec = one["spec"]
                bad += unknown(where, spec, {"selector", "template"}) + pod_problems(where, spec["template"]["spec"], maps)
                if spec["selector"] != {"matchLabels": spec["template"]["metadata"]["labels"]}:
                    bad.append(f"{where}: the selector names other labels than the template has")
    return bad


# ---- Slurm ---------------------------------------------------------------------------------------


def job(folder: str, scratch: str, program: str, loses: str = "") -> tuple[int, str]:
    """Runs the job with the program, a script, on data of a store in the folder scratch. loses: see SLUICE_CP."""
    os.makedirs(f"{scratch}/bin")
    os.makedirs(f"{scratch}/nodes", exist_ok=True)
    os.makedirs(f"{scratch}/store/input")
    os.makedirs(f"{scratch}/store/results")
    write(f"{scratch}/store/input/data", "b\na\n")
    write(f"{scratch}/bin/srun", SRUN, 0o755)
    write(f"{scratch}/bin/sluice", SLUICE_CP, 0o755)
    return run("bash", f"{folder}/stage.sbatch", f"store:{scratch}/store", "sh", "-c", program,
               env={"PATH": f"{scratch}/bin:{os.environ['PATH']}", "CALLS": f"{scratch}/calls", "SLURM_JOB_ID": "12",
                    "SLURM_NNODES": "2", "SCRATCH_ROOT": f"{scratch}/nodes", "RETRY_S": "0.01", "LOSES": loses})


def judge_slurm(folder: str) -> list[str]:
    bad: list[str] = []
    for program, due in (("sort input/data >output/data", 0), ("sort input/data >output/data; exit 3", 3)):
        with tempfile.TemporaryDirectory() as scratch:
            status, said = job(folder, scratch, program)
            bad += [] if status == due else [f"{program}: status {status}, not {due}", *said.splitlines()]
            for node in (0, 1):
                path = f"{scratch}/store/results/12-{node}/data"
                bad += [] if os.path.exists(path) and text_of(path) == "a\nb\n" else [f"{program}: no result of node {node}"]
            bad += [f"{name} is left on a node" for name in os.listdir(f"{scratch}/nodes")]
    return bad + unsent_problems(folder) + unfetched_problems(folder)


def unsent_problems(folder: str) -> list[str]:
    """What is wrong if the results cannot be sent, and the job is started again."""
    bad: list[str] = []
    with tempfile.TemporaryDirectory() as scratch:
        for start in ("first", "second"):
            status, said = job(folder, scratch, "sort input/data >output/data", "/results/")
            bad += [] if status == 1 else [f"{start} start, results that cannot be sent: status {status}, not 1", *said.splitlines()]
            for node in (0, 1):
                results = f"{scratch}/nodes/sluice-12-{node}/12-{node}"
                kept = os.path.exists(f"{results}/data") and text_of(f"{results}/data") == "a\nb\n"
                bad += [] if kept else [f"{start} start: results that could not be sent are not on node {node} any more"]
                bad += [] if start == "second" or f":{results}: the results could not" in said else [f"nothing names {results}", said]
            shutil.rmtree(f"{scratch}/store")
            shutil.rmtree(f"{scratch}/bin")
    return bad


def unfetched_problems(folder: str) -> list[str]:
    with tempfile.TemporaryDirectory() as scratch:
        status, _ = job(folder, scratch, "true", "/nodes/")
        bad = [] if status == 1 else [f"input that cannot be fetched: status {status}, not 1"]
        return bad + [f"{name} is left on a node, without input" for name in os.listdir(f"{scratch}/nodes")]


# ---- Ansible -------------------------------------------------------------------------------------


def judge_ansible(folder: str) -> list[str]:
    jinja2: Any = importlib.import_module("jinja2")
    with tempfile.TemporaryDirectory() as scratch:
        env = {"HOME": scratch, "ANSIBLE_HOME": scratch, "ANSIBLE_LOCAL_TEMP": scratch}
        status, said = run("ansible-playbook", "-i", f"{folder}/hosts.ini", "--syntax-check", f"{folder}/sluice.yml", env=env)
        bad = [] if status == 0 else said.splitlines()
        status, said = run("ansible-inventory", "-i", f"{folder}/hosts.ini", "--list", env=env)
        if status != 0:
            return bad + said.splitlines()
        hosts: dict[str, dict[str, Any]] = json.loads(said)["_meta"]["hostvars"]
        for name, host in hosts.items():
            status, said = run(SLUICE, "key", "generate", f"{scratch}/{name}.key")
            assert status == 0, said
            host["sluice_public"] = {"stdout": said.strip()}
        template = jinja2.Environment(trim_blocks=True, undefined=jinja2.StrictUndefined).from_string(text_of(f"{folder}/sluiced.conf.j2"))
        for name, host in hosts.items():
            text = template.render(host, groups={"sluice": list(hosts)}, hostvars=hosts, inventory_hostname=name,
                                   sluice_key=f"{scratch}/{name}.key")
            text = re.sub(r"(?m)^socket_group .*\n", "", text)  # this machine may lack it
            bad += config_problems(f"the configuration of {name}", text)
    return bad


JUDGES: Mapping[str, Callable[[str], list[str]]] = {
    "container": judge_container, "kubernetes": judge_kubernetes, "slurm": judge_slurm, "ansible": judge_ansible}


def lack(folder: str) -> str | None:
    """What this machine lacks to judge these examples, or None."""
    if folder == "kubernetes" and importlib.util.find_spec("yaml") is None:
        return "python3-yaml is missing; scripts/setup installs it"
    if folder == "ansible" and shutil.which("ansible-playbook") is None:
        return "ansible-core is missing; scripts/setup installs it"
    return None


def judge_fault(scratch: str, fault: tuple[str, str, str, str, str]) -> list[str]:
    _, path, old, new, words = fault
    folder = path.split("/")[0]
    shutil.copytree(os.path.join(ROOT, "config", folder), os.path.join(scratch, folder))
    text = text_of(os.path.join(scratch, path))
    if old not in text:
        return [f"config/{path} has no \"{old}\"; correct FAULTS"]
    write(os.path.join(scratch, path), text.replace(old, new))
    said = JUDGES[folder](os.path.join(scratch, folder))
    return [] if any(words in line for line in said) else [f"no message has \"{words}\":", *said]


def main() -> int:
    cases: list[tuple[str, str, Callable[[str], list[str]]]] = [
        (f"the examples of config/{folder}", folder, lambda _, folder=folder: JUDGES[folder](os.path.join(ROOT, "config", folder)))  # type: ignore[misc]
        for folder in FOLDERS]
    cases += [(f"self-test: {fault[0]}", fault[1].split("/")[0], lambda scratch, fault=fault: judge_fault(scratch, fault))  # type: ignore[misc]
              for fault in FAULTS]
    report = tap.Report(len(cases))
    for name, folder, judge in cases:
        why = lack(folder)
        if why is not None:
            report.skip(name, why)
            continue
        with tempfile.TemporaryDirectory() as scratch:
            report.case(name, judge(scratch))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
