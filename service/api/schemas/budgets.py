# ruff: noqa
from typing import Any
from pydantic import BaseModel, ConfigDict
class BudgetAnswer(BaseModel):
    model_config=ConfigDict(extra="allow")
class ListBudgetsAnswer(BaseModel):
    model_config=ConfigDict(extra="allow")
class ReleaseAnswer(BaseModel):
    model_config=ConfigDict(extra="allow")
from service.api.schemas.decision_bodies import ReleaseBody
class ReserveAnswer(BaseModel):
    model_config=ConfigDict(extra="allow")
from service.api.schemas.decision_bodies import ReserveBody
class SettleAnswer(BaseModel):
    model_config=ConfigDict(extra="allow")
from service.api.schemas.decision_bodies import SettleBody
