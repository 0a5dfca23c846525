"""Every tokenizer of the service, one row each: where its data comes from and which engines can run it.

Loaders import their engine when they are called, so that a started service holds no engine that it does not use.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version

from service.tokenizers import patterns
from service.tokenizers.base import Tokenizer
from service.tokenizers.bpe_kernel.tables import Scheme
from service.tokenizers.data import DataFile, shipped_files
from service.tokenizers.golden import find_golden_answers


@dataclass(frozen=True, slots=True)
class Supply:
    """What a loader may use: the verified bytes of a manifest row, and the same tokenizer's reference engine."""

    read: Callable[[str], bytes]
    reference: Callable[[], Tokenizer]


Loader = Callable[["TokenizerRow", Supply], Tokenizer]


@dataclass(frozen=True, slots=True)
class TokenizerRow:
    """`data` is the manifest row the vocabulary comes from, None where a package carries it (`package`).

    `reference_package` is the package that the reference runs on. `reference` and `fast` build the two engines; a
    missing one is None.
    """

    name: str
    data: str | None
    fast: Loader | None
    reference: Loader | None
    reference_package: str = ""
    package: str = ""
    package_licence: str = ""

    @property
    def verified(self) -> bool:
        """Whether the counts are confirmed by a reference engine or by committed answers of another implementation."""
        return self.reference is not None or find_golden_answers(self.name) is not None

    @property
    def source(self) -> str:
        """Where the vocabulary comes from, as text for people."""
        return self.file.origin if self.data else f"{self.package} {version(self.package)}"

    @property
    def licence(self) -> str:
        return self.file.licence if self.data else self.package_licence

    @property
    def file(self) -> DataFile:
        return shipped_files()[self.data or self.name]

    def fingerprint(self) -> str:
        """8 hex digits of the data that decides the counts, the same for both engines.

        Of a shipped file it is the beginning of its sha256, unless another tokenizer reads the same file in another
        way; of Claude 3 and later, a hash over the tables; of a vocabulary inside a package, a hash
        of the package's exact version.
        """
        if self.fast is _load_claude_kernel:
            return _make_claude_fingerprint(self.name)
        if self.data is None:
            return hashlib.sha256(f"{self.source} {self.name}".encode()).hexdigest()[:8]
        sha256 = self.file.sha256
        return (sha256 if self.name == self.data else hashlib.sha256(f"{sha256} {self.name}".encode()).hexdigest())[:8]


def _load_tiktoken(row: TokenizerRow, supply: Supply) -> Tokenizer:
    from service.tokenizers.reference.tiktoken import RankBpe, parse_ranks

    pattern = patterns.RANK_PATTERNS[row.name]
    return RankBpe(
        row.name, row.fingerprint(), parse_ranks(supply.read(row.file.tokenizer)), pattern.regex, pattern.specials,
        newlines_apart=pattern.newlines_apart,
    )


def _load_rank_kernel(row: TokenizerRow, supply: Supply) -> Tokenizer:
    from service.tokenizers.bpe_kernel.tables import make_rank_tables
    from service.tokenizers.bpe_kernel.tokenizer import BpeTokenizer

    file, specials = row.file.tokenizer, patterns.RANK_PATTERNS[row.name].specials
    return BpeTokenizer(
        row.name, row.fingerprint(), lambda: make_rank_tables(RANK_SCHEMES[file], supply.read(file), specials),
        supply.reference,
    )


RANK_SCHEMES: Mapping[str, Scheme] = {"o200k_base": "o200k", "cl100k_base": "cl100k"}
"""By file of ranks: the pattern that texts are cut by."""


def _load_hugging_face(row: TokenizerRow, supply: Supply) -> Tokenizer:
    from service.tokenizers.reference.huggingface import MergeBpe

    return MergeBpe(row.name, row.fingerprint(), supply.read(row.file.tokenizer))


def _load_merge_kernel(row: TokenizerRow, supply: Supply) -> Tokenizer:
    from service.tokenizers.bpe_kernel.tables import unpack
    from service.tokenizers.bpe_kernel.tokenizer import BpeTokenizer

    file = f"{row.file.tokenizer}-words"
    return BpeTokenizer(row.name, row.fingerprint(), lambda: unpack(supply.read(file)), supply.reference)


def _load_bundled(row: TokenizerRow, supply: Supply) -> Tokenizer:
    from service.tokenizers.bundled import BundledTokenizer

    return BundledTokenizer(row.name, row.fingerprint(), verified=row.verified)


def _open_model(name: str, licence: str) -> TokenizerRow:
    return TokenizerRow(name, None, _load_bundled, None, "", "splintr-rs", licence)


def _load_claude_kernel(row: TokenizerRow, supply: Supply) -> Tokenizer:
    from service.tokenizers import claude

    return claude.load(row.name)


def _make_claude_fingerprint(name: str) -> str:
    from service.tokenizers.claude import tables

    return tables.fingerprint(tables.FAMILIES[name])


def _load_ctok(row: TokenizerRow, supply: Supply) -> Tokenizer:
    from service.tokenizers.reference.ctok import CtokTokenizer

    return CtokTokenizer(row.name, row.fingerprint())


TOKENIZERS: tuple[TokenizerRow, ...] = (
    TokenizerRow("o200k_base", "o200k_base", _load_rank_kernel, _load_tiktoken, "tiktoken"),
    TokenizerRow("o200k_harmony", "o200k_base", _load_rank_kernel, _load_tiktoken, "tiktoken"),
    TokenizerRow("cl100k_base", "cl100k_base", _load_rank_kernel, _load_tiktoken, "tiktoken"),
    TokenizerRow("p50k_base", "p50k_base", None, _load_tiktoken, "tiktoken"),
    TokenizerRow("p50k_edit", "p50k_base", None, _load_tiktoken, "tiktoken"),
    TokenizerRow("r50k_base", "r50k_base", None, _load_tiktoken, "tiktoken"),
    TokenizerRow("gpt2", "r50k_base", None, _load_tiktoken, "tiktoken"),
    TokenizerRow("claude", "claude", _load_merge_kernel, _load_hugging_face, "tokenizers"),
    TokenizerRow("claude-v3", None, _load_claude_kernel, _load_ctok, "ctok", "ctok", "MIT"),
    TokenizerRow("claude-v4.7", None, _load_claude_kernel, _load_ctok, "ctok", "ctok", "MIT"),
    TokenizerRow("claude-v4.8", None, _load_claude_kernel, _load_ctok, "ctok", "ctok", "MIT"),
    TokenizerRow("gemma3", "gemma3", _load_merge_kernel, _load_hugging_face, "tokenizers"),
    _open_model("gemma4", "Apache-2.0"),
    _open_model("llama3", "Llama 3.1 Community License"),
    _open_model("llama2", "Llama 2 Community License"),
    _open_model("mistral_v1", "Apache-2.0"),
    _open_model("mistral_v2", "Apache-2.0"),
    _open_model("mistral_v3", "Apache-2.0"),
    _open_model("deepseek_v3", "MIT"),
    _open_model("qwen3", "Apache-2.0"),
    _open_model("glm4", "MIT"),
    _open_model("kimi", "Modified MIT"),
    _open_model("phi4", "MIT"),
)
