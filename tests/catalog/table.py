"""Spellings of models as platforms, gateways, SDKs and hubs write them: canonical id -> spellings of it.

Collected from documentation and issue threads of LiteLLM, OpenRouter, Portkey, pydantic-ai, LangChain, promptfoo, AWS,
Google Cloud, Azure, Fireworks, Cloudflare, Databricks and ollama, up to 2026-11.
"""

from __future__ import annotations

SPELLINGS: dict[str, str] = {
    "gpt-4o": (
        "openai/gpt-4o openai:gpt-4o openai:chat:gpt-4o openai-chat:gpt-4o OpenAI/GPT-4o gpt-4o-2024-08-06 "
        "gpt-4o-2024-11-20 openai/gpt-4o-2024-08-06 gpt-4o-20240806 azure/gpt-4o azure/eu/gpt-4o "
        "azure/us/gpt-4o-2024-08-06 azure/global-standard/gpt-4o azure_ai/gpt-4o openrouter/openai/gpt-4o "
        "openrouter/openai/gpt-4o:extended litellm_proxy/gpt-4o litellm_proxy/azure/gpt-4o github/gpt-4o "
        "github_copilot/gpt-4o @openai-prod/gpt-4o vercel_ai_gateway/openai/gpt-4o ft:gpt-4o:org::id "
        "ft:gpt-4o-2024-08-06:acme::abc123 ft:gpt-4o-2024-08-06:acme:suffix:abc:ckpt-step-90 "
        "azure/gpt-4o-2024-08-06.ft-0a1b2c helicone/gpt-4o"
    ),
    "gpt-4o-2024-05-13": "openai/gpt-4o-2024-05-13 gpt-4o-20240513",
    "gpt-4o-mini": (
        "gpt-4o-mini-2024-07-18 azure/gpt-4o-mini ft:gpt-4o-mini-2024-07-18:acme:name:id "
        "openrouter/openai/gpt-4o-mini-2024-07-18 azure/gpt-4o-mini-2024-07-18.ft-123"
    ),
    "chatgpt-4o-latest": "openai/chatgpt-4o-latest openrouter/openai/chatgpt-4o-latest",
    "gpt-3.5-turbo": (
        "gpt-35-turbo azure/gpt-35-turbo gpt-3.5-turbo-0125 azure/gpt-35-turbo-0125 ft:gpt-3.5-turbo:org::id "
        "ft:gpt-3.5-turbo-0125:org:name:id openrouter/openai/gpt-3.5-turbo"
    ),
    "gpt-3.5-turbo-16k": "azure/gpt-35-turbo-16k gpt-3.5-turbo-16k-0613",
    "gpt-3.5-turbo-0301": "openai/gpt-3.5-turbo-0301",
    "gpt-4": "gpt-4-0613 gpt-4-0314 azure/gpt-4-0613 openai/gpt-4",
    "gpt-4-turbo": "gpt-4-turbo-2024-04-09 azure/gpt-4-turbo",
    "gpt-4.1": "gpt-4.1-2025-04-14 azure/gpt-4-1 openrouter/openai/gpt-4.1 ft:gpt-4.1-2025-04-14:org::x",
    "gpt-4.1-mini": "gpt-4-1-mini azure/gpt-4.1-mini-2025-04-14",
    "gpt-4.1-nano": "gpt-4.1-nano-2025-04-14",
    "gpt-5": (
        "gpt-5-2025-08-07 gpt-5-20250807 openai/gpt-5 openai.responses/gpt-5 openai:responses:gpt-5 "
        "azure/gpt5_series/gpt-5 openrouter/openai/gpt-5-2025-08-07"
    ),
    "gpt-5-chat": "gpt-5-chat-latest openrouter/openai/gpt-5-chat",
    "gpt-5-mini": "gpt-5-mini-2025-08-07 azure/gpt-5-mini",
    "gpt-5.1": "openrouter/openai/gpt-5.1 gpt-5-1 gpt-5.1-2025-11-13 gpt-5-1-2025-11-13",
    "gpt-5.1-codex": "gpt-5-1-codex openai/gpt-5.1-codex",
    "gpt-5.2": "gpt-5.2-20251211 gpt-5.2-2025-12-11 azure/gpt-5.2",
    "gpt-5.4": "openai/gpt-5.4 gpt-5.4-2026-03-05 openai.gpt-5.4 bedrock/openai.gpt-5.4",
    "gpt-5.6-sol": "openai/gpt-5.6-sol us.openai.gpt-5.6-sol",
    "gpt-6-astra": "openrouter/openai/gpt-6-astra global.openai.gpt-6-astra",
    "gpt-6.1-sol": "openai/gpt-6.1-sol",
    "o1": "o1-2024-12-17 azure/o1",
    "o3-mini": "o3-mini-high o3-mini-2025-01-31 azure/o_series/o3-mini openrouter/openai/o3-mini-high",
    "o4-mini": "o4-mini-2025-04-16 azure/o4-mini",
    "gpt-oss-120b": (
        "openai/gpt-oss-120b groq/openai/gpt-oss-120b openai.gpt-oss-120b-1:0 bedrock/openai.gpt-oss-120b-1:0 "
        "fireworks_ai/accounts/fireworks/models/gpt-oss-120b @cf/openai/gpt-oss-120b ollama/gpt-oss:120b"
    ),
    "text-embedding-3-small": "openai/text-embedding-3-small azure/text-embedding-3-small",
    "claude-sonnet-4-5": (
        "claude-sonnet-4-5-20250929 claude-sonnet-4.5 anthropic/claude-sonnet-4-5 anthropic:claude-sonnet-4-5 "
        "anthropic:messages:claude-sonnet-4-5-20250929 us.anthropic.claude-sonnet-4-5-20250929-v1:0 "
        "eu.anthropic.claude-sonnet-4-5-20250929-v1:0 global.anthropic.claude-sonnet-4-5-20250929-v1:0 "
        "apac.anthropic.claude-sonnet-4-5-20250929-v1:0 bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0 "
        "bedrock/us-east-1/anthropic.claude-sonnet-4-5-20250929-v1:0 "
        "bedrock/converse/us.anthropic.claude-sonnet-4-5-20250929-v1:0 vertex_ai/claude-sonnet-4-5@20250929 "
        "claude-sonnet-4-5@20250929 google-vertex-anthropic/claude-sonnet-4-5@20250929 "
        "openrouter/anthropic/claude-sonnet-4.5 openrouter/anthropic/claude-sonnet-4.5:thinking "
        "claude-sonnet-4-5[1m] claude-sonnet-4-5-latest anthropic/claude-4.5-sonnet "
        "claude-4-5-sonnet-20250929 github_copilot/claude-sonnet-4.5"
    ),
    "claude-opus-4": (
        "claude-opus-4-20250514 claude-opus-4-0 claude-4-opus-20250514 vertex_ai/claude-opus-4@20250514 "
        "us.anthropic.claude-opus-4-20250514-v1:0 openrouter/anthropic/claude-opus-4"
    ),
    "claude-sonnet-4": (
        "claude-sonnet-4-20250514 claude-4-sonnet claude-sonnet-4-0 vertex_ai/claude-sonnet-4@20250514 "
        "github_copilot/claude-sonnet-4"
    ),
    "claude-opus-4-1": "claude-opus-4-1-20250805 claude-opus-4.1 anthropic.claude-opus-4-1-20250805-v1:0",
    "claude-opus-4-5": (
        "claude-opus-4-5-20251101 global.anthropic.claude-opus-4-5-20251101-v1:0 "
        "openrouter/anthropic/claude-opus-4.5:batch"
    ),
    "claude-opus-4-8": (
        "claude-opus-4.8 us.anthropic.claude-opus-4-8 anthropic.claude-opus-4-8-v1:0 "
        "openrouter/anthropic/claude-opus-4.8"
    ),
    "claude-haiku-4-5": "claude-haiku-4-5-20251001 us.anthropic.claude-haiku-4-5-20251001-v1:0 claude-haiku-4.5",
    "claude-haiku-5-5": "claude-haiku-5.5 vertex_ai/claude-haiku-5-5",
    "claude-opus-5": "claude-opus-5-latest us.anthropic.claude-opus-5 claude-5-opus",
    "claude-opus-5-5": "claude-opus-5.5 anthropic/claude-opus-5-5 global.anthropic.claude-opus-5-5",
    "claude-fable-5-1": "claude-fable-5.1 openrouter/anthropic/claude-fable-5.1",
    "claude-3-7-sonnet": (
        "claude-3-7-sonnet-20250219 claude-3-7-sonnet-latest claude-3.7-sonnet "
        "vertex_ai/claude-3-7-sonnet@20250219 anthropic.claude-3-7-sonnet@20250219 "
        "us.anthropic.claude-3-7-sonnet-20250219-v1:0 openrouter/anthropic/claude-3.7-sonnet:beta "
        "claude-sonnet-3-7"
    ),
    "claude-3-5-haiku": (
        "claude-3-5-haiku-20241022 claude-3-5-haiku-latest claude-3.5-haiku "
        "anthropic.claude-3-5-haiku-20241022-v1:0"
    ),
    "claude-3-haiku": (
        "bedrock/us-east-2/us.anthropic.claude-3-haiku-20240307-v1:0 anthropic.claude-3-haiku-20240307-v1:0 "
        "claude-3-haiku-20240307 litellm_proxy/bedrock/us-east-2/us.anthropic.claude-3-haiku-20240307-v1:0 "
        "arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-3-haiku-20240307-v1:0 "
        "bedrock/arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-3-haiku-20240307-v1:0 "
        "openrouter/anthropic/claude-3-haiku:beta anthropic.claude-3-haiku-20240307-v1:0:200k"
    ),
    "claude-3-opus": "claude-3-opus-20240229 claude-3-opus-latest vertex_ai/claude-3-opus@20240229",
    "claude-2.1": "anthropic.claude-v2:1 bedrock/anthropic.claude-v2:1:200k anthropic/claude-2.1",
    "claude-2": "anthropic.claude-v2 bedrock/us-east-1/1-month-commitment/anthropic.claude-v2",
    "gemini-2.5-flash": (
        "models/gemini-2.5-flash gemini/gemini-2.5-flash google/gemini-2.5-flash vertex_ai/gemini-2.5-flash "
        "google-gla:gemini-2.5-flash google-vertex:gemini-2.5-flash publishers/google/models/gemini-2.5-flash "
        "projects/my-project/locations/us-central1/publishers/google/models/gemini-2.5-flash "
        "openrouter/google/gemini-2.5-flash Gemini-2.5-Flash google_genai:gemini-2.5-flash "
        "github_copilot/gemini-2.5-flash"
    ),
    "gemini-2.5-pro": "models/gemini-2.5-pro openrouter/google/gemini-2.5-pro vertex_ai/gemini-2.5-pro",
    "gemini-2.5-pro-preview-05-06": (
        "gemini/gemini-2.5-pro-preview-05-06 openrouter/google/gemini-2.5-pro-preview-05-06"
    ),
    "gemini-2.0-flash": "gemini-2.0-flash-001 gemini/gemini-2.0-flash-001 openrouter/google/gemini-2.0-flash-001",
    "gemini-1.5-pro": (
        "gemini-pro-1.5 openrouter/google/gemini-pro-1.5 gemini-1.5-pro-002 vertex_ai/gemini-1.5-pro@001 "
        "models/gemini-1.5-pro-latest"
    ),
    "gemini-1.5-flash": "google/gemini-flash-1.5",
    "gemini-3.8-flash": "gemini-flash-latest models/gemini-flash-latest",
    "gemini-3-pro-preview": "google/gemini-3-pro-preview vertex_ai/gemini-3-pro-preview",
    "gemma-3-27b-it": (
        "google/gemma-3-27b-it models/gemma-3-27b-it google.gemma-3-27b-it "
        "openrouter/google/gemma-3-27b-it:free"
    ),
    "llama-3.1-8b-instruct": (
        "meta-llama/Llama-3.1-8B-Instruct meta-llama/Meta-Llama-3.1-8B-Instruct "
        "meta.llama3-1-8b-instruct-v1:0 us.meta.llama3-1-8b-instruct-v1:0 "
        "openrouter/meta-llama/llama-3.1-8b-instruct:free "
        "fireworks_ai/accounts/fireworks/models/llama-v3p1-8b-instruct "
        "accounts/fireworks/models/llama-v3p1-8b-instruct @cf/meta/llama-3.1-8b-instruct "
        "workers-ai/@cf/meta/llama-3.1-8b-instruct deepinfra/meta-llama/Meta-Llama-3.1-8B-Instruct "
        "ollama/llama3.1:8b-instruct databricks-meta-llama-3-1-8b-instruct "
        "hosted_vllm/meta-llama/Llama-3.1-8B-Instruct vertex_ai/meta/llama-3.1-8b-instruct-maas"
    ),
    "llama-3.3-70b-versatile": "groq/llama-3.3-70b-versatile",
    "llama-3-8b-instruct": "@cf/meta/llama-3-8b-instruct meta.llama3-8b-instruct-v1:0",
    "mistral-7b-instruct-v0.2": "mistral.mistral-7b-instruct-v0:2 mistralai/Mistral-7B-Instruct-v0.2",
    "mistral-large": "mistral/mistral-large-latest mistral-large-latest",
    "deepseek-chat": "deepseek/deepseek-chat deepseek:deepseek-chat",
    "deepseek-r1": (
        "us.deepseek.r1-v1:0 deepseek.r1-v1:0 deepseek-ai/DeepSeek-R1 openrouter/deepseek/deepseek-r1:free"
    ),
    "deepseek-v3.2": "fireworks_ai/accounts/fireworks/models/deepseek-v3p2 deepseek-ai/DeepSeek-V3.2",
    "qwen3-32b": "Qwen/Qwen3-32B cerebras/qwen-3-32b groq/qwen/qwen3-32b qwen.qwen3-32b-v1:0",
    "qwen2.5-72b-instruct": "Qwen/Qwen2.5-72B-Instruct openrouter/qwen/qwen-2.5-72b-instruct",
    "glm-4.6": "zai-org/GLM-4.6 z-ai/glm-4.6 openrouter/z-ai/glm-4.6",
    "kimi-k2.5": "moonshotai/kimi-k2.5 fireworks_ai/accounts/fireworks/models/kimi-k2p5",
    "phi-4": "microsoft/phi-4 ollama/phi4",
}
