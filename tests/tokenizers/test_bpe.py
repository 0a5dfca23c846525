from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from service.tokenizers.bpe import merge

RULES = {("a", "b"): 0, ("b", "c"): 1, ("ab", "c"): 2, ("a", "a"): 3, ("aa", "a"): 4, ("c", "c"): 5, ("cc", "cc"): 6}


def by(rules: dict[tuple[str, str], int]) -> Callable[[str, str], tuple[int, str] | None]:
    return lambda left, right: (rules[left, right], left + right) if (left, right) in rules else None


def slow_merge(symbols: list[str], rules: dict[tuple[str, str], int]) -> list[tuple[int, str]]:
    """The twin: look at every pair before every step. (rank, what was made) of each step, then the row."""
    row, steps = list(symbols), []
    while True:
        found = [(rules[pair], at) for at, pair in enumerate(pairwise(row)) if pair in rules]
        if not found:
            return [*steps, *((-1, symbol) for symbol in row)]
        rank, at = min(found)
        row[at : at + 2] = [row[at] + row[at + 1]]
        steps.append((rank, row[at]))


def test_a_tree_shows_every_merge_in_its_order() -> None:
    tree = merge(list("abcab"), by(RULES))
    assert [(node.symbol, node.first, node.end, node.left, node.right, node.rank) for node in tree.nodes[5:]] == [
        ("ab", 0, 2, 0, 1, 0), ("ab", 3, 5, 3, 4, 0), ("abc", 0, 3, 5, 2, 2),
    ]
    assert (tree.leaves, tree.tokens, tree.symbols) == (5, (7, 6), ("abc", "ab"))


def test_equal_ranks_go_from_the_left_and_nothing_merges_twice() -> None:
    assert merge(list("aaaaa"), by(RULES)).symbols == ("aa", "aaa")
    assert merge(list("ccccc"), by(RULES)).symbols == ("cccc", "c")


def test_nothing_makes_nothing() -> None:
    assert merge([], by(RULES)).tokens == ()
    assert merge(["x"], by(RULES)).symbols == ("x",)


@given(
    st.lists(st.sampled_from("abc"), max_size=30),
    st.dictionaries(st.tuples(st.text("abc", min_size=1, max_size=3), st.text("abc", min_size=1, max_size=3)),
                    st.integers(0, 5)),
)
def test_the_heap_does_what_looking_at_every_pair_does(symbols: list[str], rules: dict[tuple[str, str], int]) -> None:
    tree = merge(symbols, by(rules))
    merges = [(node.rank, node.symbol) for node in tree.nodes[tree.leaves :]]
    assert [*merges, *((-1, symbol) for symbol in tree.symbols)] == slow_merge(symbols, rules)


def test_ten_times_as_much_takes_about_ten_times_as_long() -> None:
    def seconds(size: int) -> float:
        began = time.process_time()
        merge(["a"] * size, by(RULES))
        return time.process_time() - began

    seconds(2_000)
    assert seconds(40_000) < 40 * max(seconds(4_000), 0.005)  # 100 times if it were quadratic
