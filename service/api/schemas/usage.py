# ruff: noqa
from typing import Any
from pydantic import BaseModel, ConfigDict
class DriftAnswer(BaseModel):
    model_config=ConfigDict(extra="allow")
class TakeUsageAnswer(BaseModel):
    model_config=ConfigDict(extra="allow")
class UsageAnswer(BaseModel):
    model_config=ConfigDict(extra="allow")
from service.api.schemas.usage_wire import UsageBody
