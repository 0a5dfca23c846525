# ruff: noqa
from typing import Any
from pydantic import BaseModel, ConfigDict
class CheckAnswer(BaseModel):
    model_config=ConfigDict(extra="allow")
from service.api.schemas.decision_bodies import CheckBody
class CompareAnswer(BaseModel):
    model_config=ConfigDict(extra="allow")
from service.api.schemas.decision_bodies import CompareBody
class EstimateAnswer(BaseModel):
    model_config=ConfigDict(extra="allow")
from service.api.schemas.decision_bodies import EstimateBody
