from __future__ import annotations

import json
import socket
import ssl

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagletui.engine.http_problems import classify_exception, classify_reply
from eagletui.engine.loads import read_loads, with_moments
from eagletui.engine.rates import rates
from eagletui.engine.server_info import ServerInfo, read_server_info
from eagletui.model.readings import Reading
from eagletui.model.secrets import MASK
from eagletui.model.speculative import Speculative
from tests.engine.recorded import RECORDINGS, unpacked


def loaded(body: bytes, *, at: float) -> Reading:
    reading = read_loads(body, at=at)
    assert reading is not None
    return reading


def informed(body: bytes) -> ServerInfo:
    info = read_server_info(body)
    assert info is not None
    return info


def loads() -> list[Reading]:
    lines = (RECORDINGS / "eagle3_loads.jsonl").read_bytes().splitlines()
    return [loaded(line, at=float(at)) for at, line in enumerate(lines)]


def test_loads_of_0_5_23_under_load() -> None:
    reading = loads()[3]
    assert (reading.running, reading.queued, reading.token_usage) == (32.0, 8.0, 0.3794)
    assert reading.gen_throughput == 883.61
    assert reading.decode_moments == (142.0, 2870.0, 4074288.0, 90166.0, 115980785.0, 2975.0)
    assert reading.accept_length is None


def test_rates_of_recorded_moments() -> None:
    before, after = loads()[3], loads()[6]
    assert before.decode_moments is not None
    assert after.decode_moments is not None
    found = rates(before, after)
    steps, batch, micros, _, _, generated = (
        b - a for a, b in zip(before.decode_moments, after.decode_moments, strict=True)
    )
    assert steps > 0
    assert found.source == "decode moments"
    assert found.step_ms == pytest.approx(micros / steps / 1000)
    # no accept length gauge and no k in loads alone: nothing says that it speculates
    assert found.accept_length is None
    joined = with_moments(Reading(at=9.0, num_steps=3), after)
    found = rates(with_moments(Reading(at=8.0, num_steps=3), before), joined)
    assert found.accept_length == pytest.approx(generated / batch)
    assert 1.0 < generated / batch < 1.2


def test_loads_of_0_5_16_have_no_moments() -> None:
    reading = loaded((RECORDINGS / "spec5.loads.json").read_bytes(), at=1.0)
    assert reading.decode_moments is None
    assert reading.running == 0.0


def test_loads_sum_dp_ranks() -> None:
    rank = {"num_running_reqs": 2, "token_usage": 0.5, "decode_moments": [1, 2, 3, 4, 5, 6]}
    body = json.dumps({"loads": [rank, {**rank, "token_usage": 0.7}]}).encode()
    reading = loaded(body, at=1.0)
    assert (reading.dp_ranks, reading.running, reading.token_usage) == (2, 4.0, 0.7)
    assert reading.decode_moments == (2.0, 4.0, 6.0, 8.0, 10.0, 12.0)


def test_server_info_of_two_releases() -> None:
    info = informed(unpacked("eagle3_server_info.json"))
    assert (info.version, info.model, info.metrics_enabled) == ("0.5.23", "models/tiny-llama", True)
    assert info.speculative == Speculative(
        algorithm="EAGLE3",
        num_steps=3,
        eagle_topk=1,
        num_draft_tokens=4,
        draft_model="models/tiny-eagle3",
    )
    assert (info.tp_size, info.dp_size, info.needs_key) == (1, 1, False)
    assert info.args["max_total_tokens"] == 20000
    old = informed(unpacked("spec5.server_info.json"))
    assert old.version == "0.5.16"
    assert old.speculative is not None
    assert (old.speculative.num_steps, old.speculative.num_draft_tokens) == (5, 6)


def test_server_info_of_a_tree() -> None:
    info = informed(unpacked("nextn_tree_server_info.json"))
    assert info.speculative is not None
    assert info.speculative.short == "EAGLE k=4 topk=2 draft=8"
    assert info.average_accept_length == pytest.approx(2.1657, abs=1e-4)


def test_server_info_is_masked_and_knows_the_key_and_adaptive() -> None:
    info = informed(
        json.dumps(
            {
                "version": "0.5.20",
                "model_path": "/m",
                "api_key": "hunter2",
                "launch_command": "--model-path /m --api-key hunter2",
                "speculative_algorithm": "eagle",
                "speculative_adaptive": True,
            }
        ).encode()
    )
    assert info.needs_key
    assert info.args["api_key"] == MASK
    assert info.args["launch_command"] == f"--model-path /m --api-key {MASK}"
    assert info.speculative is not None
    assert (info.speculative.algorithm, info.speculative.adaptive) == ("EAGLE", True)


@pytest.mark.parametrize(
    ("said", "means"),
    [
        ({}, None),
        ({"speculative_num_steps": 3}, None),
        ({"speculative_algorithm": 7}, None),
        ({"speculative_algorithm": None}, Speculative()),
        ({"speculative_algorithm": "None"}, Speculative()),
        ({"speculative_algorithm": "EAGLE3"}, Speculative(algorithm="EAGLE3")),
    ],
)
def test_a_missing_algorithm_is_not_off(said: dict[str, object], means: Speculative | None) -> None:
    assert informed(json.dumps({"model_path": "/m", **said}).encode()).speculative == means


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"detail":"Not Found"}', b"{}", b"1"])
def test_other_replies_are_refused(body: bytes) -> None:
    assert read_loads(body, at=0.0) is None
    assert read_server_info(body) is None


json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=7)
        | st.dictionaries(
            st.sampled_from(
                [
                    "loads",
                    "decode_moments",
                    "version",
                    "model_path",
                    "token_usage",
                    "internal_states",
                    "speculative_algorithm",
                    "num_running_reqs",
                    "api_key",
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=15,
)


@given(json_like)
def test_any_json_is_read_or_refused(value: object) -> None:
    body = json.dumps(value).encode()
    reading, info = read_loads(body, at=0.0), read_server_info(body)
    assert reading is None or reading.dp_ranks >= 1
    assert info is None or isinstance(info.args, dict)


@pytest.mark.parametrize(
    ("status", "body", "problem", "word"),
    [
        (404, b'{"detail":"Not Found"}', "not found", "--enable-metrics"),
        (401, b'{"error":"Unauthorized"}', "unauthorised", "--api-key-env"),
        (403, b"", "unauthorised", "key"),
        (500, b"\x1b[31mboom", "server error", "log"),
        (503, b"", "server error", "starting"),
        (302, b"<html>", "not metrics", "address"),
    ],
)
def test_replies(status: int, body: bytes, problem: str, word: str) -> None:
    found = classify_reply(status, body)
    assert found is not None
    assert found.problem == problem
    assert word in found.advice
    assert str(status) in found.detail
    assert "\x1b" not in found.detail
    assert found.loading == (status == 503)


@pytest.mark.parametrize("status", [401, 403])
def test_a_key_that_was_sent_is_not_asked_for_again(status: int) -> None:
    sent, unsent = classify_reply(status, key_sent=True), classify_reply(status)
    assert sent is not None
    assert unsent is not None
    assert "was not accepted" in sent.advice
    assert "--api-key-env" not in sent.advice
    assert "--api-key-env" in unsent.advice


def test_a_reply_that_cannot_be_unpacked_is_called_so() -> None:
    error = aiohttp.ClientPayloadError("400, message:\n  Can not decode content-encoding: gzip")
    found = classify_exception(error)
    assert found.problem == "not metrics"
    assert "cannot be unpacked" in found.detail
    assert "Can not decode content-encoding: gzip" in found.advice
    assert "400, message:" not in found.detail + found.advice


def test_a_good_reply_is_no_problem() -> None:
    assert classify_reply(200) is None
    cut = classify_reply(200, whole=False)
    assert cut is not None
    assert cut.problem == "too large"


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        ("ConnectionRefusedError", "refused"),
        ("ClientConnectorError", "refused"),
        ("ServerTimeoutError", "timeout"),
        ("TimeoutError", "timeout"),
        ("ServerDisconnectedError", "closed"),
        ("ClientPayloadError", "truncated"),
        ("TooLarge", "too large"),
        ("NotMetrics", "not metrics"),
        ("SomethingNew", "closed"),
    ],
)
def test_exceptions(kind: str, problem: str) -> None:
    found = classify_exception(type(kind, (OSError,), {})("words"))
    assert found.problem == problem
    assert found.advice
    assert found.loading == (problem == "refused")


def test_refused_after_ready_is_a_failure() -> None:
    assert not classify_exception(ConnectionRefusedError(), ready=True).loading


@pytest.mark.parametrize(
    ("cause", "problem"),
    [
        (ConnectionRefusedError(111, "Connect call failed"), "refused"),
        (OSError("Multiple exceptions: [Errno 111] Connect call failed, [Errno 99] no"), "refused"),
        (socket.gaierror(-2, "Name or service not known"), "unreachable"),
        (ssl.SSLError("WRONG_VERSION_NUMBER"), "unreachable"),
        (OSError(113, "No route to host"), "unreachable"),
        (PermissionError(13, "the SSH server forwards no connections"), "unreachable"),
        (ConnectionResetError(104, "lost"), "closed"),
    ],
)
def test_only_a_refusal_is_called_one(cause: OSError, problem: str) -> None:
    class ClientConnectorError(OSError):
        os_error = cause

    found = classify_exception(ClientConnectorError())
    assert found.problem == problem
    assert found.loading is (problem == "refused")
    assert found.advice


def test_what_a_library_says_is_masked_and_one_line() -> None:
    class ClientOSError(OSError):
        pass

    found = classify_exception(ClientOSError("http://user:sesame@host/ \x1b[31m\nmore"))
    assert "sesame" not in found.detail
    assert "\x1b" not in found.detail
    assert "more" not in found.detail
