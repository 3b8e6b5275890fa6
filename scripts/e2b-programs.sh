#!/usr/bin/env bash
# Installs programs of others that use the SDKs of E2B, from PyPI and npm, into `.cache/e2b-programs`. Does nothing when the pinned
# versions are there. Needs python3 with venv, npm, and the network the first time.
set -euo pipefail
cd "$(dirname "$0")/.."

python="smolagents[e2b]==1.26.0 agno==3.1.10 code-sandbox-mcp==0.1.0 mcp==1.30.0 e2b==2.63.0 e2b-code-interpreter==2.11.5"
javascript="@computesdk/e2b@1.7.52 @mastra/e2b@0.8.0 @mastra/core@1 ez-devbox@0.7.2 e2b@2.51.0"
folder="$PWD/.cache/e2b-programs"
mkdir -p "$PWD/.cache"
exec 9>"$PWD/.cache/e2b-programs.lock"
flock 9
[ "$(cat "$folder/packages" 2>/dev/null)" = "$python $javascript" ] && exit 0

rm -rf "$folder"
mkdir -p "$folder"
python3 -m venv "$folder/python"
# shellcheck disable=SC2086 # lists of packages
"$folder/python/bin/pip" install --quiet --disable-pip-version-check --retries 2 --timeout 15 $python
cd "$folder"
echo '{"private": true}' >package.json
# shellcheck disable=SC2086
npm install --no-audit --no-fund --ignore-scripts --loglevel=error $javascript
echo "$python $javascript" >packages
