"""Routes of the inspections, made of their rows; always in a worker thread: most answers take Python a while."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel
from pydantic_core import to_json
from starlette.routing import BaseRoute, Route

from service.api.inspection_rows import INSPECTIONS, Inspection, examples
from service.api.operations import Reply
from service.api.routes import JsonRoute, ServiceParts
from service.counting.counter import Counter
from service.dialects import native
from service.dialects.model_validation import validate_model
from service.types import Json, Warned

if TYPE_CHECKING:
    from service.api.openapi import Described

Question = tuple[BaseModel, tuple[Warned, ...]]


@dataclass(frozen=True, slots=True)
class Inspect:
    """The operation of a row. Its answers hold the caller's text, so none is kept."""

    inspection: Inspection[Any]
    counter: Counter
    threaded: bool = True
    repeatable: bool = False

    def read(self, value: Json, params: Mapping[str, str], warnings: tuple[Warned, ...]) -> Question:
        body = validate_model(self.inspection.body, value)
        unknown = tuple(Warned("unknown_field_ignored", key[:64]) for key in body.model_extra or ())
        return body, (*warnings, *unknown)

    def is_warm(self, question: Question) -> bool:
        return False

    def answer(self, question: Question) -> Reply:
        return Reply(to_json(self.inspection.respond(*question, self.counter)))


def inspection_routes(parts: ServiceParts) -> Iterator[BaseRoute]:
    for row in INSPECTIONS:
        route = JsonRoute(row.path, native.WIRE, Inspect(row, parts.counter), parts)
        yield Route(row.path, route, methods=["POST"])


def described_inspections() -> Iterator[Described]:
    """What the OpenAPI document says of them; the models are `inspection_models()`."""
    from service.api.openapi import Described  # noqa: PLC0415
    from service.api.schemas.inspection_answers import ANSWERS  # noqa: PLC0415 - not needed to serve
    from service.dialects.native_schema import reference  # noqa: PLC0415

    for row in INSPECTIONS:
        example = examples()[row.name]
        yield Described(
            row.path, "post", row.name, row.summary, "native", reference(ANSWERS[row.name]), example["response"],
            reference(row.body), example["request"],
        )


def inspection_models() -> Iterator[type[BaseModel]]:
    from service.api.schemas.inspection_answers import ANSWERS  # noqa: PLC0415 - not needed to serve

    for row in INSPECTIONS:
        yield row.body
        yield ANSWERS[row.name]
