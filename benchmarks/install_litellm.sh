#!/bin/sh
# Puts LiteLLM's proxy into an environment of its own for `make bench PARTS=litellm`: into the folder of the first
# argument, else $LITELLM_VENV, else tallystick-litellm in the folder for temporary files. Nothing else needs it.
# 1.82.7 and 1.82.8 were reported compromised (2026): never these.
set -eu
cd "$(dirname "$0")/.."
folder=${1:-${LITELLM_VENV:-${TMPDIR:-/tmp}/tallystick-litellm}}
[ -x "$folder/bin/litellm" ] && { echo "$folder"; exit 0; }
for uv in uv .uv/bin/uv "$HOME/.local/bin/uv"; do
    "$uv" --version >/dev/null 2>&1 && break
done
"$uv" venv --quiet --clear --python .venv/bin/python "$folder"
"$uv" pip install --quiet --python "$folder/bin/python" 'litellm[proxy]!=1.82.7,!=1.82.8'
echo "$folder"
