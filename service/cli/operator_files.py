"""The operator's catalog file, budgets file and aliases, for the commands that name models."""

from __future__ import annotations

import os

from service.errors import InvalidRequest

VARIABLES = ("TALLYSTICK_CATALOG_FILE", "TALLYSTICK_BUDGETS_FILE", "TALLYSTICK_ALIASES")


def use_operator_files() -> None:
    """Let the names of models mean what the operator's settings say. Raises InvalidRequest for a file that is wrong.

    Reading settings imports pydantic, which takes 0.1 s, so it is done only where one of the settings is given.
    """
    if not any(name.upper() in VARIABLES for name in os.environ):
        return
    from service.catalog import CatalogFileError
    from service.services import OperatorFiles
    from service.settings import CatalogSettings

    try:
        OperatorFiles(CatalogSettings())
    except CatalogFileError as error:
        raise InvalidRequest(f"{error}") from None
