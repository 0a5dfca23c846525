"""What usage costs, whether a request fits, and the same input over several models."""

from __future__ import annotations

from fastapi import APIRouter

from service import catalog
from service.answers.cost import instant, model_json, quote_json, row_json, verdict_json
from service.api.auth import needs
from service.api.routing import Context, ServiceRoute, Shared
from service.api.schemas.cost import CheckAnswer, CheckBody, CompareAnswer, CompareBody, EstimateAnswer, EstimateBody
from service.api.schemas.errors import describe_errors
from service.budgets.budget import Limit, check_budget
from service.catalog import CatalogModel
from service.dialects import native
from service.dialects.native_schema import CountBody
from service.dialects.usage import read_usage
from service.dialects.values import parse_instant, parse_money, parse_tier
from service.errors import InvalidRequest, ServiceError
from service.pricing.compare import compare as compare_models
from service.pricing.prices import quote
from service.services import Services
from service.types import Json, TokenCount

router = APIRouter(
    route_class=ServiceRoute, dependencies=[needs("count")], tags=["native"], responses=describe_errors(native.WIRE)
)


@router.post(
    "/v1/estimateCost", operation_id="estimate_cost", response_model=EstimateAnswer,
    summary="What usage costs, by the price list of its host",
)
def estimate_cost(body: EstimateBody) -> Json:
    """Usage is given in disjoint buckets or as a provider returned it. A price that is not known is null, never 0."""
    model = catalog.resolve(body.model)
    usage = read_usage(body.usage, "usage", body.dialect)
    at = parse_instant(body.at)
    quoted = quote(model, usage, parse_tier(body.service_tier), at)
    said = {"usage": dict(usage.buckets), "at": instant(at)}
    return {**model_json(model), **said, **quote_json(quoted, model.price)}


@router.post(
    "/v1/checkBudget", operation_id="check_budget", response_model=CheckAnswer,
    summary="Does a request fit window, tokens and money",
)
def check(body: CheckBody, services: Shared, context: Context) -> Json:
    """Goes by the upper end of the error band. Each limit that does not fit has a reason."""
    limit = Limit(
        body.max_input_tokens, body.max_output_tokens, parse_money(body.max_cost_usd, "max_cost_usd"),
        parse_tier(body.service_tier), parse_instant(body.at),
    )
    count, model = count_body(body, services)
    context.counts = (count,)
    return verdict_json(check_budget(count, model, limit), count, model)


def count_body(body: CountBody, services: Services) -> tuple[TokenCount, CatalogModel | None]:
    """The count of the part of a body that countTokens takes, and the model it is for."""
    request = native.read_body(body)
    count = services.counter.count(request)
    return count, None if request.model_ref is None else catalog.resolve(request.model_ref)


@router.post(
    "/v1/compare", operation_id="compare", response_model=CompareAnswer,
    summary="The same input over up to 50 models, the cheapest first",
)
def compare(body: CompareBody, services: Shared, context: Context) -> Json:
    """A model that cannot be counted has its error in its row."""
    if body.model is not None or body.tokenizer is not None or body.provider is not None:
        raise InvalidRequest("Name what to compare in `models` alone.", field="models")

    def count(model_ref: str) -> TokenCount:
        return services.counter.count(native.read_body(body.model_copy(update={"model": model_ref})))

    def resolve(model_ref: str) -> CatalogModel:
        try:
            return catalog.resolve(model_ref)
        except ServiceError as error:
            error.field = f"models[{body.models.index(model_ref)}]"
            raise

    rows = compare_models(body.models, count, resolve, body.output_tokens)
    cheapest = next((row.model_ref for row in rows if row.quote is not None and row.quote.total is not None), None)
    context.counts = tuple(row.count for row in rows if row.count is not None)
    return {"rows": [row_json(row) for row in rows], "cheapest": cheapest}
