"""Whether a request fits into the model's window, into limits of tokens and of money, and how long its answer may be.

The upper end of the error band decides, so what is said to fit does fit. If a limit depends on a price or a window that
is not known, the decision is `cannot_decide`, with the reason. It is never a silent yes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_FLOOR, Decimal
from typing import Literal

from service.catalog import CatalogModel, Limits
from service.pricing.prices import Quote, ServiceTier, find_rate, quote
from service.pricing.usage import make_usage
from service.types import TokenCount, WindowUse

Decision = Literal["fits", "does_not_fit", "cannot_decide"]
Constraint = Literal["context_window", "max_input_tokens", "max_output_tokens", "max_cost_usd", "count"]


@dataclass(frozen=True, slots=True)
class Limit:
    """What the caller allows. None means no limit. `max_output_tokens` is what the request will ask for."""

    max_input_tokens: int | None = None
    max_output_tokens: int | None = None
    max_cost_usd: Decimal | None = None
    service_tier: ServiceTier = "standard"
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one constraint. `fits` None means that it cannot be decided; `reason` says why.

    `allowed` and `needed` are tokens, or USD for money. `headroom` is their difference, negative when it does not fit.
    """

    constraint: Constraint
    fits: bool | None
    reason: str
    allowed: int | Decimal | None = None
    needed: int | Decimal | None = None

    @property
    def headroom(self) -> int | Decimal | None:
        return None if self.allowed is None or self.needed is None else self.allowed - self.needed


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision on a request, and the findings that led to it.

    `largest_output` is the longest answer, in tokens, that still fits. None means that nothing limits it; 0 means that
    the input alone is too much.
    """

    decision: Decision
    findings: tuple[Finding, ...]
    largest_output: int | None
    quote: Quote | None

    @property
    def fits(self) -> bool | None:
        return {"fits": True, "does_not_fit": False, "cannot_decide": None}[self.decision]


def find_window_use(limits: Limits, input_tokens: int, high: int) -> WindowUse | None:
    """What an input leaves of the window. `high` is the upper end of its band. None when no window is known."""
    longest = limits.longest_input
    if longest is None:
        return None
    return WindowUse(limits.window or longest, longest - input_tokens, high <= longest, limits.max_input)


def check_budget(count: TokenCount, model: CatalogModel | None, limit: Limit) -> Verdict:
    """Whether a counted request fits `limit` and the limits of the model. `model` is None when it has only a
    tokenizer."""
    check = _BudgetCheck(count, model, limit, _quote(count, model, limit))
    findings = tuple(finding for look in _CHECKS for finding in look(check))
    if any(finding.fits is False for finding in findings):
        decision: Decision = "does_not_fit"
    elif any(finding.fits is None for finding in findings):
        decision = "cannot_decide"
    else:
        decision = "fits"
    return Verdict(decision, findings, _find_largest_output(check), check.quoted)


@dataclass(frozen=True, slots=True)
class _BudgetCheck:
    count: TokenCount
    model: CatalogModel | None
    limit: Limit
    quoted: Quote | None


def _quote(count: TokenCount, model: CatalogModel | None, limit: Limit) -> Quote | None:
    if model is None:
        return None
    usage = make_usage({"input": count.high, "output": limit.max_output_tokens or 0, "requests": 1})
    return quote(model, usage, limit.service_tier, limit.at)


# ---------------------------------------------------------------- one function per constraint


def _check_count(check: _BudgetCheck) -> Iterator[Finding]:
    unseen = [item for item in check.count.uncounted if not item.assumed_tokens]
    if unseen:
        reason = f"{len(unseen)} parts of the request cannot be counted, the first at {unseen[0].path}."
        yield Finding("count", None, reason)


def _check_input(check: _BudgetCheck) -> Iterator[Finding]:
    if check.limit.max_input_tokens is not None:
        yield _compare("max_input_tokens", check.limit.max_input_tokens, check.count.high, "input tokens")


def _check_window(check: _BudgetCheck) -> Iterator[Finding]:
    if check.model is None:
        return
    limits = check.model.limits
    if limits.longest_input is None:
        yield Finding("context_window", None, "The context window of the model is not known.", None, check.count.high)
        return
    yield _compare("context_window", limits.longest_input, check.count.high, "input tokens")
    if check.limit.max_output_tokens is not None and limits.shared and limits.window is not None:
        both = check.count.high + check.limit.max_output_tokens
        yield _compare("context_window", limits.window, both, "input and output tokens")


def _check_output(check: _BudgetCheck) -> Iterator[Finding]:
    wanted, most = check.limit.max_output_tokens, check.model.max_output if check.model else None
    if wanted is not None and most is not None:
        yield _compare("max_output_tokens", most, wanted, "output tokens")


def _check_cost(check: _BudgetCheck) -> Iterator[Finding]:
    allowed, quoted = check.limit.max_cost_usd, check.quoted
    if allowed is None:
        return
    if quoted is None or quoted.total is None:
        reason = quoted.reason if quoted and quoted.reason else "A tokenizer has no price: name a model."
        yield Finding("max_cost_usd", None, reason, allowed)
        return
    yield _compare("max_cost_usd", allowed, quoted.total, "USD")


_CHECKS: tuple[Callable[[_BudgetCheck], Iterator[Finding]], ...] = (
    _check_count, _check_window, _check_input, _check_output, _check_cost,
)


def _compare[T: (int, Decimal)](constraint: Constraint, allowed: T, needed: T, unit: str) -> Finding:
    return Finding(constraint, needed <= allowed, f"{needed} {unit}, {allowed} allowed.", allowed, needed)


# ---------------------------------------------------------------- the longest answer


def _find_largest_output(check: _BudgetCheck) -> int | None:
    """The least of what the window, the model and the money leave for output."""
    needed, bounds = check.count.high, []
    if check.limit.max_input_tokens is not None and needed > check.limit.max_input_tokens:
        bounds.append(0)
    if check.model is not None:
        limits = check.model.limits
        if limits.max_output is not None:
            bounds.append(limits.max_output)
        if limits.longest_input is not None and needed > limits.longest_input:
            bounds.append(0)
        if limits.shared and limits.window is not None:
            bounds.append(limits.window - needed)
        affordable = _find_affordable_output(check, check.model)
        if affordable is not None:
            bounds.append(affordable)
    return max(0, min(bounds)) if bounds else None


def _find_affordable_output(check: _BudgetCheck, model: CatalogModel) -> int | None:
    """The output tokens that the money pays for. None without a limit of money or without a price."""
    limit = check.limit
    if limit.max_cost_usd is None:
        return None
    spent = quote(model, make_usage({"input": check.count.high, "requests": 1}), limit.service_tier, limit.at).total
    rate = find_rate(model, "output", limit.service_tier, limit.at)
    if spent is None or rate is None:
        return None
    left = limit.max_cost_usd - spent
    _, price = rate.at(check.count.high)
    if left < 0:
        return 0
    return int((left * rate.per / price).to_integral_value(ROUND_FLOOR)) if price else None
