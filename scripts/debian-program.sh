#!/usr/bin/env bash
# Unpacks Debian packages into `.cache/NAME` without installing them: an installation might start them. Does nothing when they are
# there. Needs apt-get and dpkg-deb, and the network the first time.
#
#   debian-program.sh NAME             the package NAME alone
#   debian-program.sh NAME PACKAGE…    packages, with what they depend on and this host lacks
set -euo pipefail
cd "$(dirname "$0")/.."

name="$1"
shift
folder="$PWD/.cache/$name"
mkdir -p "$PWD/.cache"
exec 9>"$PWD/.cache/$name.lock"
flock 9
[ "$(cat "$folder/.packages" 2>/dev/null)" = "$name $*" ] && exit 0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/archives/partial" "$work/root"
if [ $# = 0 ]; then
  (cd "$work/archives" && apt-get -qq -o APT::Sandbox::User=root download "$name")
else
  apt-get -qq -y --no-install-recommends --download-only -o APT::Sandbox::User=root -o Debug::NoLocking=true \
    -o Dir::Cache::archives="$work/archives" install "$@" >/dev/null
fi
for archive in "$work"/archives/*.deb; do dpkg-deb -x "$archive" "$work/root"; done
echo "$name $*" >"$work/root/.packages"
rm -rf "$folder"
mv "$work/root" "$folder"
