"""`eagletui metrics FILE|URL|-`: one scrape, or several, as numbers."""

from __future__ import annotations

import asyncio
import time
from typing import Any, NamedTuple

import click
from msgspec.structs import replace

from eagletui.cli.options import api_key_from, json_option
from eagletui.cli.output import echo_json
from eagletui.cli.packed import saved
from eagletui.engine.http_problems import classify_exception, classify_reply
from eagletui.engine.metrics import MAX_BODY, MetricsReader, NotMetrics, too_large
from eagletui.engine.quantiles import milliseconds
from eagletui.engine.rates import busy_span, last_launch, over
from eagletui.engine.scrapes import doubts, split_scrapes
from eagletui.model.errors import EagletuiError, HostError, UsageError
from eagletui.model.readings import Quantiles, Rates, Reading
from eagletui.model.safe import safe
from eagletui.model.speculative import accept_rate
from eagletui.model.text import counted, visible

FETCH_SECONDS = 10.0
# A file of many scrapes may be larger than any page.
MAX_FILE = 1 << 30
# Larger numbers are nobody's measurement: written short.
_READABLE = 1e15


class Summary(NamedTuple):
    """A file's last reading, and the rates over its busy span where there are several.

    Attributes:
        launch: how many scrapes of the last launch are good for rates.
        moved: whether a token moved between them.
    """

    reading: Reading
    rates: Rates
    scrapes: int
    launch: int = 1
    moved: bool = False


@click.command()
@click.argument("source", metavar="FILE|URL|-")
@click.option(
    "--api-key-env",
    metavar="NAME",
    help="The environment variable that holds the server's API key.",
)
@json_option
def metrics(source: str, api_key_env: str | None, as_json: bool) -> None:
    """Explain a saved or live /metrics page.

    Of several scrapes, each after a line `### unix-time`, the gauges are those of the last busy
    one, and rates are taken over the busy span: from the first to the last scrape between which
    requests ran, those at which they began or ended left out. One scrape has no rates, and its
    TTFT and ITL are those since the server started. FILE may be compressed (gz, xz, bz2); - is
    standard input.
    """
    if source.lower().startswith(("http://", "https://")):
        data = fetch(source, api_key_env)
    else:
        data = read_saved(source)
    summary = summarise(data, now=time.time())
    for doubt in doubts(data, split_scrapes(data)):
        click.echo(f"eagletui: {doubt}", err=True)
    if as_json:
        echo_json(document(summary))
    else:
        for line in lines(summary):
            click.echo(line)


# --- getting the bytes ------------------------------------------------------------------------


def fetch(url: str, api_key_env: str | None) -> bytes:
    """One page over HTTP from this machine.

    Raises:
        HostError: no connection, or it ended.
        EagletuiError: the server said something else.
        UsageError: the named variable holds no key.
    """
    headers = {}
    if api_key_env is not None:
        if _names_user(url):
            raise UsageError(
                f"{safe(url)} has a user or password in it, and --api-key-env was given.",
                meaning="Both are sent in the same header: only one of them can be.",
                advice="Leave out the one that the server does not want.",
            )
        headers["Authorization"] = f"Bearer {api_key_from(api_key_env)}"
    return asyncio.run(_get(_address(url), headers))


def _address(url: str) -> str:
    scheme, _, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}://{host}/{path}" if slash and path else f"{scheme}://{host}/metrics"


def _names_user(url: str) -> bool:
    return "@" in url.partition("://")[2].partition("/")[0]


async def _get(url: str, headers: dict[str, str]) -> bytes:
    import aiohttp

    body = bytearray()
    begun = False
    limit = aiohttp.ClientTimeout(total=FETCH_SECONDS)
    try:
        async with (
            aiohttp.ClientSession(timeout=limit, headers=headers) as session,
            session.get(url) as response,
        ):
            begun = True
            async for block in response.content.iter_chunked(1 << 16):
                body += block
                if len(body) > MAX_BODY:
                    raise too_large(len(body))
    except (aiohttp.ClientError, asyncio.TimeoutError, OSError, ValueError) as error:
        if isinstance(error, (aiohttp.InvalidURL, ValueError)):
            raise UsageError(f"{safe(url)} is no address that can be asked.") from None
        if begun and isinstance(error, asyncio.TimeoutError):
            raise HostError(
                f"{safe(url)}: The reply began, but was not over within "
                f"{FETCH_SECONDS:g} s ({len(body):,} bytes came, unpacked).",
                advice="The way is slow, or this is no page of metrics: check the address.",
            ) from None
        problem = classify_exception(error)
        advice = problem.advice
        raise HostError(f"{safe(url)}: {problem.detail}", advice=advice) from None
    said = classify_reply(
        response.status,
        bytes(body[:512]),
        path=response.url.path,
        key_sent="Authorization" in headers,
    )
    if said is not None:
        raise EagletuiError(said.detail, advice=said.advice)
    return bytes(body)


def read_saved(source: str) -> bytes:
    """The pages of a file, unpacked, or of standard input.

    Raises:
        EagletuiError: it cannot be read, or is larger than any such file.
    """
    data = bytearray()
    with saved(source) as blocks:
        for block in blocks:
            data += block
            if len(data) > MAX_FILE:
                raise too_large(len(data))
    return bytes(data)


# --- saying what they say ---------------------------------------------------------------------


def summarise(data: bytes, *, now: float) -> Summary:
    """What a page or a file of scrapes says.

    Scrapes that are no metrics (the server was away) are passed over where others are good.

    Raises:
        NotMetrics: there is no good page in it.
    """
    reader, readings, refused = MetricsReader(), [], None
    scrapes = split_scrapes(data)
    for scrape in scrapes:
        try:
            readings.append(reader.read(scrape.body, at=now if scrape.at is None else scrape.at))
        except NotMetrics as error:  # noqa: PERF203
            refused = error
    if not readings:
        assert refused is not None
        raise refused
    span, launch = busy_span(readings), last_launch(readings)
    if len(span) < 2:
        last = launch[-1] if launch else readings[-1]
        since_start = replace(
            over(launch or (last,)), ttft_ms=milliseconds(last.ttft), itl_ms=milliseconds(last.itl)
        )
        if len(launch) > 1:
            since_start = replace(since_start, tok_s=0.0, accept_length=None)
        return Summary(last, since_start, len(readings), len(launch))
    return Summary(span[-1], over(span, histograms=launch), len(readings), len(launch), True)


def document(summary: Summary) -> dict[str, Any]:
    """The contract of `metrics --json`; what a release does not say is null."""
    reading, rates = summary.reading, summary.rates
    many = rates.seconds > 0.0
    length = reading.accept_length
    return {
        "engine": reading.engine or None,
        "accept_length": length,
        "accept_rate": None if length is None else accept_rate(length, reading.num_steps),
        "num_steps": reading.num_steps,
        "num_draft_tokens": reading.num_draft_tokens,
        "gen_throughput": reading.gen_throughput,
        "running": reading.running,
        "queued": reading.queued,
        "token_usage": reading.token_usage,
        "rates": {
            "tok_s": rates.tok_s,
            "step_ms": rates.step_ms,
            "verify_ms": rates.verify_ms,
            "draft_ms": rates.draft_ms,
            "draft_extend_ms": rates.draft_extend_ms,
            "accept_length": rates.accept_length if many else None,
            "source": rates.source if many and rates.source != "none" else None,
        },
        "ttft_ms": _quantiles(rates.ttft_ms),
        "itl_ms": _quantiles(rates.itl_ms),
    }


def _quantiles(quantiles: Quantiles) -> dict[str, float | None]:
    return {"p50": quantiles.p50, "p99": quantiles.p99}


def lines(summary: Summary) -> list[str]:
    """The same for a person."""
    reading, rates = summary.reading, summary.rates
    samples = counted(reading.samples, "sample")
    if reading.engine != "sglang":
        name = reading.engine or "an unknown program"
        return [f"{samples} of {name}: only SGLang's metrics are explained."]
    title = f"SGLang, {visible(reading.model_name) or 'model not named'}, {samples}"
    if reading.dp_ranks > 1:
        title += f", {reading.dp_ranks} DP ranks"
    found = [title]
    if reading.truncated:
        found.append("The page is cut: what is missing below may only be missing here.")
    rows: list[tuple[str, float | None, str, str]] = [
        ("accept (gauge)", reading.accept_length, "", "accept length, last decode interval"),
        ("accept rate", _rate(reading), "", "(accept length − 1) / steps"),
        ("num steps", reading.num_steps, "", ""),
        ("draft tokens", reading.num_draft_tokens, "", ""),
        ("running", reading.running, "", ""),
        ("queued", reading.queued, "", ""),
        ("KV usage", _percent(reading.token_usage), "%", ""),
        ("gen throughput", reading.gen_throughput, "tok/s", "server's gauge"),
    ]
    if rates.seconds > 0.0:
        rows += [
            ("tok/s", rates.tok_s, "", f"over {rates.seconds:.1f} s of {summary.scrapes} scrapes"),
            ("step", rates.step_ms, "ms", "wall"),
            ("verify", rates.verify_ms, "ms", rates.source),
            ("draft", rates.draft_ms, "ms", rates.source),
            ("draft extend", rates.draft_extend_ms, "ms", rates.source),
            ("decode", rates.decode_ms, "ms", rates.source),
            ("accept (window)", _counted_length(summary), "", "accept length over the same time"),
        ]
    note = "" if summary.moved else "since the server started"
    rows += [
        ("TTFT p50", rates.ttft_ms.p50, "ms", note),
        ("TTFT p99", rates.ttft_ms.p99, "ms", note),
        ("ITL p50", rates.itl_ms.p50, "ms", note),
        ("ITL p99", rates.itl_ms.p99, "ms", note),
    ]
    found += [
        f"  {name:<16}{_figure(value):>9} {unit:<6}{note}".rstrip()
        for name, value, unit, note in rows
        if value is not None
    ]
    if summary.moved:
        return found
    if summary.launch > 1:
        what = "no token moved" if reading.running else "no request ran"
        found.append(f"{what.capitalize()} between these {summary.launch} scrapes.")
    elif summary.scrapes > 1:
        found.append("One whole scrape since the last restart has no rates: save several.")
    else:
        found.append("One scrape has no rates: save several, each after a line `### unix-time`.")
    return found


def _counted_length(summary: Summary) -> float | None:
    """The window's accept length, unless it is only the gauge again."""
    length = summary.rates.accept_length
    return None if length == summary.reading.accept_length else length


def _rate(reading: Reading) -> float | None:
    if reading.accept_length is None:
        return None
    return accept_rate(reading.accept_length, reading.num_steps)


def _percent(share: float | None) -> float | None:
    return None if share is None else 100.0 * share


def _figure(value: float) -> str:
    if not abs(value) < _READABLE:
        return f"{value:.3g}"
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.2f}"
