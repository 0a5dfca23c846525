"""Families of open models whose vocabularies we carry; their chat templates are public, their hosts' frames are not."""

from __future__ import annotations

from service.families.base import Family

FAMILIES: tuple[Family, ...] = ()
