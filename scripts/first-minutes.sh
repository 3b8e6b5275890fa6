#!/usr/bin/env bash
# What a newcomer sees of `npm start`, and when: in a clean clone with a home and a cache of its own, each line with the
# seconds since the start. Ends with Ctrl-C when everything was shown, and leaves nothing.
set -euo pipefail
project="$(cd "$(dirname "$0")/.." && pwd)"
place="$(mktemp -d /var/tmp/svc-first-minutes-XXXXXX)"
trap 'rm -rf "$place"' EXIT
git clone --quiet "$project" "$place/svc"
mkdir "$place/home"
cd "$place/svc"

stamped() {
  local line start=$EPOCHREALTIME
  while IFS= read -r line; do
    awk -v from="$start" -v to="$EPOCHREALTIME" -v line="$line" 'BEGIN { printf "%7.1f  %s\n", to - from, line }'
    case $line in 'Ctrl-C stops the server.'*) kill -INT "$(cat "$place/pid")" ;; esac
  done
}

env HOME="$place/home" SVC_SERVER_PORT="${SVC_SERVER_PORT:-7423}" bash -c 'echo $$ >"$0"; exec npm start' "$place/pid" \
  2>&1 </dev/null | stamped
