#!/usr/bin/env bash
# Unpacks Debian's registry of images into `.cache/docker-registry` without installing it: an installation would start it.
# Does nothing when it is there. Needs apt-get and dpkg-deb, and the network the first time.
set -euo pipefail
cd "$(dirname "$0")/.."

folder="$PWD/.cache/docker-registry"
mkdir -p "$PWD/.cache"
exec 9>"$PWD/.cache/docker-registry.lock"
flock 9
[ -x "$folder/usr/bin/docker-registry" ] && exit 0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$work" && apt-get -qq -o APT::Sandbox::User=root download docker-registry)
mkdir "$work/root"
dpkg-deb -x "$work"/docker-registry_*.deb "$work/root"
rm -rf "$folder"
mv "$work/root" "$folder"
