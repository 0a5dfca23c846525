# ruff: noqa
from typing import Any
from pydantic import BaseModel, ConfigDict
class ListModelsAnswer(BaseModel):
    model_config=ConfigDict(extra="allow")
class ListModelsQuery(BaseModel):
    model_config=ConfigDict(extra="forbid")
    search: str=""
    provider: str=""
    family: str=""
    limit: int=100
    prices: str="false"
    page_token: str=""
class ModelAnswer(BaseModel):
    model_config=ConfigDict(extra="allow")
class NoQuery(BaseModel):
    model_config=ConfigDict(extra="forbid")
from service.dialects.native_schema import TokenizersAnswer
