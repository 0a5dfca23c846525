"""Explaining how a text was cut into tokens: its pre-tokens, the symbols that they begin as, and each merge in order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

from service.text.tokens import Tokens, locate_tokens
from service.tokenizers.base import Tokenizer, VocabularyTokenizer
from service.tokenizers.bpe import MergeTree, merge
from service.tokenizers.merge_rules import Chunk, MergeRules, find_rules
from service.tokenizers.normalizers import Normalizer, align

Algorithm = Literal["ranks", "merge_list", "tiling", "bundled"]
Missing = Literal["tiling", "bundled", "not_reproduced"]


@dataclass(frozen=True, slots=True)
class OtherRule:
    """What the same vocabulary gives with the other kind of merge rule. `tokens` are (id, bytes)."""

    rule: Literal["ranks", "merge_list"]
    same: bool
    tokens: tuple[tuple[int, bytes], ...]


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the merge tree of a pre-token: its bytes, and its place in the pre-token, in bytes."""

    id: int | None
    spelled: bytes
    start: int
    end: int
    left: int | None = None
    right: int | None = None
    rank: int | None = None


@dataclass(frozen=True, slots=True)
class PreToken:
    """A piece of text that is merged by itself: characters `start` to `end` of the text that was given.

    The first `leaves` of `nodes` are the symbols that merging begins with. The other nodes are the merges in their
    order (see MergeTree). `tokens` are the nodes that are left in the end. `whole` says that the engine found the
    pre-token in the vocabulary and merged nothing; the merges lead to the same token. `added` says that it is an added
    token, which is matched before anything is merged.
    """

    spelled: bytes
    start: int
    end: int
    added: bool
    leaves: int
    nodes: tuple[Node, ...]
    tokens: tuple[int, ...]
    whole: bool = False
    other_rule: OtherRule | None = None

    @property
    def ids(self) -> list[int | None]:
        return [self.nodes[number].id for number in self.tokens]


@dataclass(frozen=True, slots=True)
class Explanation:
    """`pre_tokens` is None where there are no steps to show. Then `missing` says why."""

    algorithm: Algorithm
    tokens: Tokens
    pre_tokens: tuple[PreToken, ...] | None
    missing: Missing | None = None


def explain(tokenizer: Tokenizer, text: str) -> Explanation:
    """How `tokenizer` cuts `text`, in O(n log n). Raises TokenizerUnavailable for damaged data.

    The steps are computed from the rules of the vocabulary. They are shown only where they lead to the same ids as the
    engine.
    """
    tokens = locate_tokens(tokenizer, text)
    if not isinstance(tokenizer, VocabularyTokenizer):
        return Explanation("tiling", tokens, None, "tiling")
    rules = find_rules(tokenizer.name)
    if rules is None:
        return Explanation("bundled", tokens, None, "bundled")
    try:
        pre_tokens = tuple(_pre_tokens(rules, text))
    except KeyError:  # a symbol that the vocabulary does not have
        return Explanation(rules.algorithm, tokens, None, "not_reproduced")
    if [token for found in pre_tokens for token in found.ids] != list(tokens.ids or ()):
        return Explanation(rules.algorithm, tokens, None, "not_reproduced")
    return Explanation(rules.algorithm, tokens, pre_tokens)


def _pre_tokens(rules: MergeRules, text: str) -> Iterator[PreToken]:
    """The pre-tokens of the normalized text, with their places in the text that was given."""
    normal = rules.normalize(text)
    places = align(text, normal, Normalizer(normalize=rules.normalize))
    at = 0
    for chunk in rules.chunks(normal):
        end = at + len(chunk.text)
        yield _explain_chunk(rules, chunk, places.starts[at], places.ends[end - 1])
        at = end


def _explain_chunk(rules: MergeRules, chunk: Chunk, start: int, end: int) -> PreToken:
    if chunk.added is not None:
        token, spelled = chunk.added
        node = Node(token, spelled, 0, len(spelled))
        return PreToken(spelled, start, end, added=True, leaves=1, nodes=(node,), tokens=(0,))
    leaves = rules.leaves(chunk.text)
    tree = merge([symbol for symbol, _ in leaves], rules.rule)
    nodes, spelled = spell(tree, [piece for _, piece in leaves])
    tokens = tree.tokens
    whole = rules.find_whole(chunk.text)
    if whole is not None and tree.symbols != (whole,):  # no merges lead to this token
        tokens = (len(nodes),)
        nodes = (*nodes, Node(whole, spelled, 0, len(spelled)))
    other = _by_other_rule(rules, leaves, tree) if whole is None else None
    return PreToken(spelled, start, end, False, tree.leaves, nodes, tokens, whole is not None, other)


def _by_other_rule(rules: MergeRules, leaves: list[tuple[int, bytes]], tree: MergeTree[int]) -> OtherRule:
    other = merge([symbol for symbol, _ in leaves], rules.other_rule)
    kind: Literal["ranks", "merge_list"] = "merge_list" if rules.algorithm == "ranks" else "ranks"
    if other.symbols == tree.symbols:
        return OtherRule(kind, True, ())
    nodes, _ = spell(other, [piece for _, piece in leaves])
    return OtherRule(kind, False, tuple((other.nodes[n].symbol, nodes[n].spelled) for n in other.tokens))


def spell(tree: MergeTree[int], pieces: list[bytes]) -> tuple[tuple[Node, ...], bytes]:
    """The nodes of a tree with their bytes, and the bytes of the whole. `pieces` are the bytes of the leaves."""
    edges = [0, *accumulate(map(len, pieces))]
    whole = b"".join(pieces)
    nodes = (
        Node(
            node.symbol, whole[edges[node.first] : edges[node.end]], edges[node.first], edges[node.end],
            node.left, node.right, node.rank,
        )
        for node in tree.nodes
    )
    return tuple(nodes), whole
