"""The dashboards: their ids differ, panels fit the grid, and Grafana reads them from where compose mounts them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
import yaml

from tests.deploy.files import DEPLOY, compose, dashboards, service_of

BOARDS = dashboards()
CASES = pytest.mark.parametrize("board", BOARDS.values(), ids=list(BOARDS))

UNITS = {"short", "reqps", "percentunit", "bytes", "Bps", "ops", "cps", "s", "currencyUSD"}


def test_there_is_one_of_each() -> None:
    subjects = ("accuracy", "cache", "cost", "latency", "traffic")
    assert [board["uid"] for board in BOARDS.values()] == [f"tallystick-{subject}" for subject in subjects]
    assert list(BOARDS) == [f"{board['uid']}.json" for board in BOARDS.values()]
    assert len({board["title"] for board in BOARDS.values()}) == len(BOARDS)


@CASES
def test_panels_have_a_place_of_their_own_and_say_what_they_show(board: dict[str, Any]) -> None:
    panels = board["panels"]
    assert [panel["id"] for panel in panels] == list(range(1, len(panels) + 1))
    assert len({panel["title"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        assert panel["description"].endswith("."), panel["title"]
        assert panel["fieldConfig"]["defaults"]["unit"] in UNITS
        assert panel["targets"]
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken, panel["title"]
        taken |= cells


@CASES
def test_any_prometheus_may_be_chosen(board: dict[str, Any]) -> None:
    (choice,) = board["templating"]["list"]
    assert (choice["type"], choice["query"]) == ("datasource", "prometheus")
    source = {"type": "prometheus", "uid": "${" + choice["name"] + "}"}
    for panel in board["panels"]:
        assert panel["datasource"] == source
        assert all(target["datasource"] == source for target in panel["targets"])
        assert all(first["refId"] < second["refId"] for first, second in pairwise(panel["targets"]))


@CASES
def test_a_table_shows_the_present_and_every_column_has_its_heading(board: dict[str, Any]) -> None:
    for panel in board["panels"]:
        if panel["type"] == "table":
            assert all(target["instant"] and target["format"] == "table" for target in panel["targets"])
            renamed = panel["transformations"][1]["options"]["renameByName"]
            for target in panel["targets"]:
                assert renamed[f"Value #{target['refId']}"] == target["legendFormat"]


def test_it_is_provisioned_from_where_compose_mounts_it() -> None:
    mounts = dict(reversed(volume.split(":")[:2]) for volume in service_of("grafana")["volumes"])
    (provider,) = yaml.safe_load((DEPLOY / "grafana/provisioning/dashboards/tallystick.yml").read_text())["providers"]
    assert mounts[provider["options"]["path"]] == "./deploy/grafana/dashboards"
    home = service_of("grafana")["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    folder, _, name = home.rpartition("/")
    assert folder == provider["options"]["path"]
    assert name in BOARDS
    sources = yaml.safe_load((DEPLOY / "grafana/provisioning/datasources/prometheus.yml").read_text())["datasources"]
    host, _, port = sources[0]["url"].removeprefix("http://").partition(":")
    assert compose()["services"][host]["ports"][0].endswith(f":{port}")
    for kind in ("datasources", "dashboards"):
        assert mounts[f"/etc/grafana/provisioning/{kind}"] == f"./deploy/grafana/provisioning/{kind}"
