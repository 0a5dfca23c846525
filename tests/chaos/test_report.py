"""RELIABILITY.md: its rows, and that new results of a part replace the old ones."""

from __future__ import annotations

from pathlib import Path

from tests.chaos import report
from tests.chaos.__main__ import PARTS
from tests.chaos.load import Record, Seen
from tests.chaos.measure import Fault, Outcome
from tests.chaos.replicas import Keeps, Share, say_needs
from tests.chaos.spender import Spending
from tests.chaos.test_load import KIND

ORDER = ("One", "Two", "Three")


def test_a_section_takes_the_place_of_its_older_self(tmp_path: Path) -> None:
    file = tmp_path / "deploy" / "RELIABILITY.md"
    written = (("Two", "oats"), ("Gone", "rye"), ("One", "wheat"), ("Two", "corn\n\n### below"), ("Three", "rice"))
    for title, text in written:
        report.write(title, text, ORDER, file)
    found = file.read_text()
    assert found.startswith(report.HEAD.strip())
    places = [found.index(text) for text in ("## One", "wheat", "## Two", "corn", "### below", "## Three", "rice")]
    assert places == sorted(places)
    assert "oats" not in found
    assert "rye" not in found
    assert found.count(" UTC; ") == 3


def test_a_row_says_what_was_lost() -> None:
    records = [Record(KIND, 0.0, 0.25, "right"), Record(KIND, 0.0, 1.5, "wrong"), Record(KIND, 0.0, 0.1, "lost")]
    spending = Spending(granted=3, settlements=[(0.0, 40), (0.0, 2)], asked_again=2)
    outcome = Outcome(Fault("x", lambda *_: None, "theirs"), Seen(records), spending, 1.0, 2.25, missing_calls=4)
    assert report.table([outcome]).splitlines()[2] == "| x | 3 | 2 | 1 | 1 | 1.50 s | 2.2 s | 2 of 5 | -4 | theirs |"
    outcome.missing_calls, outcome.missing_spent = 0, 2
    assert "| 0; 2 of 42 tokens settled |" in report.table([outcome])


def test_what_fifty_replicas_need_follows_from_one_request() -> None:
    said: list[str] = []
    say_needs([Share("x", 2.0, 500.0, 10.0, 600.0)], Keeps(150.0, 4.0, 1.0), said.append)
    # 100 workers, each 0.6 s of work a second, 600 us a request: 100,000 a second; 2 calls each, and 1 a worker.
    assert said[2].split()[1:] == ["100,000", "200,100", "1.00", "50.0"]
    assert "400 as measured (4 a worker)" in "\n".join(said)


def test_every_part_has_a_section_of_its_own() -> None:
    titles = [title for title, _ in PARTS.values()]
    assert len(set(titles)) == len(titles)
