"""The only place where a request becomes a number.

    CountRequest -> model (catalog) -> Rendering (renderer) -> counts of its segments (cache, tokenizer) -> TokenCount

The counter is synchronous and thread-safe. The app runs a small request on the event loop and a large one in a thread.
Batch, compare, the command line and the playground all count here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import import_module
from typing import Any, NamedTuple

from service import catalog
from service.budgets.budget import find_window_use
from service.catalog import CatalogModel
from service.counting import accuracy
from service.counting.features import main_feature
from service.counting.segments import SegmentCounter
from service.errors import InvalidRequest
from service.families.base import RendererName
from service.media.time_limit import limit_file_time
from service.pricing.prices import price_input, to_minute
from service.tokenizers import registry
from service.tokenizers.base import Engine, Tokenizer, VocabularyTokenizer
from service.types import (
    SECTIONS,
    CountedPrefix,
    CountRequest,
    Doubt,
    Feature,
    Method,
    Prompt,
    Rendering,
    Section,
    TokenCount,
    Uncounted,
    Warned,
)

Render = Callable[[Prompt, CatalogModel], Rendering]

_RENDERERS: Mapping[RendererName, str] = {
    "openai": "service.renderers.openai.request",
    "anthropic": "service.renderers.anthropic.request",
    "google": "service.renderers.google.request",
    "plain": "service.renderers.plain",
}
"""Renderer -> its module, which is imported when it is first needed."""


@cache
def _load_renderer(name: RendererName) -> Render:
    render: Render = import_module(_RENDERERS[name]).render
    return render


@dataclass(frozen=True, slots=True)
class Counter:
    """Counts requests. `segments` counts their texts and remembers what it counted."""

    segments: SegmentCounter

    @classmethod
    def in_memory(cls, cache_bytes: int = 64 << 20) -> Counter:
        """A counter whose cache is in this process."""
        return cls(SegmentCounter.in_memory(cache_bytes))

    def count(self, request: CountRequest) -> TokenCount:
        """The count of a request. Raises ServiceError: unknown model or tokenizer, nothing to count."""
        if request.tokenizer is None and request.model_ref is None:
            raise InvalidRequest("Say what to count for: `model` (or `tokenizer`).", field="model")
        model = None if request.model_ref is None else catalog.resolve(request.model_ref)
        name = request.tokenizer or (model.family.tokenizer if model else "")
        tokenizer = registry.get_tokenizer(name, request.engine)
        if request.prompt is not None:
            if model is None:
                raise InvalidRequest("A whole request is counted for a model: name one in `model`.", field="model")
            return self._count_prompt(request, request.prompt, model, tokenizer)
        if request.texts is None:
            raise InvalidRequest("Nothing to count: give `text`, `texts` or `request`.", field="text")
        return self._count_texts(request, request.texts, model, tokenizer)

    # ------------------------------------------------------------ texts: their content alone

    def _count_texts(
        self, request: CountRequest, texts: tuple[str, ...], model: CatalogModel | None, tokenizer: Tokenizer
    ) -> TokenCount:
        if request.special_tokens == "parse":
            counts = [len(_require_vocabulary(tokenizer).encode(text, parse_special=True)) for text in texts]
        else:
            counts = self.segments.texts(texts, tokenizer)
        if request.add_special_tokens:
            counts = [n + tokenizer.added_tokens for n in counts]
        total = sum(counts)
        trust = accuracy.find_text_trust(tokenizer.name)
        guessed = request.guessed or not tokenizer.verified or (model is not None and model.match == "inferred")
        method, low, high = accuracy.band(total, accuracy.weaken(trust, guessed=guessed))
        details: tuple[tuple[Section, int], ...] = (("messages", total),) if total else ()
        return _make_count(_Facts(
            model, to_minute(), tokenizer.name, tokenizer.fingerprint, tokenizer.engine,
            total, method, low, high, details, None if request.single else tuple(counts), warnings=request.warnings,
        ))

    # ------------------------------------------------------------ whole requests

    def _count_prompt(
        self, request: CountRequest, prompt: Prompt, model: CatalogModel, tokenizer: Tokenizer
    ) -> TokenCount:
        with limit_file_time():
            rendering = _load_renderer(model.family.renderer)(prompt, model)
        prefix = request.prefix or NO_PREFIX
        details = self._count_sections(rendering, tokenizer, prefix)
        total = sum([tokens for _, tokens in details])
        feature = main_feature(prompt, prefix.features)
        doubts = (*prefix.doubts, *rendering.doubts)
        trust = accuracy.weaken(
            accuracy.find_trust(rendering.rules, feature),
            foreign=not prompt.dialect.startswith(f"{model.family.renderer}."),
            guessed=model.match == "inferred" or not tokenizer.verified,
        )
        uncounted = (*prefix.uncounted, *rendering.uncounted)
        method, low, high = accuracy.band(total, trust, doubts, uncounted)
        warnings = _deduplicate((*request.warnings, *prefix.warnings, *prompt.warnings, *rendering.warnings))
        return _make_count(_Facts(
            model, to_minute(), tokenizer.name, tokenizer.fingerprint, tokenizer.engine,
            total, method, low, high, details, None, uncounted, warnings,
            _sum_modalities(rendering), rendering.rules, feature, doubts,
        ))

    def _count_sections(
        self, rendering: Rendering, tokenizer: Tokenizer, prefix: CountedPrefix
    ) -> tuple[tuple[Section, int], ...]:
        """Tokens by section, without the zeros."""
        details = self.segments.by_section(rendering.segments, tokenizer)
        for overhead in rendering.overheads:
            details[overhead.section] = details.get(overhead.section, 0) + overhead.tokens
        for section, tokens in prefix.details:
            details[section] = details.get(section, 0) + tokens
        return tuple([(section, tokens) for section in SECTIONS if (tokens := details.get(section, 0))])


NO_PREFIX = CountedPrefix()


def _sum_modalities(rendering: Rendering) -> tuple[tuple[str, int], ...]:
    """Tokens by modality, when the renderer names it: a media rule is `IMAGE:grid`, for example."""
    tokens: dict[str, int] = {}
    for overhead in rendering.overheads:
        if overhead.section == "media":
            modality, colon, _ = overhead.rule.partition(":")
            if colon:
                tokens[modality] = tokens.get(modality, 0) + overhead.tokens
    return tuple(tokens.items())


def _require_vocabulary(tokenizer: Tokenizer) -> VocabularyTokenizer:
    if not isinstance(tokenizer, VocabularyTokenizer):
        raise InvalidRequest(
            f"{tokenizer.name} has no published special tokens; leave special_tokens out.", field="special_tokens"
        )
    return tokenizer


def _deduplicate(warnings: Iterable[Warned]) -> tuple[Warned, ...]:
    return tuple(dict.fromkeys(warnings))


# ---------------------------------------------------------------- from facts to a TokenCount


class _Facts(NamedTuple):
    """Everything that a TokenCount depends on, and so the key under which it is remembered.

    `model` is the resolved model itself: no name is resolved twice, and a catalog that was read again gives another
    model whenever its names, limits or prices changed. `minute` is there because a price may change with the minute.
    """

    model: CatalogModel | None
    minute: int
    tokenizer: str
    fingerprint: str
    engine: Engine
    tokens: int
    method: Method
    low: int
    high: int
    details: tuple[tuple[Section, int], ...]
    counts: tuple[int, ...] | None = None
    uncounted: tuple[Uncounted, ...] = ()
    warnings: tuple[Warned, ...] = ()
    modalities: tuple[tuple[str, int], ...] = ()
    rules: str | None = None
    feature: Feature | None = None
    doubts: tuple[Doubt, ...] = ()

    @property
    def model_ref(self) -> str | None:
        return None if self.model is None else self.model.model_ref


MAX_DOUBTS, MAX_REF_CHARS = 8, 200
"""What a remembered count may have: doubts, and characters in the name of its model."""


def is_memoizable(count: _Facts | TokenCount) -> bool:
    """Whether a count is small enough to remember thousands of them: numbers and few words."""
    words = count.uncounted or count.warnings or count.counts or len(count.doubts) > MAX_DOUBTS
    return not words and len(count.model_ref or "") <= MAX_REF_CHARS


def _make_count(facts: _Facts) -> TokenCount:
    """The count of these facts. Equal facts are common (short texts) and give the same object, which nobody may change.
    So whatever was derived from that object stays valid."""
    return _remember_count(facts) if is_memoizable(facts) else _build_count(facts)


def _build_count(facts: _Facts) -> TokenCount:
    """The count of these facts, with what follows from them: the names of the model, its cost and its window."""
    model = facts.model
    of_model: dict[str, Any] = {} if model is None else {
        "model": model.model_id, "model_ref": model.model_ref, "model_match": model.match,
        "provider": model.provider_id, "family": model.family.name,
        "cost": price_input(model, facts.tokens, facts.minute),
        "context": find_window_use(model.limits, facts.tokens, facts.high),
    }
    return TokenCount(
        facts.tokens, facts.method, facts.low, facts.high, facts.tokenizer, facts.fingerprint[:8], dict(facts.details),
        counts=facts.counts, uncounted=facts.uncounted, warnings=facts.warnings, rules=facts.rules,
        feature=facts.feature, modalities=dict(facts.modalities), engine=facts.engine, doubts=facts.doubts,
        **of_model,
    )


_remember_count = lru_cache(4_096)(_build_count)
