"""`tallystick fits` and `tallystick compare`: what they print and how they end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from service.cli.fits import CANNOT_DECIDE, DOES_NOT_FIT, FITS
from service.cli.main import main
from service.cli.output import DAMAGED, USAGE
from service.errors import TokenizerUnavailable

CHAT = {"messages": [{"role": "user", "content": "Hello, world! 안녕하세요."}]}


@pytest.fixture
def prompt(tmp_path: Path) -> str:
    path = tmp_path / "prompt.txt"
    path.write_text("Hello, world! 안녕하세요.", encoding="utf-8")
    return str(path)


def rows(capsys: pytest.CaptureFixture[str]) -> list[list[str]]:
    return [line.split("\t") for line in capsys.readouterr().out.splitlines()]


def test_a_prompt_that_fits(prompt: str, capsys: pytest.CaptureFixture[str]) -> None:
    limits = ["--max-tokens", "7", "--max-cost", "0.05", "--max-output", "1000"]
    assert main(["fits", prompt, "--model", "gpt-4o", *limits]) == FITS
    assert rows(capsys) == [
        ["file", "decision", "tokens at most", "USD", "largest output"], [prompt, "fits", "7", "0.0100175", "4998"],
    ]


@pytest.mark.parametrize(("limits", "reason"), [
    (["--max-tokens", "6"], "max_input_tokens: 7 input tokens, 6 allowed."),
    (["--max-cost", "0.00001"], "max_cost_usd: 0.0000175 USD, 0.00001 allowed."),
    (["--max-output", "20000"], "max_output_tokens: 20000 output tokens, 16384 allowed."),
    (["--max-cost", "0.0000175", "--max-output", "1"], "max_cost_usd"),
])
def test_a_prompt_that_does_not_fit_says_why(
    prompt: str, limits: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fits", prompt, "-m", "gpt-4o", *limits]) == DOES_NOT_FIT
    assert f"tallystick: {prompt}: {reason}" in capsys.readouterr().err


def test_what_cannot_be_decided_is_not_a_yes(prompt: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fits", prompt, "-m", "gpt-5.9-nova", "--max-cost", "1"]) == CANNOT_DECIDE
    said = capsys.readouterr()
    assert "\tcannot_decide\t" in said.out
    assert "max_cost_usd: No price list has this model" in said.err


def test_the_worst_of_several_files_decides(prompt: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    binary, nowhere = tmp_path / "picture.bin", str(tmp_path / "nowhere.txt")
    binary.write_bytes(b"\0\1")
    assert main(["fits", str(tmp_path), "-m", "gpt-4o", "--max-tokens", "7"]) == FITS  # in a folder: left out
    assert main(["fits", prompt, str(binary), "-m", "gpt-4o", "--max-tokens", "7"]) == CANNOT_DECIDE
    assert main(["fits", prompt, nowhere, "-m", "gpt-4o", "--max-tokens", "7"]) == CANNOT_DECIDE
    assert nowhere in capsys.readouterr().err
    assert main(["fits", prompt, nowhere, "-m", "gpt-4o", "--max-tokens", "6"]) == DOES_NOT_FIT


def test_a_whole_request_is_counted_with_its_frame(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "request.json"
    path.write_text(json.dumps(CHAT), encoding="utf-8")
    assert main(["fits", str(path), "--request", "-m", "gpt-4o", "--json"]) == FITS
    (verdict,) = json.loads(capsys.readouterr().out)["files"]
    assert (verdict["path"], verdict["decision"], verdict["model"]) == (str(path), "fits", "gpt-4o")
    assert verdict["input_tokens"] == 14
    path.write_text("not json", encoding="utf-8")
    assert main(["fits", str(path), "--request", "-m", "gpt-4o"]) == CANNOT_DECIDE
    assert str(path) in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [
    ["-m", "gtp-4o"], ["-m", "gpt-4o", "--max-cost", "lots"], ["-m", "gpt-4o", "--max-cost", "NaN"],
    ["-m", "gpt-4o", "--max-cost=-1"], ["-m", "gpt-4o", "--tier", "turbo"],
])
def test_wrong_usage_of_fits(prompt: str, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fits", prompt, *arguments]) == USAGE
    assert capsys.readouterr().err.startswith("tallystick: ")


@pytest.mark.parametrize("number", ["-1", "1.5", "x", "", "١", "9" * 5_000])
def test_numbers_are_whole(prompt: str, number: str) -> None:
    with pytest.raises(SystemExit) as left:
        main(["fits", prompt, "-m", "gpt-4o", f"--max-tokens={number}"])
    assert left.value.code == USAGE


def test_models_are_compared_the_cheapest_first(prompt: str, capsys: pytest.CaptureFixture[str]) -> None:
    models = ["-m", "gpt-4", "-m", "gpt-4o-mini", "-m", "gpt-4o", "-m", "gpt-5.9-nova"]
    assert main(["compare", prompt, *models]) == 0
    found = rows(capsys)
    assert [row[0] for row in found] == ["model", "gpt-4o-mini", "gpt-4o", "gpt-4", "gpt-5.9-nova"]
    assert found[2] == ["gpt-4o", "7", "exact", "0.0000175", "0.000055"]
    assert found[4][3:] == ["unknown", "unknown"]


def test_a_model_that_cannot_be_counted_is_told_apart(prompt: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", prompt, "-m", "gpt-4o", "-m", "grok-4", "--output-tokens", "100", "--json"]) == 1
    said = capsys.readouterr()
    first, second = json.loads(said.out)["rows"]
    assert (first["cost"], second["error"]["code"]) == ("0.0010175", "unknown_model")
    assert said.err.startswith("tallystick: grok-4: ")


def test_a_folder_is_not_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "picture.png").write_bytes(b"\0")
    assert main(["compare", str(tmp_path), "-m", "gpt-4o"]) == USAGE
    said = f"tallystick: {tmp_path} is a folder: compare takes one file, or - for standard input.\n"
    assert capsys.readouterr() == ("", said)


def test_wrong_usage_of_compare(prompt: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", prompt, *["--model=gpt-4o"] * 51]) == USAGE
    assert main(["compare", str(tmp_path / "nowhere"), "-m", "gpt-4o"]) == 1
    with pytest.raises(SystemExit) as left:
        main(["compare", prompt])
    assert left.value.code == USAGE


def test_names_of_ones_own_are_understood(
    prompt: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from service import catalog

    monkeypatch.setenv("TALLYSTICK_ALIASES", '{"prod-chat": "gpt-4o"}')
    try:
        assert main(["fits", prompt, "-m", "prod-chat", "--max-tokens", "7"]) == FITS
        assert main(["compare", prompt, "-m", "prod-chat"]) == 0
        assert main(["count", prompt, "-m", "prod-chat"]) == 0
    finally:
        catalog.use(catalog.Catalog())
    monkeypatch.setenv("TALLYSTICK_CATALOG_FILE", "/nowhere.toml")
    for command in (["fits", prompt, "-m", "gpt-4o"], ["count", prompt, "-m", "gpt-4o"]):
        assert main(command) == USAGE
        assert "/nowhere.toml: cannot be read" in capsys.readouterr().err


def test_damaged_data_is_not_a_verdict(prompt: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def unavailable(*_: object) -> None:
        raise TokenizerUnavailable("expected sha256 2, found 3")

    monkeypatch.setattr("service.tokenizers.registry.get_tokenizer", unavailable)
    assert main(["fits", prompt, "-m", "gpt-4o"]) == CANNOT_DECIDE == DAMAGED
    assert main(["compare", prompt, "-m", "gpt-4o"]) == 1


def test_exit_codes_are_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    for command, codes in (("fits", (0, 1, 2, 3)), ("compare", (0, 1, 2))):
        with pytest.raises(SystemExit):
            main([command, "--help"])
        text = capsys.readouterr().out
        assert all(f"\n  {code}  " in text for code in codes), command
