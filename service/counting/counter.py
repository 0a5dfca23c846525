"""The only place where a request becomes a number.

    CountRequest -> model (catalog) -> Rendering (renderer) -> counts of its segments (cache, tokenizer) -> TokenCount

Synchronous and thread-safe: the app decides by body size whether a whole call (parsing, rendering, counting) runs on
the event loop or in a worker thread. Batch, compare, the command line and the playground all come through here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
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
from service.media.allowance import file_allowance
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


_MODULES = {
    "openai": "service.renderers.openai.request",
    "anthropic": "service.renderers.anthropic.request",
    "google": "service.renderers.google.request",
    "plain": "service.renderers.plain",
}


@cache
def _load_renderer(name: RendererName) -> Render:
    render: Render = import_module(_MODULES[name]).render
    return render


@dataclass(frozen=True, slots=True)
class Counter:
    """Counts requests; texts of segments by `segments`, which remembers what it counted."""

    segments: SegmentCounter

    @classmethod
    def in_memory(cls, cache_bytes: int = 64 << 20) -> Counter:
        """A counter with the embedded default: a cache in this process."""
        return cls(SegmentCounter.in_memory(cache_bytes))

    def count(self, request: CountRequest) -> TokenCount:
        """The count of a request; raises ServiceError (unknown model or tokenizer, nothing to count)."""
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

    # ------------------------------------------------------------ texts: content alone

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
        how, low, high = accuracy.band(total, accuracy.weaken(trust, guessed=guessed))
        details: tuple[tuple[Section, int], ...] = (("messages", total),) if total else ()
        return _make_count(_Facts(
            request.model_ref, catalog.current().revision, to_minute(), tokenizer.name, tokenizer.fingerprint,
            tokenizer.engine, total, how, low, high, details, None if request.single else tuple(counts),
            warnings=request.warnings,
        ))

    # ------------------------------------------------------------ whole requests

    def _count_prompt(
        self, request: CountRequest, prompt: Prompt, model: CatalogModel, tokenizer: Tokenizer
    ) -> TokenCount:
        with file_allowance():
            rendering = _load_renderer(model.family.renderer)(prompt, model)
        prefix = request.prefix or NO_PREFIX
        details = self._details(rendering, tokenizer, prefix)
        total = sum([tokens for _, tokens in details])
        feature = main_feature(prompt, prefix.features)
        doubts = (*prefix.doubts, *rendering.doubts)
        trust = accuracy.weaken(
            accuracy.find_trust(rendering.rules, feature),
            foreign=not prompt.dialect.startswith(f"{model.family.renderer}."),
            guessed=model.match == "inferred" or not tokenizer.verified,
        )
        uncounted = (*prefix.uncounted, *rendering.uncounted)
        how, low, high = accuracy.band(total, trust, doubts, uncounted)
        warnings = _deduplicate((*request.warnings, *prefix.warnings, *prompt.warnings, *rendering.warnings))
        return _make_count(_Facts(
            model.model_ref, catalog.current().revision, to_minute(), tokenizer.name, tokenizer.fingerprint,
            tokenizer.engine, total, how, low, high, details, None, uncounted, warnings,
            _sum_modalities(rendering), rendering.rules, feature, doubts,
        ))

    def _details(
        self, rendering: Rendering, tokenizer: Tokenizer, prefix: CountedPrefix
    ) -> tuple[tuple[Section, int], ...]:
        """Tokens by section, zeros left out."""
        details = self.segments.by_section(rendering.segments, tokenizer)
        for overhead in rendering.overheads:
            details[overhead.section] = details.get(overhead.section, 0) + overhead.tokens
        for section, tokens in prefix.details:
            details[section] = details.get(section, 0) + tokens
        return tuple([(section, tokens) for section in SECTIONS if (tokens := details.get(section, 0))])


NO_PREFIX = CountedPrefix()


def _sum_modalities(rendering: Rendering) -> tuple[tuple[str, int], ...]:
    """Tokens by modality where the renderer names it: a media rule reads `IMAGE:grid`."""
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


class _Facts(NamedTuple):
    """What was counted, and when: all that a TokenCount follows from."""

    model_ref: str | None
    revision: object
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


def _make_count(facts: _Facts) -> TokenCount:
    """The count of these facts. Facts that come again, as those of short texts do, give the same object: nobody may
    change it, and what was made of it once holds."""
    return _build_count_memoized(facts) if is_memoizable(facts) else _build_count(facts)


def is_memoizable(said: _Facts | TokenCount) -> bool:
    """Whether it is numbers and few words, of which many may be remembered."""
    words = said.uncounted or said.warnings or said.counts or len(said.doubts) > MAX_DOUBTS
    return not words and len(said.model_ref or "") <= MAX_REF_CHARS


MAX_DOUBTS, MAX_REF_CHARS = 8, 200
"""Of what is remembered; characters of a model's name."""


def _build_count(facts: _Facts) -> TokenCount:
    """The count of these facts with what follows from them: the model's names, cost and window, so that nothing after
    this resolves a name again."""
    model = None if facts.model_ref is None else catalog.resolve(facts.model_ref)
    named: dict[str, Any] = {} if model is None else {
        "model": model.model_id, "model_ref": model.model_ref, "model_match": model.match,
        "provider": model.provider_id, "family": model.family.name,
        "cost": price_input(model, facts.tokens, facts.minute),
        "context": find_window_use(model.limits, facts.tokens, facts.high),
    }
    return TokenCount(
        facts.tokens, facts.method, facts.low, facts.high, facts.tokenizer, facts.fingerprint[:8], dict(facts.details),
        counts=facts.counts, uncounted=facts.uncounted, warnings=facts.warnings, rules=facts.rules,
        feature=facts.feature, modalities=dict(facts.modalities), engine=facts.engine, doubts=facts.doubts,
        **named,
    )


_build_count_memoized = lru_cache(4_096)(_build_count)


def _deduplicate(warnings: Iterable[Warned]) -> tuple[Warned, ...]:
    return tuple(dict.fromkeys(warnings))
