"""Families of Google models: which template, which tokenizer, which measured constants."""

from __future__ import annotations

from service.families.base import Family

FAMILIES: tuple[Family, ...] = ()
