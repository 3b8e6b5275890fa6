#!/usr/bin/env bash
# Installs the Python SDKs of E2B from PyPI into `.cache/e2b-python`, a Python environment of its own. Does nothing when the
# pinned versions are there. Needs python3 with venv, and the network the first time.
set -euo pipefail
cd "$(dirname "$0")/.."

packages="e2b==2.63.0 e2b-code-interpreter==2.11.5"
folder="$PWD/.cache/e2b-python"
mkdir -p "$PWD/.cache"
exec 9>"$PWD/.cache/e2b-python.lock"
flock 9
[ "$(cat "$folder/packages" 2>/dev/null)" = "$packages" ] && exit 0

rm -rf "$folder"
python3 -m venv "$folder"
# shellcheck disable=SC2086
"$folder/bin/pip" install --quiet --disable-pip-version-check --retries 2 --timeout 15 $packages
echo "$packages" >"$folder/packages"
