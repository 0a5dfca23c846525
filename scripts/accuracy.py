"""Count recorded requests with a running service, print how often it is right, and write the class table.

    python -m scripts.accuracy --truth DIR [--write] [--base-url URL] [--worst N] [--check]

DIR contains `dev.jsonl.gz`, which has a recorded request on each line (kind, platform, model, request, input_tokens,
source, main_feature, ...). It may contain `claude_text_dev.jsonl.gz`: bare texts with the counts of Anthropic's
endpoint. Without --base-url, a service is started on a free port and stopped at the end. --write replaces
service/counting/accuracy_classes.json and the table of docs/accuracy.md. --check fails when the committed classes are
not those that were measured.
"""

from __future__ import annotations

import argparse
import collections
import gzip
import json
import math
import sys
import urllib.request
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.live import live_server

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "service" / "counting" / "accuracy_classes.json"

MIN_EXACT_ROWS, MIN_EXACT_SOURCES, MIN_CALIBRATED_ROWS = 20, 3, 5
VARIED = {"media", "documents", "hosted"}
"""Features that vary so much that one source says little about another: files, and the provider's own tools."""

MAX_CALIBRATED_ERROR = 0.10
"""A class with a larger error than this is an estimate, however many rows it has."""

MIN_DIVISOR = 40
"""The relative error of a smaller count is taken of this many tokens."""

MARCH_2025 = range(1741564800, 1743206400)
"""Responses created from 10 to 28 March 2025 were billed 18 to 216 tokens more. Later ones were not."""


@dataclass(frozen=True)
class Scored:
    """One recorded request and the service's answer."""

    row: dict[str, Any]
    answer: dict[str, Any] | None
    failure: str = ""

    @property
    def counted(self) -> int:
        return self.answer["input_tokens"] if self.answer else 0

    @property
    def billed(self) -> int:
        return int(self.row["input_tokens"])

    @property
    def error(self) -> float:
        """(billed - counted) / counted. Counts below MIN_DIVISOR divide by it: bands are rounded up to whole tokens."""
        return (self.billed - self.counted) / max(self.counted, MIN_DIVISOR)

    @property
    def exact(self) -> bool:
        return self.answer is not None and self.counted == self.billed

    @property
    def in_band(self) -> bool:
        band = self.answer["error_band"] if self.answer else {"low": 0, "high": -1}
        return bool(band["low"] <= self.billed <= band["high"])


# ---------------------------------------------------------------- asking the service


@contextmanager
def running_service() -> Iterator[str]:
    """A service of this checkout on a free loopback port. Yields its base URL."""
    with live_server() as base_url:
        yield base_url


def post(base_url: str, path: str, body: Any) -> Any:
    request = urllib.request.Request(base_url + path, json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=300) as answer:
        return json.load(answer)


def split_batches(items: list[Any], size: int) -> Iterator[list[Any]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]


def count_all(base_url: str, items: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """A result, or {"error": ...}, for each item, in order."""
    with ThreadPoolExecutor(2) as pool:
        bodies = ({"items": part} for part in split_batches(items, 50))
        for answer in pool.map(lambda body: post(base_url, "/v1/countTokens:batch", body), bodies):
            yield from answer["results"]


def replay(base_url: str, rows: list[dict[str, Any]]) -> list[Scored]:
    items = [
        {"model": row["model"], "dialect": row["kind"], "request": row["request"],
         **({"platform": row["platform"]} if row["kind"].startswith("google.") else {})}
        for row in rows
    ]
    return [
        Scored(row, None, json.dumps(answer["error"])) if "error" in answer else Scored(row, answer)
        for row, answer in zip(rows, count_all(base_url, items), strict=True)
    ]


# ---------------------------------------------------------------- the class table


def classify(feature: str, items: list[Scored]) -> dict[str, Any]:
    """The method and the relative error band of one class, from its rows.

    exact: at least 20 rows from at least 3 sources, and every count was right.
    calibrated: at least 5 rows, in VARIED features from at least 3 sources. The band is the measured range, its lower
    end widened by a quarter, its upper end by a half and to at least 1%.
    estimate: everything else. The band is -5% / +15% or, if that is wider, the measured range without the furthest 5%
    of the rows, widened by a half.
    """
    errors = [item.error for item in items if not item.answer or not item.answer["uncounted"]] or [0.0]
    exact = all(item.exact for item in items)
    sources = {item.row["source"] for item in items}
    lowest, highest = min(*errors, 0.0), max(*errors, 0.0)
    facts = {"rows": len(items), "sources": len(sources), "exact_rows": sum(item.exact for item in items)}
    if exact and len(items) >= MIN_EXACT_ROWS and len(sources) >= MIN_EXACT_SOURCES:
        return {"method": "exact", "low": 0.0, "high": 0.0, **facts}
    enough = len(items) >= MIN_CALIBRATED_ROWS and (feature not in VARIED or len(sources) >= MIN_EXACT_SOURCES)
    if enough and max(-lowest, highest) <= MAX_CALIBRATED_ERROR:
        how, low, high = "calibrated", 1.25 * lowest, max(1.5 * highest, 0.01)
    else:
        usual = sorted(errors, key=abs)[: math.ceil(0.95 * len(errors))]
        how, low, high = "estimate", min(1.5 * min(usual), -0.05), max(1.5 * max(usual), 0.15)
    return {"method": how, "low": _round_down(low), "high": _round_up(high), **facts}


def _round_down(value: float) -> float:
    return max(math.floor(value * 1000) / 1000, -1.0)


def _round_up(value: float) -> float:
    return math.ceil(value * 1000) / 1000


def make_class_rows(scored: Iterable[Scored]) -> list[dict[str, Any]]:
    classes: dict[tuple[str, str], list[Scored]] = collections.defaultdict(list)
    for item in scored:
        if item.answer:
            classes[item.answer["class"]["rules"], item.answer["class"]["feature"]].append(item)
    return [
        {"rules": rules, "feature": feature, **classify(feature, items)}
        for (rules, feature), items in sorted(classes.items())
    ]


# ---------------------------------------------------------------- bare texts of Claude 3 and later

TEXT_FAMILIES = {"v3": ("claude-v3", 7), "v4.7": ("claude-v4.7", 11), "v5": ("claude-v4.8", 6)}
"""Family in the recorded file -> its tokenizer, and the tokens that a message adds to its text (ctok 1.3.0)."""


def make_text_rows(base_url: str, path: Path) -> list[dict[str, Any]]:
    """Class rows (feature "content") of the tokenizers that were derived from counts of Anthropic's endpoint."""
    rows = [row for row in read(path) if row["family"] in TEXT_FAMILIES]
    items = [{"tokenizer": TEXT_FAMILIES[row["family"]][0], "text": row["text"]} for row in rows]
    groups: dict[str, list[float]] = collections.defaultdict(list)
    for row, answer in zip(rows, count_all(base_url, items), strict=True):
        tokenizer, frame = TEXT_FAMILIES[row["family"]]
        content = row["input_tokens"] - (0 if row["frame"].startswith("content only") else frame)
        groups[tokenizer].append(content / answer["input_tokens"] - 1 if answer["input_tokens"] else float(content > 0))
    out = []
    for tokenizer, errors in sorted(groups.items()):
        right = sum(error == 0 for error in errors)
        print(f"{tokenizer:14} bare texts {len(errors):5}  exact {100 * right / len(errors):6.2f}%  "
              f"worst {100 * min(errors):.1f}% / +{100 * max(errors):.1f}%")
        out.append({
            "rules": tokenizer, "feature": "content", "method": "calibrated", "low": _round_down(min(*errors, 0.0)),
            "high": _round_up(max(*errors, 0.005)), "rows": len(errors), "sources": 1, "exact_rows": right,
        })
    return out


# ---------------------------------------------------------------- printing


def read(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def make_table_lines(scored: list[Scored]) -> list[str]:
    groups: dict[tuple[str, ...], list[Scored]] = collections.defaultdict(list)
    for item in scored:
        provider = item.row["kind"].split(".")[0]
        groups[provider, item.row["main_feature"]].append(item)
        groups[provider, "all"].append(item)
        groups["all", "all"].append(item)
    lines = [
        "| provider | feature | requests | exact | within 2% | worst under | worst over | in band | failed |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for (provider, feature), items in sorted(groups.items(), key=lambda g: (g[0][0] == "all", g[0])):
        ok = [item for item in items if item.answer]
        off = [item.counted / item.billed - 1 if item.billed else 0.0 for item in ok]
        lines.append(
            f"| {provider} | {feature} | {len(items)} | {format_share(item.exact for item in items)} "
            f"| {format_share(abs(e) <= 0.02 for e in off)} "
            f"| {100 * min([*off, 0]):.1f}% | +{100 * max([*off, 0]):.1f}% "
            f"| {format_share(item.in_band for item in ok)} | {len(items) - len(ok)} |"
        )
    return lines


def print_methods(scored: list[Scored]) -> None:
    methods = collections.Counter((item.answer or {"method": "failed"})["method"] for item in scored)
    wrong = sum(item.answer is not None and item.answer["method"] == "exact" and not item.exact for item in scored)
    held = [item.in_band for item in scored if item.answer and item.answer["method"] == "estimate"]
    print(f"\nmethods {dict(methods)}; called exact but wrong: {wrong}; "
          f"estimates whose band holds: {format_share(held)}")


PAGE = ROOT / "docs" / "accuracy.md"
MARKERS = ("<!-- accuracy: written by scripts/accuracy.py -->\n", "<!-- end of accuracy -->\n")


def write_page(table: list[str]) -> None:
    """Write the table between the markers of the page."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(MARKERS[0])
    _, _, after = rest.partition(MARKERS[1])
    PAGE.write_text(before + MARKERS[0] + "\n".join(table) + "\n" + MARKERS[1] + after, encoding="utf-8")


def format_share(hits: Iterable[bool]) -> str:
    values = list(hits)
    return f"{100 * sum(values) / len(values):.1f}%" if values else "-"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--truth", type=Path, required=True, help="folder of the recorded requests")
    parser.add_argument("--base-url", help="URL of a running service (default: one is started)")
    parser.add_argument("--write", action="store_true", help="write the class table and the table of docs/accuracy.md")
    parser.add_argument("--check", action="store_true", help="fail when the committed class table is out of date")
    parser.add_argument("--worst", type=int, default=0, help="print this many rows with the largest errors")
    args = parser.parse_args()

    rows = [
        row for row in read(args.truth / "dev.jsonl.gz")
        if row.get("countable", True) and not row.get("conflict")
        and not (row["kind"] == "openai.responses" and (row.get("created") or 0) in MARCH_2025)
    ]
    texts = args.truth / "claude_text_dev.jsonl.gz"
    with nullcontext(args.base_url) if args.base_url else running_service() as base_url:
        scored = replay(base_url, rows)
        classes = make_class_rows(scored)
        table = make_table_lines(scored)
        print("\n".join(table))
        print_methods(scored)
        if texts.exists():
            classes += make_text_rows(base_url, texts)
    for item in sorted(scored, key=lambda item: -abs(item.error) if item.answer else -1e9)[: args.worst]:
        row = item.row
        print(f"{item.counted - item.billed:+6} of {item.billed:6} {row['kind']:24} {row['main_feature']:13} "
              f"{row['model']:30} {row['source']:14} {row['id']} {item.failure[:200]}")
    text = json.dumps({"classes": classes}, indent=1).replace("\n  ", " ").replace("\n }", " }") + "\n"
    if args.write:
        TABLE.write_text(text, encoding="utf-8")
        write_page(table)
    if args.check and TABLE.read_text(encoding="utf-8") != text:
        print(f"{TABLE.relative_to(ROOT)} is not what was measured; run `make accuracy`", file=sys.stderr)
        return 1
    return 1 if any(not item.answer for item in scored) else 0


if __name__ == "__main__":
    sys.exit(main())
