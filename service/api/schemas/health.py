# ruff: noqa
from typing import Any
from pydantic import BaseModel, ConfigDict
class LiveAnswer(BaseModel):
    model_config=ConfigDict(extra="allow")
class ReadyAnswer(BaseModel):
    model_config=ConfigDict(extra="allow")
