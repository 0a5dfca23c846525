"""Make `service/tokenizers/golden.json`: the answers that a fast engine must give before it is used.

    python scripts/make_golden.py            write the file
    python scripts/make_golden.py --check    compare with the committed file; exit code 1 when it differs

Every answer comes from a reference engine (tiktoken, tokenizers, ctok), never from the engine it will check.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

from service.tokenizers.golden import compute_answers
from service.tokenizers.registry import get_tokenizer
from service.tokenizers.specs import TOKENIZERS

TARGET = Path(__file__).resolve().parent.parent / "service" / "tokenizers" / "golden.json"

TEXTS: list[tuple[str, int]] = [
    ("Hello, world! 안녕하세요.", 1),
    ("The quick brown fox doesn't jump over I'm, you'LL, they'Ve and O'Reilly's lazy dogs.", 1),
    ("def count(text: str) -> int:\n    return len(encode(text))\n\n\n\tif __name__ == '__main__':\r\n\t\tpass\r\n", 1),
    ("CamelCaseWords ALLCAPS mixedUP snake_case kebab-case v1.2.3 0x1F 1,234,567.89 12345678901 ¼ ② Ⅷ ٣٤٥ १२३", 1),
    ("안녕하세요 세계! 각 한글 ㄱㄴㄷ 한", 1),
    ("é vs e\u0301, Å vs A\u030a, ﬁ ﬃ ㎏ ½ ｆｕｌｌ　ｗｉｄｔｈ ﷺ \u1e9b\u0323", 1),
    ("🙂 👩‍👩‍👧‍👦 🇰🇷 🏳️‍🌈 👍🏽 ❤️ 1️⃣ \U0001faea", 1),
    ("中文测试。日本語のテキスト、ひらがなとカタカナ。ภาษาไทย हिन्दी العربية עברית Ελληνικά Кириллица", 1),
    ("<|endoftext|> <|im_start|>user<|im_end|> <|fim_prefix|> <bos> <eos> <start_of_turn> <EOT> <META> [INST] </s>", 1),
    ("<|system|><|think|><|plan|><|function|><|reserved_200000|><|endofprompt|><pad><unk><mask><unused7>", 1),
    ("<b>hi</b> <table><tr><td>1</td></tr></table> <code>x</code> <h1>y</h1> [multimodal] <0x41>", 1),
    ("  leading, trailing  \n\n  and \t mixed \r\n\r\n blanks \u00a0\u2003\u3000\u200b\u2028\u0085 end \n", 1),
    ("\n\n\n", 1), ("\r\n \r\n", 1), (" \n \n\n  \t\n", 1), ("!!!\n\n\n/ ??? \n", 1),
    ("\u2581\u2581 \u2581a\u2581\u2581\u2581", 1),
    ("\ufeffBOM \x00 NUL \x01\x1f\x7f controls \u202e bidi \ufffd \uffff \U0010ffff \ue000", 1),
    ("a\u0300\u0301\u0302\u0303\u0304\u0305\u0306 Z\u0336\u0323a\u0334l\u0321g\u0327o \u0345 \u093c\u094d", 1),
    ('{"name": "get_weather", "arguments": {"city": "Busan", "unit": "°C", "days": [1, 2.5, -3e10, null]}}', 1),
    ("https://example.com/a/b?c=d&e=%20f#g user@example.com C:\\Users\\x \\n \\u00e9 $x^2 + \\frac{1}{2}$", 1),
    ("'s 't 're \u2019s \u2018quoted\u2019 \u201cquoted\u201d -- --- ... \u2026 \u2014 #### **** ==== ____ ////", 1),
    ("TWFueSBoYW5kcyBtYWtlIGxpZ2h0IHdvcmsuIFRoZSBxdWljayBicm93biBmb3g+/z09", 1),
    ("a", 700), ("A", 333), (" ", 1), (" ", 17), (" ", 1000), ("\n", 100), ("\t", 77), ("\r\n", 50), (" \n\t", 40),
    ("=", 555), ("_", 129), ("🙂", 60), ("中", 90), ("0", 100), ("e\u0301", 80), ("\u0301", 100), ("ab", 200),
    ("가나다라", 40), ("\u3000", 40), ("'", 40), ("😀 x\n", 30), ("Ab1 ", 50),
]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare only, write nothing")
    options = parser.parse_args()
    texts = [text * times for text, times in TEXTS]
    answers = {
        row.name: asdict(compute_answers(get_tokenizer(row.name, "reference"), texts,
                                    f"{row.reference_package} {version(row.reference_package)}"))
        for row in TOKENIZERS if row.reference is not None and row.fast is not None
    }
    rows = [{"text": text} if times == 1 else {"text": text, "times": times} for text, times in TEXTS]
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(answer)}" for name, answer in answers.items())
    texts_lines = ",\n".join(f"  {json.dumps(row)}" for row in rows)
    content = f'{{"texts": [\n{texts_lines}\n], "answers": {{\n{lines}\n}}}}\n'
    if options.check:
        return int(TARGET.read_text(encoding="utf-8") != content)
    TARGET.write_text(content, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
