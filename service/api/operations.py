"""What a count route does once its body is decoded: from JSON to a question, from a question to an answer."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from pydantic_core import to_json

from service import catalog
from service.counting.counter import is_memoizable
from service.counting.features import has_files
from service.dialects import native
from service.dialects.endpoints import Endpoint, Wire
from service.errors import ServiceError
from service.ledger.ledger import Billed
from service.pricing.prices import format_decimal
from service.services import Services
from service.tokenizers import registry
from service.types import CountRequest, Json, TokenCount, Warned
from service.types.value import value

LOG = logging.getLogger("tallystick")


@value
class Reply:
    """What an operation answers: `content` is JSON. `counts` are the counts in it, for metrics, and `headers` follow
    the body's own. The ledger gets the counts where `booked`, and what was `billed`."""

    content: bytes
    counts: tuple[TokenCount, ...] = ()
    headers: tuple[tuple[bytes, bytes], ...] = ()
    booked: bool = False
    billed: Billed | None = None


class Operation[Q](Protocol):
    """What a count route does once its body is decoded. Synchronous; may run in a thread."""

    @property
    def wire(self) -> Wire:
        """How its errors are worded."""
        ...

    @property
    def threaded(self) -> bool:
        """Whether it never runs on the event loop, however small the body."""
        ...

    @property
    def repeatable(self) -> bool:
        """Whether the same body has the same answer within a minute, and asking it changes nothing."""
        ...

    @property
    def grows(self) -> bool:
        """Whether its bodies may be conversations, of which only the newest messages need to be counted."""
        ...

    @property
    def takes_text(self) -> bool:
        """Whether a text/plain body with its query stands for a body of JSON."""
        ...

    def read(self, value: Json, params: Mapping[str, str], warnings: tuple[Warned, ...]) -> Q:
        """The question in a body. Raises ServiceError."""
        ...

    def is_warm(self, question: Q) -> bool:
        """Whether a small question may be answered on the event loop: all it needs is loaded, and no file in it has to
        be opened."""
        ...

    def answer(self, question: Q, services: Services) -> Reply:
        """Raises ServiceError."""
        ...


class ReplyCache:
    """Replies by the count that is in them. Counts that are alike are one object (service.counting.counter), and making
    JSON of one takes as long as counting a short text. Thread-safe."""

    def __init__(self) -> None:
        self._known: dict[int, Reply] = {}

    def get(self, count: TokenCount, make: Callable[[TokenCount], Reply]) -> Reply:
        """What `make` makes of a count."""
        if not is_memoizable(count):
            return make(count)
        reply = self._known.get(id(count))  # as long as the reply is kept, so is its count: no other has that id
        if reply is None:
            if len(self._known) >= MAX_REPLIES:
                self._known = {}
            reply = self._known[id(count)] = make(count)
        return reply


MAX_REPLIES = 2_048
"""Replies of an endpoint that are kept, some 3 KB each."""


@dataclass(frozen=True, slots=True)
class Count:
    """One count: an endpoint says how its body is read and how the count is worded."""

    endpoint: Endpoint
    takes_text: bool = False
    repeatable: bool = True
    replies: ReplyCache = field(default_factory=ReplyCache)

    @property
    def wire(self) -> Wire:
        return self.endpoint.wire

    @property
    def threaded(self) -> bool:
        return self.endpoint.reply is not None  # its answer asks the tokenizer, too

    @property
    def grows(self) -> bool:
        return self.endpoint.reply is None

    def read(self, value: Json, params: Mapping[str, str], warnings: tuple[Warned, ...]) -> CountRequest:
        request = self.endpoint.read(value, params)
        return replace(request, warnings=(*warnings, *request.warnings)) if warnings else request

    def is_warm(self, question: CountRequest) -> bool:
        return is_warm(question)

    def answer(self, question: CountRequest, services: Services) -> Reply:
        count = services.counter.count(question)
        reply = self.endpoint.reply
        if reply is None:
            return self.replies.get(count, self._make_reply)
        return make_count_reply(reply(question, count), count)

    def _make_reply(self, count: TokenCount) -> Reply:
        return make_count_reply(self.endpoint.answer(count), count)


@dataclass(frozen=True, slots=True)
class CountBatch:
    """Many counts of the native dialect; an item that fails has its error in its place."""

    wire: Wire = native.WIRE
    threaded: bool = False
    repeatable: bool = False  # its refused items are counted in the metrics while they are answered
    grows: bool = False
    takes_text: bool = False

    def read(
        self, value: Json, params: Mapping[str, str], warnings: tuple[Warned, ...]
    ) -> list[CountRequest | ServiceError]:
        return [self._read_item(item, path, warnings) for item, path in native.read_items(value)]

    def _read_item(self, item: Json, path: str, warnings: tuple[Warned, ...]) -> CountRequest | ServiceError:
        try:
            request = native.read(item, path=path)
        except ServiceError as error:
            return _place_error(error, path)
        own = tuple(w for w in warnings if not w.path.startswith("items[") or w.path.startswith(f"{path}."))
        return replace(request, warnings=(*own, *request.warnings)) if own else request

    def is_warm(self, question: list[CountRequest | ServiceError]) -> bool:
        return all(is_warm(item) for item in question if isinstance(item, CountRequest))

    def answer(self, question: list[CountRequest | ServiceError], services: Services) -> Reply:
        results = [self._answer_item(item, services) for item in question]
        counts = tuple(result for result in results if isinstance(result, TokenCount))
        return Reply(to_json(native.batch_answer(results)), counts, booked=True)

    def _answer_item(self, item: CountRequest | ServiceError, services: Services) -> TokenCount | ServiceError:
        result: TokenCount | ServiceError
        try:
            result = item if isinstance(item, ServiceError) else services.counter.count(item)
        except ServiceError as error:
            result = _place_error(error, item.path) if isinstance(item, CountRequest) else error
        except Exception:  # the other items still have their answers
            LOG.exception("item failed")
            result = ServiceError("Something failed inside; the log tells.")
        if isinstance(result, ServiceError):
            services.metrics.record_rejection(result.code)
        return result


def _place_error(error: ServiceError, path: str) -> ServiceError:
    """The error, its field named from the top of the batch."""
    if error.field is not None and not error.field.startswith(path):
        error.field = f"{path}.{error.field}"
    return error


@dataclass(frozen=True, slots=True)
class Direct:
    """An endpoint that counts nothing: from a body to an answer."""

    wire: Wire
    respond: Callable[[Json], Json]
    threaded: bool = True
    repeatable: bool = False
    grows: bool = False
    takes_text: bool = False

    def read(self, value: Json, params: Mapping[str, str], warnings: tuple[Warned, ...]) -> Json:
        return value

    def is_warm(self, question: Json) -> bool:
        return True

    def answer(self, question: Json, services: Services) -> Reply:
        return Reply(to_json(self.respond(question)))


def is_warm(request: CountRequest) -> bool:
    """Whether the tokenizer that a request needs is loaded, or none is needed because the model is unknown; and the
    request holds no file, which may take as long to open as much more text to count."""
    if request.prompt is not None and has_files(request.prompt):
        return False
    name = request.tokenizer
    if name is None:
        try:
            name = catalog.resolve(request.model_ref or "").family.tokenizer
        except ServiceError:
            return True
    return registry.is_loaded(name, request.engine)


def make_count_reply(body: Json, count: TokenCount) -> Reply:
    """A reply with one count in it; the ledger gets it."""
    return Reply(to_json(body), (count,), count_headers(count), booked=True)


def count_headers(count: TokenCount) -> tuple[tuple[bytes, bytes], ...]:
    """What a provider's answer has no field for."""
    return (
        (b"x-tallystick-method", count.method.encode()),
        (b"x-tallystick-error-band", f"{count.low}-{count.high}".encode()),
        (b"x-tallystick-uncounted", str(len(count.uncounted)).encode()),
        (b"x-tallystick-tokenizer", count.tokenizer.encode()),
        (b"x-tallystick-cost", b"unknown" if count.cost is None else format_decimal(count.cost.usd).encode()),
    )
