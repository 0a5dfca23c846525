# ruff: noqa
from typing import Any
from pydantic import BaseModel, ConfigDict
from service.api.schemas.inspection_answers import DetokenizeAnswer
from service.api.schemas.inspection_answers import ExplainAnswer
from service.api.schemas.inspection_answers import TokenizeAnswer
from service.api.schemas.inspection_answers import TrainAnswer
