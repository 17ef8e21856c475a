"""From what `docker inspect` says of a container to the `docker create` that makes another one.

What a container was made with is one row each of `SETTINGS`: where inspect tells it, and how
`docker create` takes it (20.10 to 28, podman 4). What has a value and no row is named by `lost`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from eagletui.hostside.agent.base import Json
from eagletui.hostside.agent.environment import tuning


class Start(NamedTuple):
    """What `docker create` is told to run: the words before the image, and those after it."""

    before: list[str]
    after: list[str]


def each(flag: str) -> Callable[[Any], list[str]]:
    """A list: the flag before each of its entries."""
    return lambda value: [word for entry in value for word in (flag, str(entry))]


def one(flag: str) -> Callable[[Any], list[str]]:
    """A single value."""
    return lambda value: [flag, str(value)]


def switch(flag: str) -> Callable[[Any], list[str]]:
    """What is either there or not."""
    return lambda value: [flag] if value is True else []


def pairs(flag: str, between: str = "=") -> Callable[[Any], list[str]]:
    """A table: the flag before each NAME=VALUE."""
    return lambda value: [
        word for name, text in value.items() for word in (flag, f"{name}{between}{text}")
    ]


def restart(value: Json) -> list[str]:
    name, most = value.get("Name") or "no", value.get("MaximumRetryCount") or 0
    return ["--restart", f"{name}:{most}" if name == "on-failure" and most else name]


def ports(value: Json) -> list[str]:
    words = []
    for inside, bound in value.items():
        for row in bound or [{}]:
            address, port = row.get("HostIp", ""), row.get("HostPort", "")
            address = f"[{address}]:" if ":" in address else f"{address}:" if address else ""
            words += ["--publish", f"{address}{port}:{inside}" if address or port else inside]
    return words


def ulimits(value: list[Json]) -> list[str]:
    return [
        word for row in value for word in ("--ulimit", f"{row['Name']}={row['Soft']}:{row['Hard']}")
    ]


def devices(value: list[Json]) -> list[str]:
    words = []
    for row in value:
        outside, inside = row["PathOnHost"], row["PathInContainer"]
        words += ["--device", f"{outside}:{inside}:{row.get('CgroupPermissions') or 'rwm'}"]
    return words


def gpus(value: list[Json]) -> list[str]:
    """DeviceRequests: `--gpus`, or `--device` for CDI names."""
    words = []
    for row in value:
        ids, driver = row.get("DeviceIDs") or [], row.get("Driver") or ""
        if driver == "cdi":
            words += each("--device")(ids)
            continue
        count = row.get("Count") or 0
        parts = [f"device={','.join(ids)}"] if ids else [f"count={'all' if count < 0 else count}"]
        if driver:
            parts.append(f"driver={driver}")
        able = [name for group in row.get("Capabilities") or [] for name in group if name != "gpu"]
        if able:
            parts.append("capabilities=" + ",".join(able))
        parts += [f"options={name}={text}" for name, text in (row.get("Options") or {}).items()]
        words += ["--gpus", csv(parts)]
    return words


def mounts(value: list[Json]) -> list[str]:
    words = []
    for row in value:
        parts = [f"type={row['Type']}", f"target={row['Target']}"]
        if row.get("Source"):
            parts.insert(1, f"source={row['Source']}")
        if row.get("ReadOnly"):
            parts.append("readonly")
        bind, volume = row.get("BindOptions") or {}, row.get("VolumeOptions") or {}
        tmpfs = row.get("TmpfsOptions") or {}
        if bind.get("Propagation"):
            parts.append(f"bind-propagation={bind['Propagation']}")
        if volume.get("NoCopy"):
            parts.append("volume-nocopy")
        if tmpfs.get("SizeBytes"):
            parts.append(f"tmpfs-size={tmpfs['SizeBytes']}")
        if tmpfs.get("Mode"):
            parts.append(f"tmpfs-mode={tmpfs['Mode']:o}")
        words += ["--mount", csv(parts)]
    return words


def log(value: Json) -> list[str]:
    words = ["--log-driver", value["Type"]] if value.get("Type") else []
    return words + pairs("--log-opt")(value.get("Config") or {})


def tmpfs(value: Mapping[str, str]) -> list[str]:
    return [w for path, how in value.items() for w in ("--tmpfs", f"{path}:{how}" if how else path)]


def health(value: Json) -> list[str]:
    test = value.get("Test") or []
    if test == ["NONE"]:
        return ["--no-healthcheck"]
    words = ["--health-cmd", test[1]] if test[:1] == ["CMD-SHELL"] and len(test) == 2 else []
    for key, flag in (("Interval", "interval"), ("Timeout", "timeout"),
                      ("StartPeriod", "start-period")):  # fmt: skip
        if value.get(key):
            words += [f"--health-{flag}", f"{value[key]}ns"]
    return words + (["--health-retries", str(value["Retries"])] if value.get("Retries") else [])


def network(value: str) -> list[str]:
    return [] if value in ("default", "") else ["--network", value]


SETTINGS: dict[str, Callable[[Any], list[str]]] = {
    "HostConfig.Binds": each("--volume"),
    "HostConfig.Mounts": mounts,
    "HostConfig.Tmpfs": tmpfs,
    "HostConfig.VolumesFrom": each("--volumes-from"),
    "HostConfig.VolumeDriver": one("--volume-driver"),
    "HostConfig.NetworkMode": network,
    "HostConfig.PortBindings": ports,
    "HostConfig.PublishAllPorts": switch("--publish-all"),
    "HostConfig.Dns": each("--dns"),
    "HostConfig.DnsOptions": each("--dns-option"),
    "HostConfig.DnsSearch": each("--dns-search"),
    "HostConfig.ExtraHosts": each("--add-host"),
    "HostConfig.Links": each("--link"),
    "HostConfig.RestartPolicy": restart,
    "HostConfig.AutoRemove": switch("--rm"),
    "HostConfig.DeviceRequests": gpus,
    "HostConfig.Devices": devices,
    "HostConfig.DeviceCgroupRules": each("--device-cgroup-rule"),
    "HostConfig.ShmSize": one("--shm-size"),
    "HostConfig.IpcMode": one("--ipc"),
    "HostConfig.PidMode": one("--pid"),
    "HostConfig.UTSMode": one("--uts"),
    "HostConfig.UsernsMode": one("--userns"),
    "HostConfig.CgroupnsMode": one("--cgroupns"),
    "HostConfig.CgroupParent": one("--cgroup-parent"),
    "HostConfig.Ulimits": ulimits,
    "HostConfig.Memory": one("--memory"),
    "HostConfig.MemorySwap": one("--memory-swap"),
    "HostConfig.MemoryReservation": one("--memory-reservation"),
    "HostConfig.MemorySwappiness": one("--memory-swappiness"),
    "HostConfig.OomKillDisable": switch("--oom-kill-disable"),
    "HostConfig.OomScoreAdj": one("--oom-score-adj"),
    "HostConfig.PidsLimit": one("--pids-limit"),
    "HostConfig.NanoCpus": lambda value: ["--cpus", f"{value / 1e9:.9f}".rstrip("0").rstrip(".")],
    "HostConfig.CpuShares": one("--cpu-shares"),
    "HostConfig.CpuPeriod": one("--cpu-period"),
    "HostConfig.CpuQuota": one("--cpu-quota"),
    "HostConfig.CpuRealtimePeriod": one("--cpu-rt-period"),
    "HostConfig.CpuRealtimeRuntime": one("--cpu-rt-runtime"),
    "HostConfig.CpusetCpus": one("--cpuset-cpus"),
    "HostConfig.CpusetMems": one("--cpuset-mems"),
    "HostConfig.BlkioWeight": one("--blkio-weight"),
    "HostConfig.CapAdd": each("--cap-add"),
    "HostConfig.CapDrop": each("--cap-drop"),
    "HostConfig.Privileged": switch("--privileged"),
    "HostConfig.SecurityOpt": each("--security-opt"),
    "HostConfig.ReadonlyRootfs": switch("--read-only"),
    "HostConfig.GroupAdd": each("--group-add"),
    "HostConfig.Runtime": one("--runtime"),
    "HostConfig.Sysctls": pairs("--sysctl"),
    "HostConfig.StorageOpt": pairs("--storage-opt"),
    "HostConfig.Init": switch("--init"),
    "HostConfig.Annotations": pairs("--annotation"),
    "HostConfig.LogConfig": log,
    "Config.Domainname": one("--domainname"),
    "Config.User": one("--user"),
    "Config.Labels": pairs("--label"),
    "Config.ExposedPorts": lambda value: each("--expose")(list(value)),
    "Config.Tty": switch("--tty"),
    "Config.OpenStdin": switch("--interactive"),
    "Config.StopSignal": one("--stop-signal"),
    "Config.StopTimeout": one("--stop-timeout"),
    "Config.Healthcheck": health,
}
"""What is carried over; order is the order of the words."""

OF_ITSELF = frozenset(
    (
        "ContainerIDFile", "ConsoleSize", "MaskedPaths", "ReadonlyPaths", "Cgroup", "Isolation",
        "AutoRemove", "DiskQuota", "KernelMemory", "KernelMemoryTCP",
    )
)  # fmt: skip
"""What docker fills in itself, or what means nothing on Linux."""
ANY_ORDER = frozenset(
    (
        "HostConfig.Binds", "HostConfig.Mounts", "HostConfig.PortBindings",
        "HostConfig.DeviceRequests", "HostConfig.Devices", "HostConfig.Ulimits",
        "HostConfig.CapAdd", "HostConfig.CapDrop", "HostConfig.SecurityOpt", "HostConfig.GroupAdd",
        "Config.Env",
    )
)  # fmt: skip
"""Lists whose order means nothing, so that docker's own client may shuffle them: `--volume` in
every release to 28, `--ulimit` in old ones; `--gpus` puts `gpu` last. In all others (`--dns`, the
command) the order means something, and both take it as it is given."""
USUAL: dict[str, tuple[object, ...]] = {"HostConfig.Runtime": ("", "oci")}


def at(inspected: Json, path: str) -> Any:
    """One value of inspect's answer."""
    part, _, key = path.partition(".")
    return (inspected.get(part) or {}).get(key)


def settings(inspected: Json) -> list[str]:
    """The words of `docker create` for everything but name, image, command and environment."""
    words: list[str] = []
    for path, flags in SETTINGS.items():
        value = at(inspected, path)
        if nothing(value) or value in USUAL.get(path, ()):
            continue
        words += flags(value)
    words += volumes(inspected) + addresses(inspected)
    name, config = str(inspected.get("Id", "")), inspected.get("Config") or {}
    host = config.get("Hostname") or ""
    shared = str(at(inspected, "HostConfig.NetworkMode")).startswith(("host", "container:"))
    if (
        host
        and not name.startswith(host)
        and not shared
        and not at(inspected, "HostConfig.UTSMode")
    ):
        words += ["--hostname", host]
    return words


def nothing(value: object) -> bool:
    """Whether a setting was left alone."""
    return value is None or value is False or value in ("", 0, [], {}, [""])


def volumes(inspected: Json) -> list[str]:
    """The nameless volumes of its image or of `-v /path`, so that what is in them comes along."""
    host = inspected.get("HostConfig") or {}
    named = {bind.split(":")[1] for bind in host.get("Binds") or [] if ":" in bind}
    named |= {row["Target"] for row in host.get("Mounts") or []}
    words = []
    for row in inspected.get("Mounts") or []:
        if row.get("Type") == "volume" and row["Destination"] not in named and row.get("Name"):
            parts = ["type=volume", f"source={row['Name']}", f"target={row['Destination']}"]
            words += ["--mount", csv(parts if row.get("RW", True) else [*parts, "readonly"])]
    return words


def addresses(inspected: Json) -> list[str]:
    """Its fixed address and other names in the first of its networks."""
    mode = at(inspected, "HostConfig.NetworkMode") or ""
    found = ((inspected.get("NetworkSettings") or {}).get("Networks") or {}).get(mode) or {}
    words = []
    fixed = found.get("IPAMConfig") or {}
    for key, flag in (("IPv4Address", "--ip"), ("IPv6Address", "--ip6")):
        if fixed.get(key):
            words += [flag, fixed[key]]
    own = str(inspected.get("Id", ""))[:12]
    aliases = found.get("Aliases") or []
    return words + [w for name in aliases if name != own for w in ("--network-alias", name)]


def other_networks(inspected: Json) -> list[str]:
    """The networks that `docker create` cannot be given at once."""
    mode = at(inspected, "HostConfig.NetworkMode") or ""
    found = (inspected.get("NetworkSettings") or {}).get("Networks") or {}
    return sorted(set(found) - {mode}) if mode in found else []


def lost(inspected: Json) -> list[str]:
    """Settings that have a value which nothing here can carry over."""
    host = inspected.get("HostConfig") or {}
    names = [
        key
        for key, value in host.items()
        if not nothing(value) and f"HostConfig.{key}" not in SETTINGS and key not in OF_ITSELF
    ]
    if any(str(word).startswith("seccomp={") for word in host.get("SecurityOpt") or []):
        names.append("SecurityOpt seccomp")
    test = ((inspected.get("Config") or {}).get("Healthcheck") or {}).get("Test") or []
    if test[:1] == ["CMD"]:
        names.append("Healthcheck")
    return sorted(names)


def differing(old: Json, new: Json) -> list[str]:
    """The settings that a new container should share with the old one, and does not."""
    return [
        path
        for path in SETTINGS
        if path not in ("HostConfig.Links", "HostConfig.Mounts", "Config.Healthcheck")
        and not same(path, at(old, path), at(new, path))
    ]


def same(path: str, one: object, other: object) -> bool:
    """Whether two values of a setting mean the same."""
    if nothing(one) and nothing(other):
        return True
    any_order = path in ANY_ORDER
    return bool(plain(one, any_order=any_order) == plain(other, any_order=any_order))


def plain(value: Any, *, any_order: bool) -> Any:
    """A setting without what does not matter: values that are nothing, and order where it is
    `any_order`, there in every list within it."""
    if isinstance(value, dict):
        kept = {key: plain(entry, any_order=any_order) for key, entry in value.items()}
        return {key: entry for key, entry in kept.items() if not nothing(entry)}
    if isinstance(value, list):
        entries = [plain(entry, any_order=any_order) for entry in value]
        if any_order:
            entries.sort(key=lambda entry: json.dumps(entry, sort_keys=True))
        return entries
    return value


def csv(parts: Sequence[str]) -> str:
    """One record of comma-separated values, as `--mount` and `--gpus` take it."""
    return ",".join(
        '"' + part.replace('"', '""') + '"' if any(c in part for c in ',"\r\n') else part
        for part in parts
    )


# --- command and environment ------------------------------------------------------------------


def command(inspected: Json) -> list[str]:
    """Everything that the container starts."""
    config = inspected.get("Config") or {}
    return [*(config.get("Entrypoint") or []), *(config.get("Cmd") or [])]


def server_at(words: Sequence[str]) -> int | None:
    """Where in a command line the server's own begins; None where no word is its Python."""
    for i, word in enumerate(words):
        if word == "sglang.launch_server" and i >= 2 and words[i - 1] == "-m":
            return i - 2
        if word.endswith("sglang/launch_server.py") and i >= 1:
            return i - 1
        if os.path.basename(word) == "sglang" and words[i + 1 : i + 2] == ["serve"]:
            return i - 1 if i and os.path.basename(words[i - 1]).startswith("python") else i
    return None


def wrapped(inspected: Json, running: Sequence[str]) -> bool:
    """Whether something that the container starts started the server with words of its own."""
    whole = command(inspected)
    if running:
        return whole[-len(running) :] != list(running)
    return server_at(whole) is None


def started_as(inspected: Json, running: Sequence[str], argv: Sequence[str]) -> Start:
    """The same way to the server as before, and other words for it."""
    entry = list((inspected.get("Config") or {}).get("Entrypoint") or [])
    whole = command(inspected)
    lead = []
    if not wrapped(inspected, running):
        lead = whole[: len(whole) - len(running) if running else server_at(whole)]
    words = [*lead, *argv]
    if words[: len(entry)] == entry:
        return Start([], words[len(entry) :])
    return Start(["--entrypoint", words[0]], words[1:])


def variables(pairs: Sequence[str]) -> dict[str, str]:
    """`["NAME=VALUE", …]` as a table."""
    return {name: value for name, equals, value in (p.partition("=") for p in pairs) if equals}


def environment(
    inspected: Json, image: Json, given: Mapping[str, str], seen: Mapping[str, str]
) -> dict[str, str]:
    """What the new container's server gets.

    Args:
        image: `docker image inspect`; what it sets cannot be taken away.
        given: by the profile and by us.
        seen: what a wrapper had added for the server that runs.
    """
    before = variables((inspected.get("Config") or {}).get("Env") or [])
    fixed = variables((image.get("Config") or {}).get("Env") or [])
    kept = {n: v for n, v in {**seen, **before}.items() if not tuning(n) or n in fixed}
    for name in fixed:
        if tuning(name) and name not in given:
            kept[name] = fixed[name]
    return {**kept, **given}


DOCKER_S_OWN = ("DOCKER_", "HOME", "PATH", "LD_", "XDG_", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY",
                "http_proxy", "https_proxy", "no_proxy", "CONTAINER_", "CONTAINERS_", "TMPDIR",
                "LC_ALL", "SSL_CERT_", "BUILDKIT_", "GO")  # fmt: skip
"""Variables that docker itself would read: they stand in its command line."""


def environment_words(environment: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
    """`--env` for each variable, and what docker's own environment has to hold for that.

    A name without a value is taken from there, so that no secret stands in a command line.
    """
    words, extra = [], {}
    for name, value in environment.items():
        if name.startswith(DOCKER_S_OWN):
            words += ["--env", f"{name}={value}"]
        else:
            words += ["--env", name]
            extra[name] = value
    return words, extra
