"""Open models: what their published chat templates make of a request.

The twin of a rendering is the template's own text, read by the model's vocabulary with control tokens recognised.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cache

import pytest
import splintr

from service.families.base import Family
from service.families.open_models import FAMILIES
from service.renderers.plain import MAX_IMAGE, render
from service.types import (
    Document,
    Media,
    Message,
    OutputFormat,
    Part,
    Prompt,
    Rendering,
    Role,
    SearchResult,
    Text,
    Thinking,
    Tool,
    ToolAddition,
    ToolCall,
    ToolReference,
    ToolResult,
    Unknown,
)
from tests.media.media_files import docx, pdf, png, wav

VOCABULARIES = {"kimi": "kimi_k2"}


@dataclass(frozen=True)
class Model:
    family: Family


def model(name: str) -> Model:
    return Model(next(family for family in FAMILIES if family.name == name))


def vocabulary(name: str) -> splintr.AnyTokenizer:
    return loaded(model(name).family.tokenizer)


@cache
def loaded(tokenizer: str) -> splintr.AnyTokenizer:
    return splintr.Tokenizer.from_pretrained(VOCABULARIES.get(tokenizer, tokenizer))


def by_section(name: str, rendering: Rendering) -> dict[str, int]:
    """Tokens by section, as the counter adds them up."""
    read, out = vocabulary(name), dict[str, int]()
    for segment in rendering.segments:
        text = before = ""
        for section, span in segment.spans:
            text += span
            out[section] = out.get(section, 0) + len(read.encode_ordinary(text)) - len(read.encode_ordinary(before))
            before = text
    for cost in rendering.overheads:
        out[cost.section] = out.get(cost.section, 0) + cost.tokens
    return out


def count(name: str, prompt: Prompt) -> int:
    return sum(by_section(name, render(prompt, model(name))).values())


def say(*turns: tuple[Role, str], system: str = "", tools: tuple[Tool, ...] = ()) -> Prompt:
    messages = tuple(Message(role, (Text(text),)) for role, text in turns)
    return Prompt(messages, system=(Text(system),) if system else (), tools=tools)


HELLO = say(("user", "hello"))
CHAT = say(("user", "What is 2 + 2?"), ("assistant", "Four."), ("user", "Thanks!\n"), system="Be terse.")


@pytest.mark.parametrize(("name", "tokens"), [
    ("llama-3.1", 36),  # what hosts of Llama 3.1 and 3.3 answer as prompt_tokens
    ("llama-3", 11), ("qwen-2", 20), ("qwen-2.5", 30), ("qwen-3", 9), ("phi-4", 8), ("deepseek-v3", 4),
    ("kimi-k2", 26), ("glm-4.5", 6), ("mistral-nemo", 4),
])
def test_one_word_costs_the_published_frame(name: str, tokens: int) -> None:
    assert count(name, HELLO) == tokens


@pytest.mark.parametrize(("name", "text"), [
    ("llama-3",
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nBe terse.<|eot_id|>"
     "<|start_header_id|>user<|end_header_id|>\n\nWhat is 2 + 2?<|eot_id|>"
     "<|start_header_id|>assistant<|end_header_id|>\n\nFour.<|eot_id|>"
     "<|start_header_id|>user<|end_header_id|>\n\nThanks!<|eot_id|>"
     "<|start_header_id|>assistant<|end_header_id|>\n\n"),
    ("llama-3.1",
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: December 2023\n"
     "Today Date: 26 Jul 2024\n\nBe terse.<|eot_id|>"
     "<|start_header_id|>user<|end_header_id|>\n\nWhat is 2 + 2?<|eot_id|>"
     "<|start_header_id|>assistant<|end_header_id|>\n\nFour.<|eot_id|>"
     "<|start_header_id|>user<|end_header_id|>\n\nThanks!<|eot_id|>"
     "<|start_header_id|>assistant<|end_header_id|>\n\n"),
    ("qwen-3",
     "<|im_start|>system\nBe terse.<|im_end|>\n<|im_start|>user\nWhat is 2 + 2?<|im_end|>\n"
     "<|im_start|>assistant\nFour.<|im_end|>\n<|im_start|>user\nThanks!\n<|im_end|>\n<|im_start|>assistant\n"),
    ("qwen-3-thinking",
     "<|im_start|>system\nBe terse.<|im_end|>\n<|im_start|>user\nWhat is 2 + 2?<|im_end|>\n"
     "<|im_start|>assistant\nFour.<|im_end|>\n<|im_start|>user\nThanks!\n<|im_end|>\n<|im_start|>assistant\n<think>\n"),
    ("deepseek-v3",
     "<｜begin▁of▁sentence｜>Be terse.<｜User｜>What is 2 + 2?<｜Assistant｜>Four.<｜end▁of▁sentence｜>"
     "<｜User｜>Thanks!\n<｜Assistant｜>"),
    ("deepseek-v3.1",
     "<｜begin▁of▁sentence｜>Be terse.<｜User｜>What is 2 + 2?<｜Assistant｜></think>Four.<｜end▁of▁sentence｜>"
     "<｜User｜>Thanks!\n<｜Assistant｜></think>"),
    ("deepseek-r1",
     "<｜begin▁of▁sentence｜>Be terse.<｜User｜>What is 2 + 2?<｜Assistant｜>Four.<｜end▁of▁sentence｜>"
     "<｜User｜>Thanks!\n<｜Assistant｜><think>\n"),
    ("kimi-k2",
     "<|im_system|>system<|im_middle|>Be terse.<|im_end|><|im_user|>user<|im_middle|>What is 2 + 2?<|im_end|>"
     "<|im_assistant|>assistant<|im_middle|>Four.<|im_end|><|im_user|>user<|im_middle|>Thanks!\n<|im_end|>"
     "<|im_assistant|>assistant<|im_middle|>"),
    ("phi-4",
     "<|im_start|>system<|im_sep|>Be terse.<|im_end|><|im_start|>user<|im_sep|>What is 2 + 2?<|im_end|>"
     "<|im_start|>assistant<|im_sep|>Four.<|im_end|><|im_start|>user<|im_sep|>Thanks!\n<|im_end|>"
     "<|im_start|>assistant<|im_sep|>"),
    ("glm-4.5",
     "[gMASK]<sop><|system|>\nBe terse.<|user|>\nWhat is 2 + 2?<|assistant|>\n<think></think>\nFour."
     "<|user|>\nThanks!\n<|assistant|>"),
    ("mistral-nemo",
     "<s>[INST]Be terse.\n\nWhat is 2 + 2?[/INST]Four.</s>[INST]Thanks!\n[/INST]"),
])
def test_a_conversation_costs_what_its_template_does(name: str, text: str) -> None:
    assert count(name, CHAT) == len(vocabulary(name).encode(text))


@pytest.mark.parametrize(("name", "turns"), [
    ("llama-2", ["[INST] <<SYS>>\nBe terse.\n<</SYS>>\n\nWhat is 2 + 2? [/INST]", "Four.", "[INST] Thanks! [/INST]"]),
    ("mistral-v1", ["[INST] Be terse.\n\nWhat is 2 + 2? [/INST]", "Four.", "[INST] Thanks!\n [/INST]"]),
])
def test_instructions_in_plain_text(name: str, turns: list[str]) -> None:
    read = vocabulary(name)
    bos = 1 if name == "mistral-v1" else 2
    assert count(name, CHAT) == bos + 1 + sum(len(read.encode_ordinary(turn)) for turn in turns)


@pytest.mark.parametrize("name", [family.name for family in FAMILIES])
def test_sections_and_method_of_every_family(name: str) -> None:
    rendering = render(CHAT, model(name))
    assert rendering.rules == f"{name}/chat"
    assert not rendering.uncounted
    details = by_section(name, rendering)
    assert set(details) <= {"system", "messages", "frame"}
    assert details["system"] > 0
    assert details["messages"] >= 7


@pytest.mark.parametrize("name", [family.name for family in FAMILIES])
def test_a_system_prompt_costs_the_same_apart_or_as_a_message(name: str) -> None:
    apart = say(("user", "hello"), system="Be terse.")
    inside = say(("system", "Be terse."), ("user", "hello"))
    assert count(name, apart) == count(name, inside)
    developer = replace(inside, messages=(replace(inside.messages[0], role="developer"), inside.messages[1]))
    assert count(name, developer) == count(name, inside)


WEATHER = Tool("get_weather", "Get the weather", {"type": "object", "properties": {"city": {"type": "string"}}})
WRITTEN = {
    "type": "function",
    "function": {"name": "get_weather", "description": "Get the weather", "parameters": WEATHER.parameters},
}


def test_tools_as_qwen_writes_them() -> None:
    with_tools = say(("user", "hello"), system="Be terse.", tools=(WEATHER, replace(WEATHER, name="get_time")))
    text = (
        "<|im_start|>system\nBe terse.\n\n# Tools\n\nYou may call one or more functions to assist with the user query."
        "\n\nYou are provided with function signatures within <tools></tools> XML tags:\n<tools>\n"
        + json.dumps(WRITTEN) + "\n" + json.dumps(WRITTEN).replace("get_weather", "get_time")
        + "\n</tools>\n\nFor each function call, return a json object with function name and arguments within "
        '<tool_call></tool_call> XML tags:\n<tool_call>\n{"name": <function-name>, "arguments": <args-json-object>}\n'
        "</tool_call><|im_end|>\n<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\n"
    )
    # The template joins the system text and the heading, which costs one token less here.
    assert count("qwen-3", with_tools) - len(vocabulary("qwen-3").encode(text)) in (0, 1)


def test_tools_as_kimi_writes_them() -> None:
    with_tools = say(("user", "hello"), system="Be terse.", tools=(WEATHER,))
    tools = json.dumps([WRITTEN], separators=(",", ":"))
    text = (
        f"<|im_system|>tool_declare<|im_middle|>{tools}<|im_end|><|im_system|>system<|im_middle|>Be terse.<|im_end|>"
        "<|im_user|>user<|im_middle|>hello<|im_end|><|im_assistant|>assistant<|im_middle|>"
    )
    assert count("kimi-k2", with_tools) == len(vocabulary("kimi-k2").encode(text))


def test_calls_and_results_as_qwen_writes_them() -> None:
    call = ToolCall("get_weather", {"city": "Zürich"}, call_id="c1")
    history = Prompt((
        Message("user", (Text("hello"),)),
        Message("assistant", (call,)),
        Message("tool", (ToolResult("c1", "get_weather", (Text("sunny"),)),)),
    ))
    text = (
        "<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\n<tool_call>\n"
        '{"name": "get_weather", "arguments": {"city": "Zürich"}}\n</tool_call><|im_end|>\n'
        "<|im_start|>user\n<tool_response>\nsunny\n</tool_response><|im_end|>\n<|im_start|>assistant\n"
    )
    assert abs(count("qwen-3", history) - len(vocabulary("qwen-3").encode(text))) <= 1


@pytest.mark.parametrize("name", [family.name for family in FAMILIES])
@pytest.mark.parametrize("part", [
    ToolCall("get_weather", {"city": "Bern", "days": [1, None, True]}), ToolResult("c", "f", (Text("sunny today"),)),
    ToolResult("c", "f", (), value={"weather": "sunny"}), Document((Text("a document"),), title="Title"),
    SearchResult("https://example.org", "A page", (Text("its text"),)), ToolReference("get_weather"),
    ToolAddition((WEATHER,)), Unknown("hologram", {"depth": [1, 2]}), Text("more words"),
], ids=lambda part: type(part).__name__)
def test_every_part_moves_the_count(name: str, part: Part) -> None:
    base = Prompt((Message("user", (Text("hello"),)),), tools=(WEATHER,))
    longer = replace(base, messages=(Message("user", (Text("hello"), part)),))
    assert count(name, longer) > count(name, base)


def test_an_unknown_part_is_listed() -> None:
    part = Unknown("hologram", {}, path="messages[0].content[0]")
    rendering = render(Prompt((Message("user", (part,)),)), model("qwen-3"))
    assert [(item.path, item.kind) for item in rendering.uncounted] == [("messages[0].content[0]", "hologram")]


def test_thinking_of_earlier_turns_is_doubted_not_counted() -> None:
    base = Prompt((Message("assistant", (Text("Four."),)),))
    thought = Prompt((Message("assistant", (Thinking("Two and two. " * 30), Text("Four."))),))
    assert count("qwen-3", thought) == count("qwen-3", base)
    assert render(thought, model("qwen-3")).doubts[0].high > 100


def test_a_schema_is_doubted() -> None:
    prompt = replace(HELLO, output=OutputFormat("json_schema", schema={"type": "object"}))
    assert [doubt.low for doubt in render(prompt, model("llama-3.1")).doubts] == [0]


def media(kind: str, **facts: object) -> Prompt:
    part = Media(kind, facts.pop("mime", ""), path="messages[0].content[1]", **facts)  # type: ignore[arg-type]
    return Prompt((Message("user", (Text("Look: "), part, Text("what is it?"))),))


@pytest.mark.parametrize(("prompt", "tokens"), [
    (media("image", data=png(560, 280)), 20 * 10 + 2),
    (media("image", size=(560, 280)), 20 * 10 + 2),
    (media("image", data=png(1, 1)), 64),
    (media("image", size=(9_000, 9_000)), MAX_IMAGE),
    (media("image", reference="https://example.org/a.png"), MAX_IMAGE),
    (media("audio", data=wav(2.5)), 63),
    (media("audio", seconds=10.0), 250),
    (media("video", seconds=2.0), 600),
    (media("video", data=b"?"), 16_384),
    (media("document", page_sizes=((612.0, 792.0),) * 2), 3_000),
    (media("document", text_chars=300), 100),
    (media("file", data=b"\x00\x01"), 4_096),
])
def test_a_file_counts_a_stated_bound(prompt: Prompt, tokens: int) -> None:
    rendering = render(prompt, model("qwen-2.5"))
    assert by_section("qwen-2.5", rendering)["media"] == tokens
    assert [(item.path, item.assumed_tokens) for item in rendering.uncounted] == [("messages[0].content[1]", tokens)]


@pytest.mark.parametrize("data", [pdf((612.0, 792.0, "Hello there")), docx("Hello there"), b"Hello there"])
def test_the_text_of_a_document_is_counted(data: bytes) -> None:
    mime = "application/pdf" if data[:1] == b"%" else "text/plain"
    rendering = render(media("document", mime=mime, data=data), model("qwen-3"))
    assert by_section("qwen-3", rendering)["media"] == 2
    assert len(rendering.uncounted) == 1


def test_bare_prompts_have_no_frame() -> None:
    prompt = Prompt((Message("user", (Text("Once upon a time"),)),), dialect="openai.completions")
    assert count("llama-3.1", prompt) == 1 + 4
    assert count("llama-3.1", replace(prompt, dialect="openai.embeddings")) == 4


@pytest.mark.parametrize("name", [family.name for family in FAMILIES])
def test_emptiness_costs_the_frame(name: str) -> None:
    assert 0 <= count(name, Prompt(())) <= count(name, say(("user", ""))) <= count(name, HELLO)
    only_system = Prompt((), system=(Text("Be terse, and be kind. " * 9),))
    assert count(name, only_system) > count(name, Prompt(()))


@pytest.mark.parametrize("name", ["llama-2", "qwen-3"])
def test_many_messages_take_linear_time(name: str) -> None:
    many = Prompt(tuple(Message("system", (Text("Be terse."),)) for _ in range(40_000)))
    assert len("".join(segment.text for segment in render(many, model(name)).segments)) >= 9 * 40_000


def test_a_deferred_tool_comes_in_once() -> None:
    late = replace(WEATHER, deferred=True)
    base = Prompt((Message("user", (Text("hello"),)),), tools=(late,))
    assert count("qwen-3", base) == count("qwen-3", HELLO)
    once = replace(base, messages=(Message("user", (Text("hello"), ToolReference("get_weather"))),))
    twice = replace(base, messages=(Message("user", (Text("hello"), *[ToolReference("get_weather")] * 2)),))
    assert count("qwen-3", once) > count("qwen-3", base) + 30
    assert 0 < count("qwen-3", twice) - count("qwen-3", once) < 5


def test_rules_of_another_renderer_are_refused() -> None:
    with pytest.raises(TypeError, match="no rules of this renderer"):
        render(HELLO, Model(replace(FAMILIES[0], rules=None)))
