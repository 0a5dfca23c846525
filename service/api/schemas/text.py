# ruff: noqa
from typing import Any
from pydantic import BaseModel, ConfigDict
class SplitAnswer(BaseModel):
    model_config=ConfigDict(extra="allow")
from service.api.schemas.decision_bodies import SplitBody
class TruncateAnswer(BaseModel):
    model_config=ConfigDict(extra="allow")
from service.api.schemas.decision_bodies import TruncateBody
