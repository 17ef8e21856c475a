"""What SGLang's own parser makes of command lines, without starting a server.

Reads one JSON document a line, `{"argv": […], "environment": {…}}`, and answers each with a line
that begins with `@`: `{"ok": true, "speculative_num_steps": …}` or `{"ok": false, "error": "…"}`.
It goes as far as the launcher does before it starts a process: parse, resolve, validate.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from typing import Any

os.environ["SGLANG_USE_CPU_ENGINE"] = "1"

FIELDS = (
    "speculative_algorithm",
    "speculative_num_steps",
    "speculative_eagle_topk",
    "speculative_num_draft_tokens",
    "speculative_adaptive",
    "speculative_draft_model_path",
    "max_running_requests",
    "enable_mixed_chunk",
    "page_size",
    "attention_backend",
)


def resolve(argv: list[str]) -> dict[str, Any]:
    """The verdict on one command line."""
    from sglang.srt.arg_groups.overrides import resolved_view
    from sglang.srt.server_args import prepare_server_args

    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            arguments = prepare_server_args(argv)
            arguments.resolve_once()
            arguments.check_server_args()
    except SystemExit:
        return {"ok": False, "error": said.getvalue().strip().splitlines()[-1]}
    except Exception as error:
        return {"ok": False, "error": f"{type(error).__name__}: {error}"}
    view = resolved_view(arguments)
    return {"ok": True, **{field: getattr(view, field) for field in FIELDS}}


def main() -> None:
    """Answer every line."""
    for line in sys.stdin:
        asked = json.loads(line)
        before = dict(os.environ)
        os.environ.update(asked.get("environment", {}))
        answer = resolve(asked["argv"])
        os.environ.clear()
        os.environ.update(before)
        sys.stdout.write(f"@{json.dumps(answer)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
