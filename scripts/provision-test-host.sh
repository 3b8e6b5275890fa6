#!/usr/bin/env bash
# Installs the Debian packages that the tests use and this host lacks. Starts nothing: tests start engines of their own.
set -euo pipefail

packages=(bubblewrap slirp4netns gcc libc6-dev make python3 python3-venv util-linux mandoc)
packages+=(docker.io runsc podman proot busybox-static mmdebstrap dpkg-dev)
# Another unpacker of image layers, and a program that makes archives of images.
packages+=(umoci skopeo)
# The kernel of the code interpreter, and what its charts and tables are made with.
packages+=(python3-ipykernel python3-matplotlib python3-pandas)
# The agent for arm64, built and run.
packages+=(gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static)
packages+=(systemd zsh fish)
packages+=(iproute2 iptables procps openssl ca-certificates tmux vim-tiny)
# promtool, which checks metrics, alert rules and the text of both.
packages+=(prometheus)
# A monitor of virtual machines, and the kernel that runs in them.
packages+=(qemu-system-x86 linux-image-cloud-amd64 e2fsprogs xz-utils zstd bzip2 lz4)
# Proxies and a browser, which meet the service as they would outside.
packages+=(caddy nginx-light chromium)
# A second database. The tests run servers of their own.
packages+=(postgresql)
# The suite of the interpreter that /usr/bin/python3 is: its package carries the version in its name.
packages+=("libpython$(/usr/bin/python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null || echo 3)-testsuite")
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
[ "${#missing[@]}" = 0 ] && exit 0

echo "Installing ${missing[*]} …" >&2
# No service of a new package is started.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod +x "$policy"
  trap 'rm -f "$policy"' EXIT
fi
export DEBIAN_FRONTEND=noninteractive
# Wait for another installation that is in progress.
apt-get -o DPkg::Lock::Timeout=600 update -qq
apt-get -o DPkg::Lock::Timeout=600 install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
