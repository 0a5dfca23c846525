"""Who serves a model: the prefixes that platforms, gateways and model hubs write before a model's name, as rows.

A row fits a whole name and leaves the rest of it. Then the rows are tried again on that rest: in
`litellm_proxy/bedrock/us-east-2/us.anthropic.…` three prefixes are removed. The spellings are from the documentation of
LiteLLM, OpenRouter, Portkey, Vercel AI Gateway, pydantic-ai, LangChain, promptfoo, AWS, Google Cloud and Azure up to
2026-11.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

UNLISTED = "unlisted"
"""The host of platforms that are in no price list."""

_MAX_PEELS = 6


@dataclass(frozen=True, slots=True)
class Host:
    """A row. `name` is shown to callers, `match` fits whole lower-case names, `to` is the rest (groups as in re).

    `provider_id` is the genai-prices provider that serves the model, and `listed` its name for the model. None means
    that the row does not say who serves it.
    """

    name: str
    match: re.Pattern[str]
    provider_id: str | None
    to: str = r"\1"
    listed: str = r"\1"


def _prefix(prefixes: str, provider_id: str | None, name: str = "") -> Host:
    """A row for a platform that writes `prefix/model` or `prefix:model`. Its name is `name` or the first of `prefixes`.

    A colon before a digit or `latest` belongs to an ollama tag (`mistral:7b`), not to a prefix.
    """
    names = prefixes.split()
    either = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    return Host(name or f"{names[0]}/", re.compile(rf"(?:{either})(?:/|:(?!\d|latest$))(.+)"), provider_id)


def _row(name: str, pattern: str, provider_id: str | None, to: str = r"\1", listed: str = r"\1") -> Host:
    return Host(name, re.compile(pattern), provider_id, to, listed)


_AWS_REGION = (
    r"(?:us|eu|ap|ca|sa|me|af|il|mx|us-gov)-"
    r"(?:central|north|south|east|west|northeast|southeast|northwest|southwest)-\d"
)
_GEOGRAPHY = r"(?:(?:us|eu|apac|ap|jp|au|ca|in|sa|me|us-gov|global)\.)?"
_VENDOR = (
    r"(?:ai21|amazon|anthropic|cohere|google|meta|minimax|mistral|moonshot|moonshotai|nvidia|openai|qwen|writer|zai)"
)

HOSTS: tuple[Host, ...] = (
    # Gateways that only pass a name on.
    _prefix(
        "litellm_proxy litellm helicone portkey requesty vercel vercel_ai_gateway vercel-ai-gateway gateway",
        None, "gateway",
    ),
    _row("gateway", r"@(?!cf/)[a-z0-9_-]{1,64}/(.+)", None),
    # Amazon Bedrock: ARNs and endpoint paths, then vendor-dotted ids with or without a geography.
    _row(
        "bedrock-arn",
        r"(?:bedrock[/:])?(?:converse/|invoke/)?"
        r"arn:aws(?:-[a-z]+)*:bedrock:[a-z0-9-]*:\d*:(?:foundation-model|inference-profile)/(.+)",
        "aws",
    ),
    _row(
        "bedrock/",
        r"(?:bedrock|bedrock_converse|bedrock_mantle|amazon-bedrock|amazon_bedrock|aws)[/:]"
        rf"(?:(?:converse|invoke|converse_like)/)?(?:{_AWS_REGION}/)?(?:\d-month-commitment/)?(.+)",
        "aws",
    ),
    _row("bedrock-id", rf"{_GEOGRAPHY}deepseek\.([rv]\d.*)", "aws", r"deepseek-\1", r"\g<0>"),
    _row("bedrock-id", rf"{_GEOGRAPHY}{_VENDOR}\.([a-z][^/]*)", "aws", r"\1", r"\g<0>"),
    # Google: resource names, Vertex AI, AI Studio.
    _row(
        "google-resource",
        r"(?:projects/[^/]+/)?(?:locations/[^/]+/)?publishers/[a-z0-9-]+/models/([^/]+)",
        "google",
    ),
    _row("models/", r"models/([^/]+)", "google"),
    _prefix(
        "vertex_ai vertex_ai_beta vertex vertexai google-vertex google_vertex google_vertexai google-vertex-anthropic",
        "google",
    ),
    _prefix("gemini google-gla google_genai google-genai google-ai-studio google_ai_studio googleai google", "google"),
    # Azure: deployments named like their model, by data zone.
    _row(
        "azure/",
        r"(?:azure|azure_ai|azure-openai|azure_openai|azure_text|azureopenai)[/:]"
        r"(?:(?:us|eu|global|global-standard|datazone|responses|gpt5_series|o_series)/)*(.+)",
        "azure",
    ),
    # Hosts of many makers' models; each has a price list of its own.
    _prefix("openrouter", "openrouter"),
    _prefix("together_ai together togetherai together-ai", "together"),
    _row(
        "fireworks/",
        r"(?:(?:fireworks_ai|fireworks|fireworks-ai)[/:])?accounts/fireworks/(?:models|routers)/([^/]+)",
        "fireworks",
    ),
    _prefix("fireworks_ai fireworks fireworks-ai", "fireworks"),
    _prefix("groq", "groq"),
    _prefix("cerebras", "cerebras"),
    _prefix("novita novita-ai", "novita"),
    _prefix("baseten", "baseten"),
    _prefix("ovhcloud", "ovhcloud"),
    _prefix("github_copilot github-copilot copilot", "github-copilot"),
    _row("cloudflare/", r"(?:(?:cloudflare|workers-ai|workersai)/)?@cf/(.+)", "cloudflare", r"\1", r"@cf/\1"),
    _row("databricks/", r"(?:databricks/)?databricks-(.+)", "databricks", r"\1", r"databricks-\1"),
    _prefix(
        "deepinfra github hosted_vllm vllm sambanova nvidia_nim hyperbolic nebius lm_studio lmstudio llamafile "
        "xinference ollama ollama_chat huggingface hf replicate sagemaker watsonx dashscope volcengine "
        "text-completion-openai",
        UNLISTED, "other-host",
    ),
    # Makers, as gateways and model hubs write them.
    _prefix(
        "openai openai-chat openai-responses openai_responses openai.chat openai.responses openai:chat "
        "openai:responses openai:completion openai:embedding",
        "openai",
    ),
    _prefix("anthropic anthropic_text anthropic:messages", "anthropic"),
    _prefix("mistral codestral text-completion-codestral", "mistral"),
    _prefix("deepseek", "deepseek"),
    _prefix("cohere cohere_chat", "cohere"),
    _prefix("x-ai xai", "x-ai"),
    _prefix("moonshotai moonshot", "moonshotai"),
    _prefix("z-ai zai zhipuai", "zai"),
    _prefix("perplexity", "perplexity"),
    # Organisations of model hubs: they name a maker, not who serves it.
    _prefix(
        "meta-llama meta mistralai qwen alibaba deepseek-ai zai-org thudm microsoft nvidia cohereforai coherelabs "
        "amazon minimax minimaxai baidu tencent ibm-granite ai21 nousresearch perplexity-ai openai-community",
        None, "model-hub",
    ),
)


@dataclass(frozen=True, slots=True)
class Hosted:
    """A name without its host. `listed_as` is its name at `provider_id`; `rules` names the rows that fitted."""

    name: str
    provider_id: str | None
    listed_as: str
    rules: tuple[str, ...]


NO_BASE = re.compile(
    r"tunedmodels/.+|(?:.*/)?(?:projects/[^/]+/)?(?:locations/[^/]+/)?endpoints/.+"
    r"|(?:bedrock/)?arn:aws.*:(?:application-inference-profile|provisioned-model|custom-model|imported-model)/.+"
)
"""Names of a caller's own resources. They do not say which model is behind them."""


def peel(name: str) -> Hosted:
    """`name` (lower-case ASCII) without its prefixes. The first row with a `provider_id` decides the price list.

    Takes linear time: every row fits the whole name, and every step makes the name shorter.
    """
    provider_id, listed_as, rules = None, name, []
    for _ in range(_MAX_PEELS):
        found = next(((row, fit) for row in HOSTS if (fit := row.match.fullmatch(name))), None)
        if found is None:
            break
        row, fit = found
        if provider_id is None:
            provider_id, listed_as = row.provider_id, fit.expand(row.listed)
        rules.append(row.name)
        name = fit.expand(row.to)
    return Hosted(name, provider_id, listed_as, tuple(rules))
