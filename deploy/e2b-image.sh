#!/usr/bin/env bash
# Writes an image for programs for E2B to standard output, as a tar file of its root: Debian with what their sandboxes have, the
# user `user`, and the code interpreter (docs/e2b.md). Needs mmdebstrap; other packages of Debian may be named as arguments.
set -euo pipefail

packages=(
  bash ca-certificates curl git less ncurses-bin openssl procps attr unzip
  nodejs python3 python3-pip python3-venv python-is-python3
  python3-ipykernel python3-jupyter-client python3-matplotlib python3-pandas python3-pil
)
include="$(IFS=, && echo "${packages[*]}")"
for name in "$@"; do include+=",$name"; done

# A sandbox has one user. Its container gives it no new privileges, so sudo runs its arguments as the same user.
read -r -d '' sudo <<'EOF' || true
#!/bin/sh
shell=
while [ $# -gt 0 ]; do
  case $1 in
    --) shift; break ;;
    -u | --user) [ "${2-}" = root ] || [ "${2-}" = user ] || { echo "sudo: unknown user ${2-}" >&2; exit 1; }; shift 2 ;;
    -[CDghpRrTtU]) shift; [ $# -eq 0 ] || shift ;;
    -i | -s | --login | --shell) shell=${SHELL:-/bin/sh}; shift ;;
    -*) shift ;;
    *) break ;;
  esac
done
if [ $# -eq 0 ]; then exec ${shell:-true}; fi
if [ -n "$shell" ]; then exec "$shell" -c "$*"; fi
exec env "$@"
EOF
export SUDO="$sudo"

mmdebstrap --quiet --variant=minbase --format=tar --include="$include" \
  --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
  --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/info/*' \
  --customize-hook='chroot "$1" useradd --create-home --shell /bin/bash --uid 1000 user' \
  --customize-hook='printf "%s\n" "$SUDO" > "$1/usr/local/bin/sudo" && chmod 755 "$1/usr/local/bin/sudo"' \
  --customize-hook='chroot "$1" chown user:user /root /run /opt /srv /usr/local' \
  --customize-hook='rm -rf "$1"/var/cache/apt/* "$1"/var/lib/apt/lists/*' \
  "${SVC_E2B_SUITE:-bookworm}" -
