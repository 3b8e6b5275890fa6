#!/usr/bin/env bash
# `npm run verify`: provisions this host when it is Debian and we are root, builds, checks, and runs every suite with
# nothing skipped. The last line is `N passed, N failed`.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "$(id -u)" = 0 ] && [ -f /etc/debian_version ]; then
  bash scripts/provision-test-host.sh
  export SVC_TEST_REQUIRE=all
else
  echo 'Not root on Debian: testing with what this host has.' >&2
fi

# Compiling the database driver keeps one processor busy for a minute; downloads and images come beside it.
needed=()
if [ "${SVC_TEST_REQUIRE:-}" = all ]; then
  for part in test-images schemathesis python-tools; do
    bash "scripts/$part.sh" &
    needed+=($!)
  done
fi
node scripts/bootstrap.js
for part in "${needed[@]}"; do wait "$part"; done
npm run --silent types
npm run --silent lint
SVC_TEST_AGAIN=1 exec node scripts/test.js "$@"
