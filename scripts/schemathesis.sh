#!/usr/bin/env bash
# Installs schemathesis from PyPI into `.cache/schemathesis`, a Python environment of its own. Does nothing when the pinned
# version is there. Needs python3 with venv, and the network the first time.
set -euo pipefail
cd "$(dirname "$0")/.."

version=4.32.5
folder="$PWD/.cache/schemathesis"
mkdir -p "$PWD/.cache"
exec 9>"$PWD/.cache/schemathesis.lock"
flock 9
[ "$(cat "$folder/version" 2>/dev/null)" = "$version" ] && exit 0

rm -rf "$folder"
python3 -m venv "$folder"
"$folder/bin/pip" install --quiet --disable-pip-version-check --retries 2 --timeout 15 "schemathesis==$version"
echo "$version" >"$folder/version"
