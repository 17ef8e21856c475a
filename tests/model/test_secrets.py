# ruff: noqa: E501 - lines of real logs are long
from __future__ import annotations

import gzip
import json
import lzma
import re
import time
from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eagletui.model.secrets import (
    MASK,
    is_secret_name,
    mask,
    mask_argv,
    mask_environment,
    mask_value,
    may_hold_secret,
)
from tests.engine.recorded import RECORDINGS, unpacked

_OPENERS = {".xz": lzma.decompress, ".gz": gzip.decompress}

ORDINARY = [
    "Decode batch, #running-req: 1, #token: 160, token usage: 0.00, accept len: 2.17, accept rate: 0.54,"
    " cuda graph: True, gen throughput (token/s): 178.86, #queue-req: 0, ",
    "[2026-01-20 02:40:29 DP1 TP1] Decode batch. #running-req: 1, #full token: 812, full token usage: 0.01,"
    " #swa token: 3, swa token usage: 0.00, mamba num: 1, gen throughput (token/s): 5.00, #queue-req: 0",
    "Prefill batch. #new-seq: 1, #new-token: 512, #cached-token: 0, token usage: 0.00, #running-req: 0,"
    " #queue-req: 0, #pending-token: 12, input throughput (token/s): 31.10",
    '[2026-01-20 02:40:29] INFO:     127.0.0.1:51234 - "POST /generate HTTP/1.1" 200 OK',
    '[2026-01-20 02:40:29] INFO:     127.0.0.1:51234 - "GET /metrics HTTP/1.1" 200 OK',
    "Multi-thread loading shards:  25% Completed | 1/4 [00:03<00:09,  3.1s/it]",
    "max_total_num_tokens=551894, chunked_prefill_size=8192, max_prefill_tokens=16384",
    "KV Cache is allocated. #tokens: 551894, K size: 33.68 GB, V size: 33.68 GB",
]
HARMLESS = [
    *ORDINARY,
    "tokenizer_path='/models/a', tokenizer_mode='auto', num_draft_tokens=4, tokens: 3",
    "api_key=None, admin_api_key=None, ssl_keyfile=None, ssl_keyfile_password=None",
    "{'api_key': None, 'hf_token': '', 'watermark_key': '<redacted>'}",
    "eos_token: </s>, pad_token: '<|endoftext|>', time_to_first_token: 0.25, token_usage=0.31",
    "speculative_token_map=None, --speculative-token-map /models/hot_tokens.pt --port 30000",
    "--api-key-env SGLANG_KEY --password-file /run/secret.txt",
    "task-0123456789abcdef0123 disk-usage, http://127.0.0.1:30000/v1",
    "Basic authentication is off; bearer of bad news",
    "[--ssl-keyfile-password SSL_KEYFILE_PASSWORD] [--api-key API_KEY]",
    '{"token": " the", "logprob": -0.1}',
    "warmup pass: capturing, pass=2, forward_pass=17, compass=north, one_pass='abcdef'",
    'stop_tokens=[\'</s>\', \'<|im_end|>\'], tokens: [1, 2], "tokens": [" the", " cat"]',
    "SGLANG_MAX_TOKENS=4096, num_draft_tokens=4 min_tokens=8, MY_TOKENS=16, hf_tokens: [1, 2]",
    "(1, 'api_key', 'port'), ['tokenizer', 'bert'], ('host', 'example.org')",
    "ssh://root@gpu01:22, git@github.com:a/b.git, http://127.0.0.1:30000/users/ann@example.org",
    "monkey=1, monkeys: 3, keys=['a', 'b'], sig=1, key=value, path=/a, pattern: x, signature: y",
    "Basic functionality; the API key is required; Cookie: ",
    "api_keys=[], credentials: {}, secrets=(), api_key: str = None",
]
SECRETS = [
    ("--api-key hunter2 --port 1", f"--api-key {MASK} --port 1"),
    ("--api-key=hunter2 --port 1", f"--api-key={MASK} --port 1"),
    ("--api-key 'a b' x", f"--api-key '{MASK}' x"),
    ("['--api-key', 'hunter2', '--tp', '8']", f"['--api-key', '{MASK}', '--tp', '8']"),
    ("api_key='hun\\'ter2', port=1", f"api_key='{MASK}', port=1"),
    ("ServerArgs(api_key='hunter2'", f"ServerArgs(api_key='{MASK}'"),
    ("'admin_api_key': 'hunter2', 'x': 1", f"'admin_api_key': '{MASK}', 'x': 1"),
    ('{"api_key":"hunter2","port":1}', f'{{"api_key":"{MASK}","port":1}}'),
    (
        '"{\\"api_key\\": \\"hunter2\\", \\"p\\": 1}"',
        f'"{{\\"api_key\\": \\"{MASK}\\", \\"p\\": 1}}"',
    ),
    ("'api_key': 'hunter2", f"'api_key': '{MASK}"),
    ("export HF_TOKEN=abcdefgh", f"export HF_TOKEN={MASK}"),
    ("HUGGING_FACE_HUB_TOKEN = 'x1'", f"HUGGING_FACE_HUB_TOKEN = '{MASK}'"),
    ("AWS_SECRET_ACCESS_KEY=a/b+c== next", f"AWS_SECRET_ACCESS_KEY={MASK} next"),
    ("apiKey: 12345", f"apiKey: {MASK}"),
    ("password=12345", f"password={MASK}"),
    ("Authorization: Bearer abc", f"Authorization: {MASK}"),
    ("-H 'X-API-Key: abc'", f"-H 'X-API-Key: {MASK}'"),
    ("sent Bearer abcdefgh1234", f"sent Bearer {MASK}"),
    ("GET /v1?api_key=abc&n=1&token=abcdefghi", f"GET /v1?api_key={MASK}&n=1&token={MASK}"),
    (
        "redis://:pw@h:1 and https://ann:pw@host/x",
        f"redis://:{MASK}@h:1 and https://ann:{MASK}@host/x",
    ),
    ("found hf_abcdefghijklmnop0123!", f"found {MASK}!"),
    ("sk-proj-abcdefghijklmnop", MASK),
    ("ghp_abcdefghijklmnopqrstuv", MASK),
    ("AKIAABCDEFGHIJKLMNOP", MASK),
    ("eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.abcdef", MASK),
    ("ssl_keyfile_password='pw'", f"ssl_keyfile_password='{MASK}'"),
    ("token=9abcdefgh", f"token={MASK}"),
    # --- headers
    ("[('x-api-key', 'X'), ('a', 'b')]", f"[('x-api-key', '{MASK}'), ('a', 'b')]"),
    ("(b'authorization', b'Bearer X')", f"(b'authorization', b'{MASK}')"),
    ('["X-Auth-Key", "X"]', f'["X-Auth-Key", "{MASK}"]'),
    ("X-Auth-Key: X", f"X-Auth-Key: {MASK}"),
    ("Cookie: a=b; session=X", f"Cookie: {MASK}"),
    ("-H 'Set-Cookie: a=\"b\"; session=X' http://h", f"-H 'Set-Cookie: {MASK}' http://h"),
    ("'cookie': 'a=b; session=X', 'n': 1", f"'cookie': '{MASK}', 'n': 1"),
    ('Authorization: Digest username="a", response="X"', f"Authorization: {MASK}"),
    # --- names
    (
        "pass=X PGPASS=X PGPASSWORD=X JWT=X",
        f"pass={MASK} PGPASS={MASK} PGPASSWORD={MASK} JWT={MASK}",
    ),
    ("MY_TOKENS=X,Y api_tokens: X", f"MY_TOKENS={MASK} api_tokens: {MASK}"),
    (f"{'a' * 80}_api_key=X", f"{'a' * 80}_api_key={MASK}"),
    (f"{'a' * 80}api_key=X", f"{'a' * 80}api_key={MASK}"),
    ("connectionString=X", f"connectionString={MASK}"),
    ("line\\ntoken=abcdefgh1", f"line\\ntoken={MASK}"),
    ("API Key: X", f"API Key: {MASK}"),
    ("Invalid API key provided: X", f"Invalid API key provided: {MASK}"),
    ("invalid access token 'X'", f"invalid access token '{MASK}'"),
    # --- what stands between a name and a value
    ("api_key => X, :api_key => 'X'", f"api_key => {MASK}, :api_key => '{MASK}'"),
    ("api_key: Optional[str] = 'X'", f"api_key: Optional[str] = '{MASK}'"),
    ("api_key%3DX api_key\\u003dX", f"api_key%3D{MASK} api_key\\u003d{MASK}"),
    ("os.environ['HF_TOKEN'] = 'X'", f"os.environ['HF_TOKEN'] = '{MASK}'"),
    ("<password>X</password>", f"<password>{MASK}</password>"),
    ("--api-key -X --port 1", f"--api-key {MASK} --port 1"),
    ("['--api-key', '-X', '--tp', '8']", f"['--api-key', '{MASK}', '--tp', '8']"),
    ("keys: api_key=X", f"keys: api_key={MASK}"),
    # --- values
    ("api_key=a;X, port=1", f"api_key={MASK}, port=1"),
    ("(api_key=a,X,port=1)", f"(api_key={MASK},port=1)"),
    ("--api-key a,b;c&X --port 1", f"--api-key {MASK} --port 1"),
    ("api_key='a;b,c&X', port=1", f"api_key='{MASK}', port=1"),
    ("api_key=b'X', port=1", f"api_key=b'{MASK}', port=1"),
    ('api_key="""a"X""", port=1', f'api_key="""{MASK}""", port=1'),
    ('api_key=a"X, port=1', f"api_key={MASK}, port=1"),
    ("api_keys=['X', \"a]X\"], port=1", f"api_keys=[{MASK}], port=1"),
    ("'api_keys': ('X', 'Y'), 'n': 1", f"'api_keys': ({MASK}), 'n': 1"),
    ("API_KEYS=[X,Y] n", f"API_KEYS=[{MASK}] n"),
    ("credentials: {'user': 'X'}, n", f"credentials: {{{MASK}}}, n"),
    # --- addresses
    ("GET /v1?key=X&n=1&sig=Y HTTP/1.1", f"GET /v1?key={MASK}&n=1&sig={MASK} HTTP/1.1"),
    ("/v1?access_token=X", f"/v1?access_token={MASK}"),
    ("https://X@github.com/a", f"https://{MASK}@github.com/a"),
    ("http://u:pa/X@host/v1", f"http://u:{MASK}@host/v1"),
    ("http://u:p@X@host/v1", f"http://u:{MASK}@host/v1"),
    ("http://a,http://u:X@host", f"http://a,http://u:{MASK}@host"),
]


@pytest.mark.parametrize("text", HARMLESS)
def test_leaves_what_is_no_secret(text: str) -> None:
    assert mask(text) == text


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_lines_are_passed_over_at_a_glance(text: str) -> None:
    assert not may_hold_secret(text.encode())


@pytest.mark.parametrize(("text", "masked"), SECRETS)
def test_masks(text: str, masked: str) -> None:
    assert mask(text) == masked
    assert may_hold_secret(text.encode())
    assert mask(masked) == masked


@pytest.mark.parametrize("name", ["eagle3_server_info.json", "spec5.server_info.json"])
def test_server_info_keeps_every_field_that_is_no_secret(name: str) -> None:
    text = unpacked(name).decode()
    assert mask(text) == text
    info = json.loads(text)
    assert mask_value("", info) == info
    assert len(info) > 400
    info["api_key"] = info["internal_states"][0]["api_key"] = "hunter2"
    assert "hunter2" not in mask(json.dumps(info))
    assert "hunter2" not in mask(repr(info))
    assert "hunter2" not in json.dumps(mask_value("", info))


def test_names() -> None:
    secret = "api_key API-KEY apiKey HF_TOKEN token WANDB_API_KEY password DB_PWD x-auth GITHUB_PAT aws_access_key_id"
    plain = (
        "max_total_tokens token_usage tokenizer_path num_draft_tokens keyfile routing_key eos_token tokens"
        " speculative_token_map author NCCL_ALGO api_key_env HF_TOKEN_PATH compat"
    )
    assert [name for name in secret.split() if not is_secret_name(name)] == []
    assert [name for name in plain.split() if is_secret_name(name)] == []


def test_command_lines_environments_and_values() -> None:
    argv = ["python", "--api-key", "-dash", "--hf-token=abc", "--port", "1", "--api-key="]
    assert mask_argv(argv) == (
        "python",
        "--api-key",
        MASK,
        f"--hf-token={MASK}",
        "--port",
        "1",
        "--api-key=",
    )
    assert mask_environment(
        {"HF_TOKEN": "x", "NCCL_ALGO": "Ring", "A": "sk-abcdefghijklmnop12"}
    ) == {
        "HF_TOKEN": MASK,
        "NCCL_ALGO": "Ring",
        "A": MASK,
    }
    assert mask_environment({"MY_TOKENS": "x", "SGLANG_X_TOKENS": "64"}) == {
        "MY_TOKENS": MASK,
        "SGLANG_X_TOKENS": "64",
    }
    headers = [["x-api-key", "x"], ["host", "h"]]
    assert mask_value("headers", headers) == [["x-api-key", MASK], ["host", "h"]]
    assert mask_value("", {"credentials": {"user": "x", "n": None}}) == {
        "credentials": {"user": MASK, "n": None}
    }
    assert mask_value("args", {"api_key": None, "n": 3, "argv": ["--api-key", "x"]}) == {
        "api_key": None,
        "n": 3,
        "argv": ["--api-key", MASK],
    }


def _recorded_lines() -> Iterator[bytes]:
    for path in sorted(RECORDINGS.rglob("*")):
        if path.suffix in _OPENERS:
            data = _OPENERS[path.suffix](path.read_bytes())
        elif path.is_file():
            data = path.read_bytes()
        else:
            continue
        yield from data.replace(b"\r", b"\n").split(b"\n")


def test_every_line_of_every_recording_stays_as_it_is() -> None:
    """No server of the recordings was given a secret."""
    lines = set(_recorded_lines())
    assert len(lines) > 20_000
    for line in lines:
        text = line.decode("utf-8", "replace")
        assert mask(text) == text
    assert sum(b" batch" in line for line in lines) > 1000
    assert not any(
        may_hold_secret(line) for line in lines if re.search(rb"(?:Decode|Prefill) batch", line)
    )


ODD = [
    *(
        "api_key",
        "api_key=",
        "api_key=x,",
        "api_key:[",
        'api_key="',
        "api_key  ",
        "--api-key ",
        "-key",
    ),
    *(
        "--api-key',",
        "('api_key','",
        "('api_key',(",
        "[\\\\'key",
        "(",
        "cookie: ",
        "://",
        "a://b:c@",
    ),
    *(
        "://a:",
        "-eyJaaaaaaaaaa",
        "-sk-",
        "hf_a",
        "bearer ",
        "basic aB",
        "?key=",
        "&key=a",
        "<key>",
        "<key>a",
    ),
    *(
        "api key ",
        "api  key  is  ",
        "api_key: str ",
        "secret={",
        "token: 1",
        "token ",
        "api_key%3d",
        ".key.",
    ),
    *(
        "A_TOKENS",
        "key=\0",
        "pass:",
        "pass='",
        "key='\\'",
        "a,",
        ",a:",
        "\\",
        "\\'",
        "@",
        "/",
        "'",
        " ",
    ),
]


def _cost(text: str) -> float:
    """Seconds of CPU."""
    data = text.encode()
    before = time.process_time()
    mask(text)
    may_hold_secret(data)
    return time.process_time() - before


@pytest.mark.parametrize("begin", ["", "api_key='", "cookie: http://u:@"])
def test_no_text_costs_more_than_its_length(begin: str) -> None:
    """Eight times the text is about eight times the work, whatever it repeats; not sixty-four."""
    for piece in ODD:
        short, long = (begin + piece * (length // len(piece)) for length in (4_000, 32_000))
        assert any(_cost(long) < 16 * _cost(short) + 0.02 for _ in range(5)), (begin, piece)


PIECES = (
    'api_key|token|hf_token|password|--api-key|--token|Authorization|Bearer|basic|:|=|\'|"|\\|\\"|,|[|]'
    "|{|}|&|?|\n|\t|http://a:b@c|hf_abcdefghijklmnopq|sk-abcdefghijklmnopqr|160|abcdefghij|None|pat|K_PAT"
    "|key|#|#token|ſecret|toKen|x-auth|dsn|0.5|-|--|_|cookie|pass|MY_TOKENS|jwt|api key|provided|=>|%3D"
    "|(|)|;|?key=|&sig=|<key>|</|https://|@|usage: |s: |/s)|iz|\\n|b'|Digest |a=b; "
)
piece = st.sampled_from(PIECES.split("|"))


@given(st.lists(st.one_of(piece, st.just(" "), st.text(max_size=4)), max_size=14).map("".join))
@example("--token 1 x=1")
@example("token\\'=abcdefghij")
@example("--hf-token', 'abc")
def test_the_glance_never_misses_what_mask_changes(text: str) -> None:
    masked = mask(text)
    assert mask(masked) == masked
    if masked != text:
        assert may_hold_secret(text.encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize("flag", ["--ap", "--api-k", "--api_key", "--admin", "--admin-api-ke"])
def test_a_prefix_of_a_secret_flag_is_one(flag: str) -> None:
    """argparse takes any that is unambiguous."""
    assert mask_argv([flag, "x1", f"{flag}=x1"]) == (flag, MASK, f"{flag}={MASK}")


@pytest.mark.parametrize("flag", ["-a", "--", "-", "--attention-backend", "--apiary", "-m"])
def test_what_only_begins_alike_is_none(flag: str) -> None:
    assert mask_argv([flag, "x1"]) == (flag, "x1")
