# ruff: noqa
from typing import Any
from pydantic import BaseModel, ConfigDict
def describe_errors(d): return {}
