#!/usr/bin/env bash
# Installs what builds and checks the Python client, and the official client of MCP, from PyPI into `.cache/python-client`, a Python environment of its own. Does
# nothing when the pinned versions are there. Needs python3 with venv, and the network the first time.
set -euo pipefail
cd "$(dirname "$0")/.."

# What the client needs on the oldest Python that it supports, and what builds its sdist there: tests install it without a network.
wheels='httpx==0.28.1 hatchling==1.27.0 exceptiongroup tomli typing_extensions'
tools='build==1.6.1 hatchling==1.33.0 httpx==0.28.1 mcp==2.3.0 mypy==2.4.1 pyright==1.1.414 ruff==0.17.6'
folder="$PWD/.cache/python-client"
mkdir -p "$PWD/.cache"
exec 9>"$PWD/.cache/python-client.lock"
flock 9
[ "$(cat "$folder/version" 2>/dev/null)" = "$tools $wheels" ] && exit 0

rm -rf "$folder"
python3 -m venv "$folder"
# shellcheck disable=SC2086 # a list of packages
"$folder/bin/pip" install --quiet --disable-pip-version-check --retries 2 --timeout 15 $tools
# shellcheck disable=SC2086
"$folder/bin/pip" download --quiet --disable-pip-version-check --retries 2 --timeout 15 --dest "$folder/wheels" \
  --only-binary :all: --python-version 3.9 $wheels
echo "$tools $wheels" >"$folder/version"
