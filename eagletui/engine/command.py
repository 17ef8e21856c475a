"""A server's command line read back: what it was asked to serve, and how.

Only what the command line says; what the server made of it is in `server_args` and `/server_info`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eagletui.model.base import Data
from eagletui.model.speculative import Speculative

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 30000

# Field → spellings, longest first. Releases 0.4.6 to 0.5.23 accept all of them; `--tp`, `--dp` and
# `--model` are argparse prefixes rather than aliases, and so are any others that stay unambiguous.
FLAGS: dict[str, tuple[str, ...]] = {
    "model": ("--model-path", "--model"),
    "served_name": ("--served-model-name",),
    "host": ("--host",),
    "port": ("--port",),
    "tp": ("--tensor-parallel-size", "--tp-size", "--tp"),
    "dp": ("--data-parallel-size", "--dp-size", "--dp"),
    "pp": ("--pipeline-parallel-size", "--pp-size"),
    "nnodes": ("--nnodes",),
    "node_rank": ("--node-rank",),
    "api_key": ("--api-key",),
    "algorithm": ("--speculative-algorithm", "--speculative-algo"),
    "draft": ("--speculative-draft-model-path", "--speculative-draft-model"),
    "num_steps": ("--speculative-num-steps",),
    "eagle_topk": ("--speculative-eagle-topk",),
    "num_draft_tokens": ("--speculative-num-draft-tokens",),
}
SWITCHES: dict[str, tuple[str, ...]] = {
    "metrics": ("--enable-metrics",),
    "adaptive": ("--speculative-adaptive",),
    "no_graphs": ("--disable-cuda-graph",),
}
_FIELD = {
    flag: name for table in (FLAGS, SWITCHES) for name, flags in table.items() for flag in flags
}


class CommandLine(Data, frozen=True):
    """What an `sglang.launch_server` or `sglang serve` command line says.

    `api_key` is the one secret here: it is used to talk to the server and never shown.
    """

    model: str = ""
    served_name: str = ""
    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    tp_size: int = 1
    dp_size: int = 1
    pp_size: int = 1
    nnodes: int = 1
    node_rank: int = 0
    speculative: Speculative = Speculative()
    metrics: bool = False
    api_key: str | None = None

    @property
    def url(self) -> str:
        """Where the server answers as seen from its own host."""
        host = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "": "127.0.0.1"}.get(self.host, self.host)
        if ":" in host and not host.startswith("["):
            host = f"[{host}]"
        return f"http://{host}:{self.port}"


def parse_command(argv: Sequence[str]) -> CommandLine:
    """Read an argument vector; words that are not understood are passed over."""
    found: dict[str, str] = {}
    switches: set[str] = set()
    for name, value in _pairs(argv):
        if name in SWITCHES:
            switches.add(name)
        elif value is not None:
            found[name] = value
    algorithm = found.get("algorithm")
    if algorithm is not None and algorithm.lower() in ("none", "null", ""):
        algorithm = None
    speculative = Speculative(
        algorithm=algorithm.upper() if algorithm else None,
        num_steps=_int(found.get("num_steps")),
        eagle_topk=_int(found.get("eagle_topk")),
        num_draft_tokens=_int(found.get("num_draft_tokens")),
        draft_model=found.get("draft"),
        adaptive="adaptive" in switches,
    )
    return CommandLine(
        model=found.get("model", ""),
        served_name=found.get("served_name", ""),
        host=found.get("host", DEFAULT_HOST),
        port=_int(found.get("port")) or DEFAULT_PORT,
        tp_size=_int(found.get("tp")) or 1,
        dp_size=_int(found.get("dp")) or 1,
        pp_size=_int(found.get("pp")) or 1,
        nnodes=_int(found.get("nnodes")) or 1,
        node_rank=_int(found.get("node_rank")) or 0,
        speculative=speculative if algorithm else Speculative(),
        metrics="metrics" in switches,
        api_key=found.get("api_key"),
    )


def canonical_flag(flag: str) -> str:
    """One spelling for a flag's aliases and unambiguous prefixes: `--tp` is `--tp-size`.

    A flag that is not in the tables is its own, underscores read as dashes.
    """
    name = _field(flag)
    if name is None:
        return flag.replace("_", "-")
    return (FLAGS.get(name) or SWITCHES[name])[0]


def _pairs(argv: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    words = list(argv)
    for index, word in enumerate(words):
        flag, joined, value = word.partition("=")
        name = _field(flag)
        if name is None:
            continue
        if joined:
            yield name, value
        elif name in SWITCHES:
            yield name, None
        elif index + 1 < len(words):
            yield name, words[index + 1]


def _field(flag: str) -> str | None:
    """The field of a spelling, also of an unambiguous prefix as argparse takes it."""
    if not flag.startswith("--"):
        # `sglang serve MODEL` is not accepted by any release read: the model is always a flag.
        return None
    if "_" in flag:
        flag = flag.replace("_", "-")
    exact = _FIELD.get(flag)
    if exact is not None or len(flag) < 6:
        return exact
    matches = {name for spelled, name in _FIELD.items() if spelled.startswith(flag)}
    return matches.pop() if len(matches) == 1 else None


def _int(text: str | None) -> int | None:
    try:
        return int(text) if text is not None else None
    except ValueError:
        return None
