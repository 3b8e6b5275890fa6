#!/usr/bin/env bash
# Unpacks the programs of Debian packages that tests run (test/support/hosts/debian-program.ts): lanes have no network.
set -euo pipefail
cd "$(dirname "$0")"

for program in docker-registry buildah 'haproxy haproxy' 'patroni patroni etcd-server python3-etcd'; do
  read -ra words <<<"$program"
  bash debian-program.sh "${words[@]}"
done
