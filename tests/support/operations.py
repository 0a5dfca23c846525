"""Operations of the service, asked by their names over HTTP in this process."""

from __future__ import annotations

import json
import re
from typing import Any

import httpx
from fastapi import FastAPI

from service.api.routing import ServiceRoute
from tests.support.web import client_of

BUDGETS = """
[budgets.usd]
limit_usd = 1
[budgets.tok]
limit_tokens = 1000
"""


class Operations:
    """The operations of an app that are no counts, by their names."""

    def __init__(self, app: FastAPI) -> None:
        self.app = app
        self.routes = {
            route.operation_id: route for route in app.state.pipeline.routes.routes
            if isinstance(route, ServiceRoute) and route.operation_id is not None
        }

    async def call(self, operation: str, body: Any = None, /, **params: str) -> httpx.Response:
        """The response; `params` are those of path and query."""
        route = self.routes[operation]
        (method,) = sorted(route.methods or ())
        in_path = re.findall(r"{(\w+)", route.path)
        path = re.sub(r"{(\w+)(:\w+)?}", lambda found: params[found[1]], route.path)
        query = {key: value for key, value in params.items() if key not in in_path}
        content = None if route.body_field is None else json.dumps(body)
        async with client_of(self.app) as client:
            return await client.request(method, path, params=query, content=content)

    async def ask(self, operation: str, body: Any = None, /, **params: str) -> Any:
        """What the operation answers."""
        response = await self.call(operation, body, **params)
        assert response.status_code == 200, response.text
        return response.json()

    async def refuse(self, operation: str, body: Any = None, /, **params: str) -> tuple[str, str | None]:
        """Code and field of the error."""
        response = await self.call(operation, body, **params)
        assert 400 <= response.status_code < 500, response.text
        error = response.json()["error"]
        return error["code"], error["field"]
