"""What an operator wrote of models, prices and budgets: read whole at the start, and again whole or not at all."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping

from service import catalog
from service.budgets.named import Budget, read_budgets
from service.catalog import Catalog, CatalogFileError
from service.settings import CatalogSettings

LOG = logging.getLogger("tallystick")


class OperatorFiles:
    """The process's catalog follows `settings` from here on; `budgets` are the named budgets as they are now.

    Raises CatalogFileError where a file or an alias cannot be used.
    """

    def __init__(self, settings: CatalogSettings) -> None:
        self._settings = settings
        self._reading = threading.Lock()
        self.budgets: Mapping[str, Budget] = {}
        self._read()

    def reload(self) -> bool:
        """Read the files again. False where one cannot be used: then nothing has changed, and the log says why."""
        try:
            with self._reading:
                self._read()
        except CatalogFileError as error:
            LOG.error("catalog and budgets stay as they were", extra={"fields": {"reason": str(error)}})  # noqa: TRY400
            return False
        LOG.info("catalog and budgets read", extra={"fields": {"budgets": len(self.budgets)}})
        return True

    def _read(self) -> None:
        settings, now = self._settings, catalog.current()
        budgets = read_budgets(settings.catalog_file, settings.budgets_file)
        # The bundled data never changes: a catalog of nothing else is left alone, with what it has resolved.
        if settings.catalog_file or now.file or settings.aliases != now.aliases:
            catalog.use(Catalog(settings.catalog_file, settings.aliases))
        self.budgets = budgets
