from __future__ import annotations

import gzip
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from eagletui.cli.main import main
from tests.engine.recorded import RECORDINGS, unpacked

CONTRACT = {
    "engine",
    "accept_length",
    "accept_rate",
    "num_steps",
    "num_draft_tokens",
    "gen_throughput",
    "running",
    "queued",
    "token_usage",
    "rates",
    "ttft_ms",
    "itl_ms",
}
RATES = {
    "tok_s",
    "step_ms",
    "verify_ms",
    "draft_ms",
    "draft_extend_ms",
    "accept_length",
    "source",
}


def run(*args: str, stdin: bytes | None = None, env: dict[str, str] | None = None) -> Result:
    return CliRunner().invoke(main, ["metrics", *args], input=stdin, env=env)


def read(*args: str, stdin: bytes | None = None) -> dict[str, Any]:
    result = run("--json", *args, stdin=stdin)
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert isinstance(found, dict)
    return found


def test_several_scrapes_have_rates_over_the_busy_span() -> None:
    found = read(str(RECORDINGS / "dense_k3_c1.prom.xz"))
    assert set(found) == CONTRACT
    assert set(found["rates"]) == RATES
    assert found["engine"] == "sglang"
    assert (found["num_steps"], found["num_draft_tokens"], found["running"]) == (3, 4, 1.0)
    assert found["rates"]["verify_ms"] == pytest.approx(5.35, rel=0.006)
    assert found["rates"]["tok_s"] == pytest.approx(344.2, rel=0.011)
    assert found["rates"]["accept_length"] == pytest.approx(2.17, abs=0.005)
    assert found["rates"]["source"] == "device timer"
    assert found["itl_ms"]["p50"] == pytest.approx(3.0, abs=0.05)


def test_one_scrape_has_gauges_and_no_rates() -> None:
    found = read("-", stdin=unpacked("eagle3_load03_metrics.txt"))
    assert set(found) == CONTRACT
    assert found["rates"] == dict.fromkeys(RATES)
    assert (found["running"], found["queued"]) == (32.0, 8.0)
    assert found["accept_rate"] == pytest.approx((found["accept_length"] - 1) / 3)
    assert found["ttft_ms"]["p50"] > 0.0


def pages(*scrapes: tuple[float, float, float, float]) -> bytes:
    """Scrapes of (time, running, passes, TTFT count below 1 s)."""
    return "".join(
        f"### {at}\nsglang:num_running_reqs {running}\nsglang:spec_accept_length 2.5\n"
        f"sglang:spec_verify_calls_total {passes}\n"
        f'sglang:realtime_tokens_total{{mode="decode"}} {2 * passes}\n'
        f'sglang:time_to_first_token_seconds_bucket{{le="1.0"}} {count}\n'
        f'sglang:time_to_first_token_seconds_bucket{{le="9.0"}} {count + 100}\n'
        f'sglang:time_to_first_token_seconds_bucket{{le="+Inf"}} {count + 100}\n'
        for at, running, passes, count in scrapes
    ).encode()


def test_idle_scrapes_are_called_idle() -> None:
    body = pages(*((10.0 + second, 0.0, 50.0, 7.0) for second in range(5)))
    said = run("-", stdin=body).stdout
    assert "No request ran between these 5 scrapes." in said
    assert "One scrape" not in said
    found = read("-", stdin=body)["rates"]
    assert (found["tok_s"], found["accept_length"]) == (0.0, None)


def test_latencies_do_not_span_a_restart_nor_a_cut_page() -> None:
    body = pages((1, 1, 900, 9000), (2, 1, 950, 9500), (3, 1, 0, 5), (4, 1, 50, 9), (5, 1, 99, 99))
    assert read("-", stdin=body)["ttft_ms"] == {"p50": 500.0, "p99": 990.0}
    cut = body + pages((6, 1, 150, 2000))[:-60]
    assert read("-", stdin=cut)["ttft_ms"] == {"p50": 500.0, "p99": 990.0}


def test_two_accept_lengths_have_two_names() -> None:
    said = run(str(RECORDINGS / "dense_k3_c1.prom.xz")).stdout
    assert said.count("accept (gauge)") == said.count("accept (window)") == 1


def test_what_a_server_without_speculation_does_not_say_is_null() -> None:
    found = read(str(RECORDINGS / "dense_k0_c1.prom.xz"))
    assert found["num_steps"] is found["accept_length"] is found["accept_rate"] is None
    assert found["rates"]["verify_ms"] is found["rates"]["accept_length"] is None
    assert found["rates"]["step_ms"] == pytest.approx(4.65, rel=0.005)


def test_gz_and_words_for_a_person(tmp_path: Path) -> None:
    packed = tmp_path / "m.gz"
    packed.write_bytes(gzip.compress(unpacked("dense_k3_c1.prom")))
    result = run(str(packed))
    assert result.exit_code == 0
    assert ["verify", "5.33", "ms", "device", "timer"] in map(str.split, result.stdout.splitlines())
    packed.write_bytes(packed.read_bytes()[:5000])
    assert run(str(packed)).exit_code == 1


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "empty"),
        (b"<html>\x1b[31mno</html>", "HTML"),
        (b'{"detail":"Not Found"}', "--enable-metrics"),
        (b"x" * 50_000_000, "50,000,000 bytes"),
    ],
)
def test_bad_input_is_explained(tmp_path: Path, body: bytes, words: str) -> None:
    file = tmp_path / "page"
    file.write_bytes(body)
    result = run(str(file))
    assert result.exit_code == 1
    assert words in result.stderr
    assert result.stdout == ""
    assert "\x1b" not in result.stderr


def test_a_cut_page_and_strange_numbers_are_read() -> None:
    body = b"sglang:num_running_reqs 3\nsglang:gen_throughput NaN\nsglang:token_usage +Inf\nsgl"
    found = read("-", stdin=body)
    assert (found["running"], found["gen_throughput"], found["token_usage"]) == (3.0, None, None)
    assert "cut" in run("-", stdin=body).stdout


def test_other_engines_are_named() -> None:
    assert read("-", stdin=b"vllm:num_requests_running 1\n")["engine"] == "vllm"


@pytest.mark.parametrize(
    ("page", "counted"), [(b"a 1\n", "1 sample"), (b"a 1\nb 2\n", "2 samples")]
)
def test_a_page_of_something_else(page: bytes, counted: str) -> None:
    result = run("-", stdin=page)
    assert result.stdout.startswith(f"{counted} of an unknown program")


def test_no_file() -> None:
    result = run("/nonexistent/page")
    assert result.exit_code == 1
    assert "cannot be read" in result.stderr


@contextmanager
def serving(status: int, body: bytes, seen: dict[str, str]) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.update(path=self.path, auth=self.headers.get("Authorization", ""))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_fetches_an_address_with_a_key_from_the_environment() -> None:
    seen: dict[str, str] = {}
    with serving(200, unpacked("eagle3_load03_metrics.txt"), seen) as url:
        result = run(url, "--json", "--api-key-env", "K", env={"K": "sesame"})
    assert json.loads(result.stdout)["running"] == 32.0
    assert seen == {"path": "/metrics", "auth": "Bearer sesame"}
    assert run("http://127.0.0.1:9", "--api-key-env", "NOT_SET_AT_ALL").exit_code == 2


@pytest.mark.parametrize(
    ("status", "words"), [(404, "--enable-metrics"), (401, "--api-key-env"), (500, "HTTP 500")]
)
def test_replies_that_are_no_page(status: int, words: str) -> None:
    with serving(status, b'{"detail":"no"}', {}) as url:
        result = run(url)
    assert result.exit_code == 1
    assert words in result.stderr


def test_nobody_listens() -> None:
    with serving(200, b"", {}) as url:
        pass
    result = run(url)
    assert result.exit_code == 3
    assert "listens" in result.stderr


def test_a_page_that_is_too_large_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eagletui.cli.metrics.MAX_BODY", 100_000)
    with serving(200, b"x" * 400_000, {}) as url:
        result = run(url)
    assert result.exit_code == 1
    assert "more than the" in result.stderr


@pytest.mark.parametrize("value", ["NaN", "+Inf", "-Inf", "1e308", "-1e308"])
def test_values_that_nothing_measures_are_none(value: str) -> None:
    page = re.sub(
        rb"(?m) [-+.e0-9]+$", b" " + value.encode(), unpacked("eagle3_load03_metrics.txt")
    )
    found = read("-", stdin=page)
    assert {found[name] for name in CONTRACT - {"engine", "rates", "ttft_ms", "itl_ms"}} == {None}
    assert set(found["ttft_ms"].values()) == {None}
    assert run("-", stdin=page).exit_code == 0


def test_an_address_is_shown_without_its_password() -> None:
    for url in ("http://user:sesame@127.0.0.1:9/metrics", "HTTP://user:sesame@[::1/"):
        result = run(url)
        assert result.exit_code in (2, 3)
        assert "user:" in result.stderr
        assert "sesame" not in result.stderr


def test_a_password_in_the_address_and_a_key_do_not_go_together() -> None:
    url = "http://user:sesame@127.0.0.1:9/metrics"
    result = run(url, "--api-key-env", "K", env={"K": "key"})
    assert result.exit_code == 2
    assert "has a user or password in it, and --api-key-env was given" in result.stderr
    assert "sesame" not in result.stderr


@pytest.mark.parametrize("stamp", ["nan", "inf", "abc", "1e400", "-5", ""])
def test_a_stamp_that_is_no_time_is_said(stamp: str) -> None:
    page = "sglang:num_running_reqs 1\n"
    result = run("-", stdin=f"### 1\n{page}### {stamp}\n{page}".encode())
    assert result.exit_code == 0
    assert f"are passed over: {stamp or 'nothing'}." in result.stderr


@pytest.mark.parametrize(
    ("second", "words"),
    [("10", "1 scrapes have the same time"), ("9", "the clock went back"), ("11", "")],
)
def test_a_clock_that_stands_or_goes_back_is_said(second: str, words: str) -> None:
    page = "sglang:num_running_reqs 1\n"
    result = run("-", stdin=f"### 10\n{page}### {second}\n{page}".encode())
    assert result.exit_code == 0
    assert (words in result.stderr) if words else result.stderr == ""


def test_an_unknown_name_is_not_called_loading() -> None:
    result = run("http://no-such-name.invalid:1/metrics")
    assert result.exit_code == 3
    assert "cannot be reached" in result.stderr
