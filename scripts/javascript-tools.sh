#!/usr/bin/env bash
# Installs what tries the JavaScript side from npm into `.cache/javascript`: Node 22 and 24, Deno, Bun, and the MCP inspector.
# Does nothing when the pinned versions are there. Needs npm, and the network the first time.
set -euo pipefail
cd "$(dirname "$0")/.."

packages='node22@npm:node@22.23.3 node24@npm:node@24.21.0 deno@2.9.6 bun@1.4.5 @modelcontextprotocol/inspector@2.12.0'
folder="$PWD/.cache/javascript"
mkdir -p "$PWD/.cache"
exec 9>"$PWD/.cache/javascript.lock"
flock 9
[ "$(cat "$folder/version" 2>/dev/null)" = "$packages" ] && exit 0

rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
echo '{"private": true, "allowScripts": {"node": true, "deno": true, "bun": true}}' >package.json
# shellcheck disable=SC2086 # a list of packages
npm install --no-audit --no-fund --loglevel=error $packages
echo "$packages" >version
