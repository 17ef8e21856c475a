"""A stand-in for SGLang's server: its lines, its HTTP, its workers, and its ways to fail.

It is copied to `…/sglang/launch_server.py`, where eagletui takes it for a server. What it shall do
wrong stands in its environment:

    SGLANG_FAKE_IGNORE_TERM   SIGTERM does nothing
    SGLANG_FAKE_DIE           `shards`: at 99 % of them; `token`: when it is asked to
                              generate; `ready`: when it has generated; `silently`: at
                              once and without a word
    SGLANG_FAKE_STALL         loading ends only when there is a file `told` beside the script
    SGLANG_FAKE_CLOCK         so many seconds its clock jumps in the middle of the shards
    SGLANG_FAKE_NO_TOKEN      /generate answers 500
    SGLANG_FAKE_BUSY          so many requests run until they are aborted
    SGLANG_FAKE_WORKERS       so many workers; SGLANG_FAKE_ORPHANS: they outlive the server
"""

# ruff: noqa: T201 - it speaks on standard error as the real one does

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = sys.argv[sys.argv.index("--api-key") + 1] if "--api-key" in sys.argv else ""
PORT = int(sys.argv[sys.argv.index("--port") + 1])
BUSY = [int(os.environ.get("SGLANG_FAKE_BUSY", "0"))]
DIE = os.environ.get("SGLANG_FAKE_DIE")
TOLD = os.path.join(os.path.dirname(sys.argv[0]), "told")
WORKER = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(600)"


JUMPED = [0.0]


def say(text: str) -> None:
    stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(time.time() + JUMPED[0]))
    print(f"[{stamp}] {text}", file=sys.stderr, flush=True)


def die_without_memory(where: str = "") -> None:
    print(f"{where}Traceback (most recent call last):", file=sys.stderr)
    print('  File "x.py", line 1', file=sys.stderr)
    print(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
        file=sys.stderr,
    )
    os._exit(1)


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        loads = {"loads": [{"num_running_reqs": BUSY[0], "num_waiting_reqs": 0}]}
        self.reply(200, loads) if self.path == "/v1/loads" else self.reply(404, {})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or b"{}")
        if KEY and self.headers["Authorization"] != f"Bearer {KEY}":
            self.reply(401, {})
        elif self.path == "/abort_request" and body == {"rid": "", "abort_all": True}:
            say("aborted all")
            BUSY[0] = 0
            self.reply(200, {})
        elif self.path == "/generate" and DIE == "token":
            die_without_memory("Scheduler hit an exception: ")
        elif self.path == "/generate" and not os.environ.get("SGLANG_FAKE_NO_TOKEN"):
            count = body["sampling_params"]["max_new_tokens"]
            self.reply(200, {"text": " cat", "meta_info": {"completion_tokens": count}})
            if DIE == "ready":
                say("Scheduler hit an exception: Traceback (most recent call last):")
                os._exit(1)
        else:
            self.reply(500, {"error": "no kernel image is available"})

    def reply(self, status: int, document: Any) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def terminated(number: int, frame: Any) -> None:
    say(f"SIGTERM received at {time.time():.6f}")
    if os.environ.get("SGLANG_FAKE_IGNORE_TERM"):
        return
    for worker in WORKERS:
        if not os.environ.get("SGLANG_FAKE_ORPHANS"):
            worker.kill()
    os._exit(0)


if DIE == "silently":
    os._exit(3)
signal.signal(signal.SIGTERM, terminated)
say(f"server_args=ServerArgs(model_path='m', port={PORT})")
WORKERS = [
    subprocess.Popen(
        [f"sglang::scheduler_TP{rank}", "-c", WORKER, sys.argv[0]], executable=sys.executable
    )
    for rank in range(int(os.environ.get("SGLANG_FAKE_WORKERS", "0")))
]
say("Load weight begin. avail mem=78.58 GB")
for shard in range(1, 101):
    bar = f"Loading safetensors checkpoint shards: {shard:3}% Completed | {shard}/100"
    print(f"\r{bar} [00:01<00:01,  9.00it/s]", end="\n", file=sys.stderr, flush=True)
    if shard == 99 and os.environ.get("SGLANG_FAKE_DIE") == "shards":
        die_without_memory()
    if shard == 50:
        JUMPED[0] = float(os.environ.get("SGLANG_FAKE_CLOCK", "0"))
    while os.environ.get("SGLANG_FAKE_STALL") and shard == 50 and not os.path.exists(TOLD):
        time.sleep(0.1)
say("Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem=63.1 GB.")
server = ThreadingHTTPServer(("127.0.0.1", PORT), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
say("The server is fired up and ready to roll!")
while True:
    time.sleep(60)
