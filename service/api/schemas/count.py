# ruff: noqa
from typing import Any
from pydantic import BaseModel, ConfigDict
from service.dialects.native_schema import BatchAnswer
from service.dialects.native_schema import BatchBody
from service.dialects.native_schema import CountAnswer
