#!/usr/bin/env bash
# Makes the images that container tests run, as tars of a root file system: no registry is asked. Made again only when
# this file changes. `.cache/test-images` holds them.
set -euo pipefail
cd "$(dirname "$0")/.."

folder="$PWD/.cache/test-images"
mkdir -p "$folder"
stamp="$(sha256sum scripts/test-images.sh | cut -c1-16)"
exec 9>"$folder/lock"
flock 9
[ "$(cat "$folder/stamp" 2>/dev/null)" = "$stamp" ] && exit 0

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

# One static program under all its names.
busybox() {
  mkdir -p "$work/busybox"/{bin,dev,etc,proc,sys,tmp,root}
  chmod 1777 "$work/busybox/tmp"
  cp /bin/busybox "$work/busybox/bin/busybox"
  for name in $(/bin/busybox --list); do
    [ "$name" = busybox ] || ln -s busybox "$work/busybox/bin/$name"
  done
  echo 'root:x:0:0:root:/root:/bin/sh' >"$work/busybox/etc/passwd"
  echo 'root:x:0:' >"$work/busybox/etc/group"
  tar -C "$work/busybox" --numeric-owner --owner=0 --group=0 -cf "$folder/busybox.tar.new" .
}

# Debian as this host has it: a Python with its own suite, a C compiler, dpkg, an editor.
debian() {
  local version suite
  version="$(/usr/bin/python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')"
  suite="$(. /etc/os-release && echo "$VERSION_CODENAME")"
  mmdebstrap --quiet --variant=minbase --mode=root --format=tar \
    --include="python3,libpython$version-testsuite,gcc,libc6-dev,vim-tiny" \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/info/*' \
    --customize-hook='rm -rf "$1"/var/cache/apt/* "$1"/var/lib/apt/lists/*' \
    "$suite" - >"$folder/debian.tar.new"
}

echo 'Making test images …' >&2
busybox
debian
for image in busybox debian; do mv "$folder/$image.tar.new" "$folder/$image.tar"; done
echo "$stamp" >"$folder/stamp"
