"""The tokenizers of Claude 3 and later beside tiktoken's o200k_base: warm, cold, short and hostile texts, threads.

    python -m benchmarks.claude

Texts: the Python language reference (English), modules of the standard library (Python code), and Korean: a
translation catalogue where this machine has one, else the Declaration of Human Rights from the tests, several times.
"""

from __future__ import annotations

import gettext
import json
import random
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from pydoc_data import topics

from service.tokenizers import claude
from service.tokenizers.claude.tokenizer import ClaudeTokenizer
from service.tokenizers.registry import get_tokenizer

RECORDED = Path(__file__).resolve().parents[1] / "tests" / "tokenizers" / "claude" / "recorded.json"
REPEATS = 7


def english() -> str:
    return "\n".join(topics.topics.values())[:1_000_000]


def code() -> str:
    library = Path(sysconfig.get_path("stdlib"))
    modules = (path.read_text(encoding="utf-8", errors="replace") for path in sorted(library.glob("*.py")))
    return "".join(modules)[:1_000_000]


def korean() -> str:
    texts: list[str] = []
    for path in sorted(Path("/usr/share/locale/ko/LC_MESSAGES").glob("*.mo")):
        with path.open("rb") as file:
            texts += getattr(gettext.GNUTranslations(file), "_catalog").values()  # noqa: B009 - there is no other
    if sum(map(len, texts)) > 100_000:
        return "\n".join(texts)[:400_000]
    declaration = next(row["text"] for row in json.loads(RECORDED.read_bytes()) if "인류" in row["text"])
    return str(declaration) * 30


def hostile() -> dict[str, str]:
    """100 KB each of the texts that take longest."""
    some = random.Random(5)
    bmp = "".join(chr(some.randrange(1, 0xD800)) for _ in range(34_000))
    return {
        "random BMP characters": bmp,
        "one punctuation character": "." * 100_000,
        "mixed punctuation": "".join(some.choices("!\"#$%&'()*+,-./:;<=>?@[]^_`{|}~", k=100_000)),
        "one word": "a" * 100_000,
        "random letters, one word": "".join(some.choices("abcdefghijklmnopqrstuvwxyz", k=100_000)),
        "newlines": "\n" * 100_000,
        "no-break spaces": "\xa0" * 50_000,
        "CRLF": "é\r\n" * 25_000,
    }


def seconds(count: Callable[[str], object], text: str, repeats: int = REPEATS) -> float:
    """The shortest of some repeats."""
    best = float("inf")
    for _ in range(repeats):
        began = time.perf_counter()
        count(text)
        best = min(best, time.perf_counter() - began)
    return best


def speeds(tokenizers: dict[str, Callable[[str], object]]) -> None:
    texts = {"English": english(), "Python code": code(), "Korean": korean()}
    print(f"{'MB/s, warm (first call)':<26}" + "".join(f"{name:>20}" for name in texts))
    fastest: dict[str, list[float]] = {}
    for name, count in tokenizers.items():
        cells = []
        for text in texts.values():
            size = len(text.encode()) / 1e6
            first = size / seconds(count, text, 1)
            warm = size / seconds(count, text)
            fastest.setdefault(name, []).append(warm)
            cells.append(f"{warm:.1f} ({first:.1f})")
        print(f"{name:<26}" + "".join(f"{cell:>20}" for cell in cells))
    for name in claude.NAMES:
        ratios = [ours / theirs for ours, theirs in zip(fastest[name], fastest["tiktoken o200k_base"], strict=True)]
        print(f"{name + ' / tiktoken':<26}" + "".join(f"{'x ' + format(ratio, '.1f'):>20}" for ratio in ratios))


COLD = """
import sys, time
began = time.perf_counter()
from service.tokenizers import claude
tokenizers = [claude.load(name) for name in claude.NAMES]
loaded = time.perf_counter()
text = sys.stdin.read()
started = time.perf_counter()
tokenizers[0].count(text)
print(loaded - began, time.perf_counter() - started)
"""


def cold() -> None:
    """In a fresh process: import and load all three, then the first text it ever counts."""
    for name, text in {"English": english()[300_000:400_000], "code": code()[500_000:600_000],
                       "Korean": korean()[:38_000]}.items():
        runs = [subprocess.run([sys.executable, "-c", COLD], input=text, capture_output=True, text=True, check=True)
                for _ in range(3)]
        loads, firsts = zip(*(map(float, run.stdout.split()) for run in runs), strict=True)
        print(f"first {len(text.encode()) / 1e3:.0f} KB of a process, {name:<8} {min(firsts) * 1e3:6.1f} ms  "
              f"(import and load of the three families {min(loads):.2f} s)")


def short(tokenizers: dict[str, Callable[[str], object]]) -> None:
    for name, count in tokenizers.items():
        best = seconds(partial(_thousand_times, count), "hello, world")
        print(f"a short text, {name:<24} {best * 1e3:6.1f} us")


def _thousand_times(count: Callable[[str], object], text: str) -> None:
    for _ in range(1_000):
        count(text)


def crossover() -> None:
    tokenizer = claude.load("claude-v4.8")
    kernels, memo = tokenizer._kernels, tokenizer._memo
    if kernels is None:
        print(f"no kernel: {tokenizer.kernel_missing}")
        return
    for size in (25, 50, 100, 200, 400, 1_600):
        cells = []
        for text in (english()[9_000:][:size], korean()[:size]):
            in_python = partial(tokenizer._count_normalized, count=memo.count)
            cells += [seconds(in_python, text, 200) * 1e6, seconds(kernels.count, text, 200) * 1e6]
        print("{:>6} characters, us: English memo {:6.1f} kernel {:5.1f}, Korean memo {:6.1f} kernel {:5.1f}".format(
            size, *cells))


def extremes() -> None:
    tokenizers = {name: claude.load(name) for name in claude.NAMES}
    for name, text in hostile().items():
        once = {key: seconds(tokenizer.count, text, 3) * 1e3 for key, tokenizer in tokenizers.items()}
        twice = seconds(tokenizers["claude-v3"].count, text + text, 3) * 1e3
        print(f"{name:<28} 100 KB ms: " + "".join(f"{value:6.1f}" for value in once.values())
              + f"   twice as long x {twice / once['claude-v3']:.1f}")


def threads() -> None:
    """How much two threads count in the time of one. Only a machine whose cores are idle can tell."""
    tokenizer = claude.load("claude-v4.8")
    for name, text in (("English", english() * 2), ("code", code() * 2)):
        one = seconds(partial(_work, tokenizer, 8), text, 5)
        two = seconds(partial(_work_together, tokenizer, 4), text, 5)
        print(f"two threads, {name}, {len(text) / 1e6:.1f} MB a call: x {one / two:.2f} of one")


def _work(tokenizer: ClaudeTokenizer, times: int, text: str) -> None:
    for _ in range(times):
        tokenizer.count(text)


def _work_together(tokenizer: ClaudeTokenizer, times: int, text: str) -> None:
    both = [threading.Thread(target=_work, args=(tokenizer, times, text)) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()


def without_kernel(tokenizer: ClaudeTokenizer) -> ClaudeTokenizer:
    tokenizer._kernels = None
    return tokenizer


def run() -> None:
    tiktoken = get_tokenizer("o200k_base", "reference")
    tokenizers: dict[str, Callable[[str], object]] = {"tiktoken o200k_base": tiktoken.count}
    for name in claude.NAMES:
        tokenizers[name] = claude.load(name).count
    tokenizers["claude-v4.8, no kernel"] = without_kernel(claude.load("claude-v4.8")).count
    speeds(tokenizers)
    short(tokenizers)
    cold()
    crossover()
    extremes()
    threads()


if __name__ == "__main__":
    run()
