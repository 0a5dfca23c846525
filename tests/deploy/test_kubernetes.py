"""The overlays as kubectl builds them: they fit the API's schemas, the image, the settings and each other."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import kubernetes_validate  # type: ignore[import-untyped]
import pytest
import yaml

from service import __version__
from service.app import create_app
from service.auth.key_store import FileStore
from service.settings import Settings
from tests.deploy.files import DEPLOY, SETTINGS, find, image_environment
from tests.support.live import ROOT
from tests.support.web import client_of

pytestmark = pytest.mark.kubectl

OVERLAYS = ("single", "cluster")

OF_OPERATORS = "monitoring.coreos.com/v1"
"""Kinds of the Prometheus Operator, which the schemas of the API do not have."""

SECRETS = ("keys.json*", "prometheus.key", "redis.env")
"""Files that operators may keep beside them."""

README = (DEPLOY / "README.md").read_text()

CASES = pytest.mark.parametrize("overlay", OVERLAYS)

Documents = dict[str, dict[str, Any]]
"""The documents by kind and name."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Documents]:
    """Each overlay, with keys that are made as deploy/README.md says."""
    deploy = _copied(tmp_path_factory.mktemp("deploy"))
    for overlay in OVERLAYS:
        _make_secrets(deploy / "kubernetes/overlays" / overlay)
    return {overlay: _documents(_build(deploy / "kubernetes/overlays" / overlay)) for overlay in OVERLAYS}


def _copied(folder: Path) -> Path:
    """deploy/ as it is in git."""
    deploy = folder / "deploy"
    shutil.copytree(DEPLOY, deploy, ignore=shutil.ignore_patterns(*SECRETS, "catalog.toml"))
    return deploy


def _make_secrets(folder: Path) -> None:
    def add(*arguments: str) -> str:
        done = subprocess.run([sys.executable, "-m", "service.cli", "keys", "add", *arguments, "--file",
                               folder / "keys.json"], cwd=ROOT, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    add("team-a")
    if folder.name == "cluster":
        key = add("prometheus", "--scope", "metrics", "--scope", "usage")
        (folder / "prometheus.key").write_text(key)
        lines = (folder / "redis.env.example").read_text().splitlines()[:-1]
        (folder / "redis.env").write_text("\n".join(lines).replace("CACHE_SECRET=", "CACHE_SECRET=" + "5" * 64))


def _kustomize(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([find("kubectl"), "kustomize", folder], capture_output=True, text=True, check=False)


def _build(folder: Path) -> str:
    done = _kustomize(folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _edit(folder: Path, **more: list[Any]) -> None:
    """Add entries to the lists of an overlay's kustomization.yaml."""
    file = folder / "kustomization.yaml"
    said = yaml.safe_load(file.read_text())
    file.write_text(yaml.safe_dump(said | {name: said.get(name, []) + rows for name, rows in more.items()}))


def _documents(text: str) -> Documents:
    documents = list(yaml.safe_load_all(text))
    suffix = re.compile("-(?=[a-z]*[0-9])[a-z0-9]{10}$")  # kustomize's hash of what is in it
    named = {f"{each['kind']}/{suffix.sub('', each['metadata']['name'])}": each for each in documents}
    assert len(named) == len(documents)
    return named


def _pod(documents: Documents) -> dict[str, Any]:
    pod: dict[str, Any] = documents["Deployment/tallystick"]["spec"]["template"]["spec"]
    return pod


def _container(documents: Documents) -> dict[str, Any]:
    (container,) = _pod(documents)["containers"]
    assert isinstance(container, dict)
    return container


def _secret(documents: Documents, name: str) -> dict[str, bytes]:
    return {key: base64.b64decode(value) for key, value in documents[f"Secret/{name}"]["data"].items()}


# ---------------------------------------------------------------- as the API takes it


@CASES
def test_the_api_would_take_it(built: Mapping[str, Documents], overlay: str) -> None:
    checked = 0
    for document in built[overlay].values():
        if document["apiVersion"] != OF_OPERATORS:
            kubernetes_validate.validate(document, "1.30", strict=True)
            checked += 1
    assert checked >= 8


def test_both_have_what_a_cluster_needs(built: Mapping[str, Documents]) -> None:
    base = {"Namespace/tallystick", "ServiceAccount/tallystick", "ConfigMap/tallystick-settings",
            "Secret/tallystick-keys", "Service/tallystick", "Deployment/tallystick",
            "PodDisruptionBudget/tallystick", "NetworkPolicy/tallystick"}
    more = {"Secret/tallystick-redis", "Secret/tallystick-prometheus", "HorizontalPodAutoscaler/tallystick",
            "ServiceMonitor/tallystick", "PrometheusRule/tallystick", "ConfigMap/tallystick-dashboards"}
    assert set(built["single"]) == base
    assert set(built["cluster"]) == base | more


@CASES
def test_without_keys_nothing_is_built(overlay: str, tmp_path: Path) -> None:
    """kubectl fails with a message, instead of making pods that wait for a secret or let everybody in."""
    done = _kustomize(_copied(tmp_path) / "kubernetes/overlays" / overlay)
    assert done.returncode != 0
    assert "keys.json" in done.stderr


def test_with_a_redis_env_that_nobody_filled_in_nothing_is_built(tmp_path: Path) -> None:
    folder = _copied(tmp_path) / "kubernetes/overlays/cluster"
    _make_secrets(folder)
    shutil.copy(folder / "redis.env.example", folder / "redis.env")
    done = _kustomize(folder)
    assert done.returncode != 0
    assert "TALLYSTICK_CACHE_SECRET" in done.stderr


@CASES
async def test_a_catalog_of_the_operator_s_is_what_the_service_reads(
    overlay: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deploy = _copied(tmp_path)
    folder, component = deploy / "kubernetes/overlays" / overlay, deploy / "kubernetes/components/catalog"
    _make_secrets(folder)
    _edit(folder, components=["../../components/catalog"])
    assert "catalog.toml" in _kustomize(folder).stderr, "not built without"
    shutil.copy(deploy / "config/catalog.example.toml", component / "catalog.toml")

    documents = _documents(_build(folder))
    (mount,) = (mount for mount in _container(documents)["volumeMounts"] if mount["name"] == "catalog")
    (volume,) = (volume for volume in _pod(documents)["volumes"] if volume["name"] == "catalog")
    content = documents["ConfigMap/tallystick-catalog"]
    assert mount["readOnly"]
    assert volume["configMap"]["name"] == content["metadata"]["name"]
    kubernetes_validate.validate(documents["Deployment/tallystick"], "1.30", strict=True)
    told = Path(documents["ConfigMap/tallystick-settings"]["data"]["TALLYSTICK_CATALOG_FILE"])
    assert told.parent == Path(mount["mountPath"])

    file = tmp_path / told.name
    file.write_text(content["data"][told.name])
    monkeypatch.setenv("TALLYSTICK_CATALOG_FILE", str(file))
    async with client_of(create_app(Settings())) as client:
        assert (await client.get("/v1/models/our-chat")).json()["model_match"] == "alias"
        assert (await client.get("/v1/budgets/team-a")).json()["limit"] == "50"


def test_what_an_operator_of_prometheus_looks_for_is_added_as_the_readme_says(tmp_path: Path) -> None:
    (block,) = (text for text in map(textwrap.dedent, re.findall(r"^  ```yaml\n(.*?)^  ```$", README, re.M | re.S))
                if "release" in text)
    folder = _copied(tmp_path) / "kubernetes/overlays/cluster"
    _make_secrets(folder)
    _edit(folder, **yaml.safe_load(block))
    labels = {name: each["metadata"].get("labels", {}) for name, each in _documents(_build(folder)).items()}
    labelled = {name for name in labels if "release" in labels[name]}
    assert labelled == {"ServiceMonitor/tallystick", "PrometheusRule/tallystick"}


def test_what_secrets_are_made_of_is_never_committed() -> None:
    ignored = (DEPLOY / "kubernetes/.gitignore").read_text()
    for name in (*(f"overlays/*/{secret}" for secret in SECRETS), "components/catalog/catalog.toml"):
        assert name in ignored.splitlines()


# ---------------------------------------------------------------- as the service takes it


@CASES
def test_the_service_takes_its_environment(
    built: Mapping[str, Documents], overlay: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = built[overlay]
    said = image_environment() | documents["ConfigMap/tallystick-settings"]["data"]
    if overlay == "cluster":
        said |= {name: value.decode() for name, value in _secret(documents, "tallystick-redis").items()}
    named = {name: value for name, value in said.items() if name.startswith("TALLYSTICK_")}
    assert set(named) <= SETTINGS
    for name, value in named.items():
        monkeypatch.setenv(name, value)
    settings = Settings()
    assert (settings.redis_url is not None) is (overlay == "cluster")
    assert settings.keys_file is not None, "keys are needed"
    assert not settings.allow_anonymous
    (mount,) = (mount for mount in _container(documents)["volumeMounts"] if mount["name"] == "keys")
    assert settings.keys_file == Path(mount["mountPath"], "keys.json")

    pod = _pod(documents)
    (command,) = [_container(documents)["lifecycle"]["preStop"]["exec"]["command"]]
    assert command[0] == "sleep"
    stopping = int(command[1]) + settings.grace_seconds + settings.shutdown_seconds
    assert pod["terminationGracePeriodSeconds"] >= stopping + 5, "or what is under way is killed"


@CASES
def test_every_container_gets_all_its_settings(built: Mapping[str, Documents], overlay: str) -> None:
    documents = built[overlay]
    maps = {source["configMapRef"]["name"] for source in _container(documents)["envFrom"] if "configMapRef" in source}
    secrets = {source["secretRef"]["name"] for source in _container(documents)["envFrom"] if "secretRef" in source}
    assert maps == {documents["ConfigMap/tallystick-settings"]["metadata"]["name"]}
    wanted = {documents["Secret/tallystick-redis"]["metadata"]["name"]} if overlay == "cluster" else set()
    assert secrets == wanted


@CASES
def test_the_keys_are_readable_and_hold_no_key(
    built: Mapping[str, Documents], overlay: str, tmp_path: Path
) -> None:
    """With the file mode of the mounted secret. The service refuses a key file that others may write."""
    content = _secret(built[overlay], "tallystick-keys")["keys.json"]
    (volume,) = (volume for volume in _pod(built[overlay])["volumes"] if volume["name"] == "keys")
    file = tmp_path / "keys.json"
    file.write_bytes(content)
    file.chmod(volume["secret"]["defaultMode"])
    names = {key.name for key in FileStore(file).load().by_id.values()}
    assert names == ({"team-a", "prometheus"} if overlay == "cluster" else {"team-a"})
    assert b"tsk_" not in content
    assert volume["secret"]["secretName"] == "tallystick-keys"
    assert not any("subPath" in mount for mount in _container(built[overlay])["volumeMounts"]), "or no change arrives"


@CASES
def test_a_service_s_links_are_no_settings(built: Mapping[str, Documents], overlay: str) -> None:
    """For a Service called tallystick, Kubernetes would set TALLYSTICK_PORT=tcp://10.0.0.1:8080."""
    assert "Service/tallystick" in built[overlay]
    assert _pod(built[overlay])["enableServiceLinks"] is False


@CASES
def test_ports_and_labels_agree(built: Mapping[str, Documents], overlay: str) -> None:
    documents = built[overlay]
    (port,) = _container(documents)["ports"]
    assert str(port["containerPort"]) == image_environment()["TALLYSTICK_PORT"]
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        asked = _container(documents)[probe]["httpGet"]
        assert asked["port"] == port["name"]
        assert asked["path"] == ("/livez" if probe == "livenessProbe" else "/readyz")
        assert asked["path"] in Settings.model_fields["public"].default, "probes have no key"
    assert [each["targetPort"] for each in documents["Service/tallystick"]["spec"]["ports"]] == [port["name"]]
    assert documents["NetworkPolicy/tallystick"]["spec"]["ingress"] == [
        {"ports": [{"port": port["name"], "protocol": "TCP"}]}
    ]
    labels = documents["Deployment/tallystick"]["spec"]["template"]["metadata"]["labels"]
    selectors = [
        documents["Deployment/tallystick"]["spec"]["selector"]["matchLabels"],
        documents["Service/tallystick"]["spec"]["selector"],
        documents["PodDisruptionBudget/tallystick"]["spec"]["selector"]["matchLabels"],
        documents["NetworkPolicy/tallystick"]["spec"]["podSelector"]["matchLabels"],
        *(each["labelSelector"]["matchLabels"] for each in _pod(documents)["topologySpreadConstraints"]),
    ]
    assert all(selector.items() <= labels.items() for selector in selectors)
    assert {document["metadata"].get("namespace") for document in documents.values()} == {None, "tallystick"}


@CASES
def test_the_image_is_this_version(built: Mapping[str, Documents], overlay: str) -> None:
    assert _container(built[overlay])["image"] == f"tallystick:{__version__}"


@pytest.mark.parametrize("file", ["README.md", "Dockerfile"])
def test_the_image_is_built_under_the_tag_that_the_overlays_ask_for(file: str) -> None:
    text = (DEPLOY / file).read_text()
    assert f"docker build --file deploy/Dockerfile --tag tallystick:{__version__} ." in text
    assert set(re.findall(r"tallystick:(\d[\w.]*)", text)) == {__version__}


# ---------------------------------------------------------------- what a pod may do


@CASES
def test_a_pod_may_do_no_more_than_it_has_to(built: Mapping[str, Documents], overlay: str) -> None:
    pod, container = _pod(built[overlay]), _container(built[overlay])
    security = pod["securityContext"]
    assert security["runAsNonRoot"] is True
    assert security["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]},
    }
    assert pod["automountServiceAccountToken"] is False
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)
    assert built[overlay]["Namespace/tallystick"]["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == (
        "restricted"
    )
    (writable,) = (volume for volume in pod["volumes"] if "emptyDir" in volume)
    assert writable["emptyDir"] == {"medium": "Memory", "sizeLimit": "64Mi"}
    assert {"requests", "limits"} == set(container["resources"])


def test_it_calls_nobody_but_redis(built: Mapping[str, Documents]) -> None:
    policies = {name: built[name]["NetworkPolicy/tallystick"]["spec"] for name in OVERLAYS}
    assert all(set(policy["policyTypes"]) == {"Ingress", "Egress"} for policy in policies.values())
    assert policies["single"].get("egress", []) == []
    reached = [
        (tuple(sorted(each["port"] for each in rule["ports"])), tuple(to["podSelector"]["matchLabels"].values()))
        for rule in policies["cluster"]["egress"] for to in rule["to"]
    ]
    assert reached == [((53, 53), ("kube-dns",)), ((6379, 26379), ("redis",))]


def test_the_cluster_scales_by_what_there_is(built: Mapping[str, Documents]) -> None:
    documents = built["cluster"]
    scaler = documents["HorizontalPodAutoscaler/tallystick"]["spec"]
    assert scaler["scaleTargetRef"]["name"] == documents["Deployment/tallystick"]["metadata"]["name"]
    assert "replicas" not in documents["Deployment/tallystick"]["spec"], "or each apply undoes the autoscaler"
    assert "cpu" in _container(documents)["resources"]["requests"], "what a share of it is reckoned by"
    assert scaler["minReplicas"] >= 2


def test_prometheus_has_a_key_that_opens_what_it_scrapes(built: Mapping[str, Documents], tmp_path: Path) -> None:
    documents = built["cluster"]
    endpoints = documents["ServiceMonitor/tallystick"]["spec"]["endpoints"]
    assert [endpoint["path"] for endpoint in endpoints] == ["/metrics", "/v1/usage"]
    for endpoint in endpoints:
        named = endpoint["authorization"]["credentials"]
        key = _secret(documents, named["name"])[named["key"]].decode()
        assert key == key.strip(), "a header ends with its line"
        assert endpoint["port"] == documents["Service/tallystick"]["spec"]["ports"][0]["name"]
    file = tmp_path / "keys.json"
    file.write_bytes(_secret(documents, "tallystick-keys")["keys.json"])
    file.chmod(0o600)
    (row,) = (row for row in FileStore(file).load().by_id.values() if row.name == "prometheus")
    assert {"metrics", "usage"} <= row.scopes
    assert row.id in key


def test_prometheus_and_grafana_get_what_compose_has(built: Mapping[str, Documents]) -> None:
    groups = [
        group for file in sorted(DEPLOY.glob("prometheus/rules/*.yml"))
        for group in yaml.safe_load(file.read_text())["groups"]
    ]
    assert built["cluster"]["PrometheusRule/tallystick"]["spec"]["groups"] == groups
    boards = built["cluster"]["ConfigMap/tallystick-dashboards"]["data"]
    assert set(boards) == {file.name for file in DEPLOY.glob("grafana/dashboards/*.json")}
    assert all(json.loads(board)["uid"] for board in boards.values())
    assert sum(map(len, boards.values())) < 1 << 18, "kubectl apply keeps a copy in an annotation, of 256 KiB at most"
