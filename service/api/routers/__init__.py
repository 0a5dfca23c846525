"""The routes, a module a noun. ROUTERS has them in the order in which a path is tried."""

from __future__ import annotations

from fastapi import APIRouter

from service.api.routers import (
    budgets,
    cost,
    count,
    docs,
    health,
    merges,
    models,
    playground,
    providers,
    text,
    tokenize,
    usage,
)

ROUTERS: tuple[APIRouter, ...] = (
    count.router, *providers.ROUTERS, cost.router, text.router, tokenize.router, merges.router, models.router,
    budgets.router, usage.router, health.router, docs.router, playground.router,
)
