"""`make examples` runs this in an environment of its own: Ray is larger than all requirements of this project."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq

from service.corpus.frames import COLUMNS
from service.counting.counter import Counter
from service.pricing.prices import format_decimal
from service.types import CountRequest

HERE = Path(__file__).parent
NOTHING = dict.fromkeys(COLUMNS)


def test_ray_counts_every_row_as_the_counter_does(tmp_path: Path) -> None:
    corpus, output = tmp_path / "corpus.jsonl", tmp_path / "counts"
    corpus.write_text((HERE / "corpus.jsonl").read_text("utf-8") + '{"id": "nothing", "text": null}\n', "utf-8")
    command = [sys.executable, str(HERE / "ray_data.py"), str(corpus), str(output), "--model", "gpt-4o"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-4000:]

    counted = {row["id"]: row for row in pq.read_table(output).to_pylist()}
    records = [json.loads(line) for line in corpus.read_text("utf-8").splitlines()]
    assert counted == {record["id"]: record | expected(record["text"]) for record in records}
    assert len(records) >= 8


def expected(text: str | None) -> dict[str, object]:
    if text is None:
        return NOTHING | {"error": "null_field", "reason": "null: nothing to count"}
    count = Counter.in_memory(0).count(CountRequest(model_ref="gpt-4o", texts=(text,)))
    assert count.cost is not None
    return NOTHING | {
        "input_tokens": count.input_tokens, "method": "exact", "low": count.low, "high": count.high,
        "cost_usd": format_decimal(count.cost.usd),
    }
