"""From `docker inspect` to the words of `docker create`."""

from __future__ import annotations

from typing import Any

import pytest

from eagletui.hostside.agent import docker_create as create
from eagletui.hostside.agent.docker_tool import host_port

ARGV = ["python3", "-m", "sglang.launch_server", "--port", "30000"]


def container(config: dict[str, Any] | None = None, **host: Any) -> dict[str, Any]:
    return {
        "Id": "0123456789abcdef" * 4,
        "Config": config or {},
        "HostConfig": {"RestartPolicy": {"Name": ""}, **host},
    }


@pytest.mark.parametrize(
    ("setting", "value", "words"),
    [
        ("Binds", ["/a b:/m:ro", "named:/v"], ["--volume", "/a b:/m:ro", "--volume", "named:/v"]),
        ("NetworkMode", "host", ["--network", "host"]),
        ("NetworkMode", "default", []),
        ("PortBindings", {"30000/tcp": [{"HostIp": "", "HostPort": "8000"}]},
         ["--publish", "8000:30000/tcp"]),
        ("PortBindings", {"30000/tcp": [{"HostIp": "::1", "HostPort": "80"},
                                        {"HostIp": "127.0.0.1", "HostPort": ""}]},
         ["--publish", "[::1]:80:30000/tcp", "--publish", "127.0.0.1::30000/tcp"]),
        ("DeviceRequests", [{"Driver": "", "Count": -1, "DeviceIDs": None,
                             "Capabilities": [["gpu"]], "Options": {}}],
         ["--gpus", "count=all"]),
        ("DeviceRequests", [{"Driver": "nvidia", "Count": 0, "DeviceIDs": ["0", "3"],
                             "Capabilities": [["gpu", "compute", "utility"]], "Options": {}}],
         ["--gpus", '"device=0,3",driver=nvidia,"capabilities=compute,utility"']),
        ("DeviceRequests", [{"Driver": "cdi", "Count": 0, "DeviceIDs": ["nvidia.com/gpu=all"],
                             "Capabilities": None, "Options": None}],
         ["--device", "nvidia.com/gpu=all"]),
        ("Devices", [{"PathOnHost": "/dev/infiniband", "PathInContainer": "/dev/ib",
                      "CgroupPermissions": "rw"}],
         ["--device", "/dev/infiniband:/dev/ib:rw"]),
        ("ShmSize", 34359738368, ["--shm-size", "34359738368"]),
        ("IpcMode", "host", ["--ipc", "host"]),
        ("Ulimits", [{"Name": "memlock", "Hard": -1, "Soft": -1}], ["--ulimit", "memlock=-1:-1"]),
        ("Memory", 1 << 30, ["--memory", "1073741824"]),
        ("NanoCpus", 1_500_000_000, ["--cpus", "1.5"]),
        ("NanoCpus", 16_000_000_000, ["--cpus", "16"]),
        ("CapAdd", ["IPC_LOCK"], ["--cap-add", "IPC_LOCK"]),
        ("Privileged", True, ["--privileged"]),
        ("SecurityOpt", ["seccomp=unconfined"], ["--security-opt", "seccomp=unconfined"]),
        ("GroupAdd", ["video"], ["--group-add", "video"]),
        ("Init", True, ["--init"]),
        ("Runtime", "nvidia", ["--runtime", "nvidia"]),
        ("LogConfig", {"Type": "json-file", "Config": {"max-size": "10m"}},
         ["--log-driver", "json-file", "--log-opt", "max-size=10m"]),
        ("Tmpfs", {"/t": "size=1g", "/u": ""}, ["--tmpfs", "/t:size=1g", "--tmpfs", "/u"]),
        ("Mounts", [{"Type": "bind", "Source": "/a,b", "Target": "/m", "ReadOnly": True,
                     "BindOptions": {"Propagation": "rslave"}},
                    {"Type": "tmpfs", "Target": "/t", "TmpfsOptions": {"SizeBytes": 9,
                                                                         "Mode": 448}}],
         ["--mount", 'type=bind,"source=/a,b",target=/m,readonly,bind-propagation=rslave',
          "--mount", "type=tmpfs,target=/t,tmpfs-size=9,tmpfs-mode=700"]),
        ("ExtraHosts", ["db:10.0.0.1"], ["--add-host", "db:10.0.0.1"]),
        ("Sysctls", {"net.core.somaxconn": "1024"}, ["--sysctl", "net.core.somaxconn=1024"]),
    ],
)  # fmt: skip
def test_each_setting_is_carried_over(setting: str, value: Any, words: list[str]) -> None:
    restart = ["--restart", "no"]
    found = create.settings(container(**{setting: value}))
    index = found.index("--restart")
    assert found[:index] + found[index + 2 :] == words
    assert found[index : index + 2] == restart


@pytest.mark.parametrize(
    ("policy", "word"),
    [
        ({"Name": "always", "MaximumRetryCount": 0}, "always"),
        ({"Name": "on-failure", "MaximumRetryCount": 3}, "on-failure:3"),
        ({"Name": "", "MaximumRetryCount": 0}, "no"),
    ],
)
def test_the_restart_policy(policy: dict[str, Any], word: str) -> None:
    assert create.restart(policy) == ["--restart", word]


def test_user_labels_names_and_health() -> None:
    config = {
        "User": "1000:1000",
        "Labels": {"a": "b c"},
        "Hostname": "gpu-box",
        "Tty": True,
        "StopSignal": "SIGINT",
        "StopTimeout": 30,
        "Healthcheck": {"Test": ["CMD-SHELL", "curl x"], "Interval": 10**10, "Retries": 3},
    }
    assert create.settings(container(config)) == [
        "--restart", "no", "--user", "1000:1000", "--label", "a=b c", "--tty",
        "--stop-signal", "SIGINT", "--stop-timeout", "30", "--health-cmd", "curl x",
        "--health-interval", "10000000000ns", "--health-retries", "3", "--hostname", "gpu-box",
    ]  # fmt: skip
    made_up = container({"Hostname": "0123456789ab"})
    assert "--hostname" not in create.settings(made_up)


def test_nameless_volumes_and_fixed_addresses_come_along() -> None:
    about = container(NetworkMode="lan", Binds=["/x:/bound"])
    about["Mounts"] = [
        {"Type": "volume", "Name": "f00", "Destination": "/cache", "RW": True},
        {"Type": "volume", "Name": "f01", "Destination": "/bound", "RW": True},
        {"Type": "bind", "Source": "/x", "Destination": "/other"},
    ]
    about["NetworkSettings"] = {
        "Networks": {
            "lan": {"IPAMConfig": {"IPv4Address": "10.1.0.5"}, "Aliases": ["llm", "0123456789ab"]},
            "wan": {},
        }
    }
    words = create.settings(about)
    assert words[-6:] == [
        "--mount", "type=volume,source=f00,target=/cache", "--ip", "10.1.0.5",
        "--network-alias", "llm",
    ]  # fmt: skip
    assert create.other_networks(about) == ["wan"]


def test_what_cannot_be_carried_over_is_named() -> None:
    config = {"Healthcheck": {"Test": ["CMD", "true"]}}
    about = container(config, SecurityOpt=["seccomp={}"], BlkioDeviceReadBps=[{"Path": "/dev/a"}])
    assert create.lost(about) == ["BlkioDeviceReadBps", "Healthcheck", "SecurityOpt seccomp"]
    assert create.lost(container(ConsoleSize=[0, 0], MaskedPaths=["/proc/x"])) == []


def test_what_differs_is_named_whatever_its_order_or_emptiness() -> None:
    one = container(ShmSize=1, Binds=None, CapAdd=["A"])
    two = container(ShmSize=2, Binds=[], CapAdd=["A"])
    assert create.differing(one, two) == ["HostConfig.ShmSize"]
    assert create.differing(one, one) == []
    # docker's client takes `--volume` through a Go map: two of them are turned round one time in
    # eight, in 20.10 as in 28.
    one = container(
        Binds=["/a:/a", "/b:/b:ro"], Ulimits=[ulimit("nofile", 4), ulimit("memlock", 8)]
    )
    two = container(
        Binds=["/b:/b:ro", "/a:/a"], Ulimits=[ulimit("memlock", 8), ulimit("nofile", 4)]
    )
    assert create.differing(one, two) == []
    gpus = ["gpu", "utility"], ["utility", "gpu"]
    one, two = (container(DeviceRequests=[{"Count": -1, "Capabilities": [able]}]) for able in gpus)
    assert create.differing(one, two) == []
    two = container(Binds=["/a:/a", "/b:/b"], Ulimits=[ulimit("nofile", 4), ulimit("memlock", 9)])
    one = container(
        Binds=["/a:/a", "/b:/b:ro"], Ulimits=[ulimit("nofile", 4), ulimit("memlock", 8)]
    )
    assert create.differing(one, two) == ["HostConfig.Binds", "HostConfig.Ulimits"]


TURNED = {
    "HostConfig.Binds": (True, ["/a:/a", "/b:/b"]),
    "HostConfig.Mounts": (True, [{"Target": "/a"}, {"Target": "/b"}]),
    "HostConfig.PortBindings": (True, {"1/tcp": [{"HostPort": "1"}, {"HostPort": "2"}]}),
    "HostConfig.DeviceRequests": (
        True,
        [{"DeviceIDs": ["0", "1"], "Capabilities": [["gpu", "u"]]}],
    ),
    "HostConfig.Devices": (True, [{"PathOnHost": "/dev/a"}, {"PathOnHost": "/dev/b"}]),
    "HostConfig.Ulimits": (True, [{"Name": "nofile"}, {"Name": "memlock"}]),
    "HostConfig.CapAdd": (True, ["IPC_LOCK", "SYS_NICE"]),
    "HostConfig.CapDrop": (True, ["MKNOD", "CHOWN"]),
    "HostConfig.SecurityOpt": (True, ["seccomp=unconfined", "label=disable"]),
    "HostConfig.GroupAdd": (True, ["video", "render"]),
    "Config.Env": (True, ["A=1", "B=2"]),
    "Config.Cmd": (False, ["python3", "-m"]),
    "Config.Entrypoint": (False, ["sh", "-c"]),
    "Config.Healthcheck": (False, {"Test": ["CMD", "true"]}),
    "HostConfig.Dns": (False, ["10.0.0.1", "8.8.8.8"]),
    "HostConfig.DnsOptions": (False, ["ndots:1", "ndots:2"]),
    "HostConfig.DnsSearch": (False, ["a.lan", "b.lan"]),
    "HostConfig.ExtraHosts": (False, ["db:10.0.0.1", "db:10.0.0.2"]),
    "HostConfig.Links": (False, ["a:x", "b:x"]),
    "HostConfig.VolumesFrom": (False, ["a", "b"]),
    "HostConfig.DeviceCgroupRules": (False, ["a *:* rwm", "c 1:3 r"]),
}
"""Settings with lists: whether they mean the same the other way round."""


def turned(value: Any) -> Any:
    """Every list in it the other way round."""
    if isinstance(value, dict):
        return {key: turned(entry) for key, entry in value.items()}
    return [turned(entry) for entry in reversed(value)] if isinstance(value, list) else value


@pytest.mark.parametrize(("path", "any_order", "value"), [(p, *row) for p, row in TURNED.items()])
def test_only_lists_whose_order_means_nothing_may_be_turned_round(
    path: str, any_order: bool, value: Any
) -> None:
    """A resolver, or a command, the other way round is another one."""
    assert create.same(path, value, value)
    assert create.same(path, value, turned(value)) == any_order
    assert not create.same(path, value, value[:-1] if isinstance(value, list) else {})
    if path in create.SETTINGS and path.startswith("HostConfig."):
        one, two = (container(**{path[11:]: found}) for found in (value, turned(value)))
        told = [] if any_order or path == "HostConfig.Links" else [path]
        assert create.differing(one, two) == told


def test_every_setting_that_is_a_list_says_whether_its_order_matters() -> None:
    settings = {path for path, flags in create.SETTINGS.items() if "each" in flags.__qualname__}
    assert settings <= set(TURNED)
    assert set(TURNED) >= create.ANY_ORDER


def ulimit(name: str, value: int) -> dict[str, Any]:
    return {"Name": name, "Soft": value, "Hard": value}


@pytest.mark.parametrize(
    ("entry", "cmd", "running", "before", "after"),
    [
        # The whole command is the server's.
        (None, ARGV, ARGV, [], ["NEW"]),
        (["python3"], ARGV[1:], ARGV, ["--entrypoint", "NEW"], []),
        # A script that hands on what it is given.
        (["/entry.sh"], ARGV, ARGV, [], ["NEW"]),
        (["/entry.sh", "--x"], ARGV, ARGV, [], ["NEW"]),
        # A shell line: the server itself takes its place.
        (["/bin/sh", "-c"], ["python3 -m sglang.launch_server"], ARGV, ["--entrypoint", "NEW"], []),
        # A container that does not run now.
        (["/entry.sh"], ARGV, [], [], ["NEW"]),
        (None, ["bash"], [], [], ["NEW"]),
    ],
)
def test_the_way_to_the_server_stays_the_same(
    entry: list[str] | None, cmd: list[str], running: list[str], before: list[str], after: list[str]
) -> None:
    start = create.started_as(container({"Entrypoint": entry, "Cmd": cmd}), running, ["NEW"])
    assert (start.before, start.after) == (before, after)


def test_the_same_interpreter_as_entrypoint_is_kept() -> None:
    about = container({"Entrypoint": ["python3"], "Cmd": ARGV[1:]})
    assert create.started_as(about, ARGV, [*ARGV, "--x"]) == ([], [*ARGV[1:], "--x"])


def test_no_secret_stands_in_docker_s_command_line() -> None:
    words, extra = create.environment_words({"HF_TOKEN": "s", "PATH": "/x", "EMPTY": ""})
    assert words == ["--env", "HF_TOKEN", "--env", "PATH=/x", "--env", "EMPTY"]
    assert extra == {"HF_TOKEN": "s", "EMPTY": ""}


def test_the_environment_is_the_old_one_s_but_for_the_tuning() -> None:
    about = container({"Env": ["A=1", "NCCL_ALGO=Tree", "NCCL_VERSION=2", "CUDA_X=image", "B=x=y"]})
    image = {"Config": {"Env": ["NCCL_VERSION=2", "CUDA_X=image", "SGLANG_Y=image"]}}
    made = create.environment(about, image, {"NCCL_PROTO": "LL"}, {"FROM_SCRIPT": "1", "A": "2"})
    assert made == {
        "FROM_SCRIPT": "1", "A": "1", "NCCL_VERSION": "2", "CUDA_X": "image", "B": "x=y",
        "SGLANG_Y": "image", "NCCL_PROTO": "LL",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("mode", "bound", "port"),
    [
        ("host", {}, 30000),
        ("bridge", {"30000/tcp": [{"HostPort": "8000"}]}, 8000),
        ("bridge", {"8000/tcp": [{"HostPort": "8000"}]}, None),
    ],
)
def test_where_a_port_leads_outside(mode: str, bound: dict[str, Any], port: int | None) -> None:
    assert host_port(container(NetworkMode=mode, PortBindings=bound), 30000) == port
