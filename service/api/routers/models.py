"""The catalog: which models and tokenizers there are, and what a model's name means."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Path, Query

from service import catalog
from service.answers.models import catalog_json
from service.api.auth import needs
from service.api.routing import ServiceRoute
from service.api.schemas.base import NoQuery
from service.api.schemas.errors import describe_errors
from service.api.schemas.models import ListModelsQuery, ModelAnswer, ModelsAnswer, TokenizersAnswer
from service.dialects import native
from service.tokenizers import registry
from service.types import Json

router = APIRouter(
    route_class=ServiceRoute, dependencies=[needs("models")], tags=["native"], responses=describe_errors(native.WIRE)
)


@router.get(
    "/v1/models", operation_id="list_models", response_model=ModelsAnswer,
    summary="Models that can be counted, with limits and methods",
)
def list_models(query: Annotated[ListModelsQuery, Query()]) -> Json:
    """Models are sorted by id. `next_page_token` is the `page_token` of the next page."""
    search = query.search.lower()
    found = [
        model for model in catalog.current().models()
        if search in model.model_id
        and query.provider in ("", model.provider_id) and query.family in ("", model.family.name)
    ]
    page = [model for model in found if model.model_id > query.page_token][: query.limit]
    more = bool(page) and page[-1].model_id != found[-1].model_id
    return {
        "models": [catalog_json(model, prices=query.prices == "true") for model in page], "total": len(found),
        "next_page_token": page[-1].model_id if more else None, "prices_version": catalog.version(),
    }


@router.get(
    "/v1/models/{model_id:path}", operation_id="get_model", response_model=ModelAnswer,
    summary="What a model's name means, its limits, methods and prices",
)
def get_model(model_id: Annotated[str, Path(description="Any name of a model.")],
              _query: Annotated[NoQuery, Query()]) -> Json:
    """Any name of a model is taken: an alias, a dated name, a Bedrock or Vertex id."""
    return catalog_json(catalog.resolve(model_id))


@router.get(
    "/v1/tokenizers", operation_id="tokenizers", response_model=TokenizersAnswer,
    summary="Every tokenizer: its data, its engines",
)
async def list_tokenizers() -> Json:
    """Nothing is loaded for this list."""
    rows = [asdict(row) for row in registry.describe_tokenizers()]
    return {"tokenizers": rows, "providers": dict(registry.PROVIDER_ALIASES)}
