"""Two servers on one host; one of them without metrics, its log through `tee`."""

from __future__ import annotations

import threading

from tests.live.conftest import Command
from tests.live.server import LabServer


def test_both_servers_are_listed(eagle: LabServer, plain: LabServer, status: Command) -> None:
    servers = {server["pid"]: server for server in status()["servers"]}
    assert set(servers) >= {eagle.pid, plain.pid}
    assert servers[eagle.pid]["port"] == eagle.port
    assert servers[plain.pid]["port"] == plain.port
    assert servers[plain.pid]["speculative"]["algorithm"] is None
    assert servers[plain.pid]["ready"] is True
    assert servers[eagle.pid]["ready"] is True


def test_the_log_is_found_behind_tee(plain: LabServer, status: Command) -> None:
    servers = {server["pid"]: server for server in status()["servers"]}
    assert servers[plain.pid]["log"]["kind"] == "tee"
    assert servers[plain.pid]["log"]["target"] == str(plain.log)


def test_without_metrics_the_log_gives_the_numbers(plain: LabServer, status: Command) -> None:
    plain.load(1, 16)
    stop = threading.Event()

    def keep_busy() -> None:
        while not stop.is_set():
            plain.load(2, 120)

    busy = threading.Thread(target=keep_busy)
    begin = len(plain.text())
    busy.start()
    try:
        document = status("--pid", str(plain.pid))
    finally:
        stop.set()
        busy.join()
    (server,) = [server for server in document["servers"] if server["pid"] == plain.pid]
    assert "metrics-off" in {alert["code"] for alert in server["alerts"]}
    (verdict,) = [alert for alert in server["alerts"] if alert["code"] == "metrics-off"]
    assert "--enable-metrics" in verdict["advice"]
    live = server["live"]
    assert live["source"] in ("decode log", "decode moments")
    assert live["verify_ms"] is None
    throughput = [line["gen throughput (token/s)"] for line in plain.decode_lines(begin)]
    assert throughput
    assert min(throughput) * 0.7 <= live["tok_s"] <= max(throughput) * 1.3


def test_its_log_explains_itself(plain: LabServer, eagletui: Command) -> None:
    document = eagletui("log", plain.log)
    assert document["ready"] is True
    assert document["speculative"]["algorithm"] is None
    assert document["decode"]["samples"] == len(plain.decode_lines())
