from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from service.corpus.totals import FIRST_FAILURES, MAX_MODELS, OTHERS, Failure, Totals, as_json, from_json
from service.counting.counter import Counter
from service.types import CountRequest, TokenCount
from tests.support.texts import unhurried

PRICED = Counter.in_memory(0).count(CountRequest(model_ref="gpt-4o", texts=("Hello, world!",)))
UNPRICED = replace(PRICED, cost=None, method="estimate", low=2, high=9)

EVENTS = st.lists(st.tuples(
    st.sampled_from(["gpt-4o", "other"]), st.one_of(
        st.sampled_from([PRICED, UNPRICED]),
        st.builds(Failure, st.just("f"), st.one_of(st.none(), st.integers(1, 9)), st.sampled_from("ab"), st.just("r")),
    ),
), max_size=40)


def tell(totals: Totals, events: list[tuple[str, TokenCount | Failure]]) -> Totals:
    for name, event in events:
        if isinstance(event, Failure):
            totals.fail(name, event, 5)
        else:
            totals.count(name, event, 13)
    return totals


@given(EVENTS, st.integers(0, 40))
@unhurried
def test_totals_of_parts_add_up_and_come_back_from_json(
    events: list[tuple[str, TokenCount | Failure]], at: int
) -> None:
    whole = tell(Totals(), events)
    parts = tell(Totals(), events[:at])
    parts = from_json(json.loads(json.dumps(as_json(parts))))
    parts.add(tell(Totals(), events[at:]))
    assert parts == whole
    assert whole.all.records == sum(not isinstance(e, Failure) or e.row is not None for _, e in events)
    assert whole.is_clean == (not any(isinstance(event, Failure) for _, event in events))


def test_what_is_summed() -> None:
    totals = tell(Totals(), [
        ("gpt-4o", PRICED), ("gpt-4o", PRICED), ("x", UNPRICED), ("x", Failure("f", 3, "null_field", "null")),
        ("x", Failure("g", None, "unreadable", "no")),
    ])
    one, other = totals.by_model["gpt-4o"], totals.by_model["x"]
    assert (one.records, one.failed, one.input_tokens, one.bytes, one.cost) == (2, 0, 8, 26, Decimal("0.00002"))
    assert (other.records, other.failed, other.input_tokens, other.low, other.high, other.cost) == (2, 1, 4, 2, 9, None)
    assert (totals.all.cost, totals.all.methods) == (None, {"exact": 2, "estimate": 1})
    assert (totals.failed_files, totals.codes) == (1, {"null_field": 1, "unreadable": 1})
    told = as_json(totals)
    assert told["cost"] == {"currency": "USD", "input": None, "known": "0.00002", "unpriced": 1}
    assert told["first_errors"][1] == {"file": "g", "row": None, "error": "unreadable", "reason": "no"}


def test_totals_are_bounded() -> None:
    totals = Totals()
    for number in range(MAX_MODELS + 50):
        totals.count(f"model-{number}", PRICED, 1)
        totals.fail(f"model-{number}", Failure("f", number, "code", "r"), 1)
    assert len(totals.by_model) == MAX_MODELS + 1
    assert totals.by_model[OTHERS].records == 100
    assert totals.all.records == 2 * (MAX_MODELS + 50)
    assert [failure.row for failure in totals.first] == list(range(FIRST_FAILURES))
