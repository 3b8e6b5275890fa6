#!/usr/bin/env bash
# Writes an image for programs for E2B to standard output, as a tar file of its root: Debian with what their sandboxes have, the
# users `root` and `user`, and the code interpreter (docs/e2b.md). Needs mmdebstrap; other packages of Debian may be named as arguments.
set -euo pipefail

packages=(
  bash ca-certificates curl git less ncurses-bin openssl procps attr sudo unzip
  nodejs python3 python3-pip python3-venv python-is-python3
  python3-ipykernel python3-jupyter-client python3-matplotlib python3-pandas python3-pil
)
include="$(IFS=, && echo "${packages[*]}")"
for name in "$@"; do include+=",$name"; done

# Where containers give no new privileges nobody becomes another user, but root stays root, and a user that user.
read -r -d '' sudo <<'END' || true
#!/bin/sh
if ! grep -q '^NoNewPrivs:.*1' /proc/self/status; then exec /usr/bin/sudo "$@"; fi
shell=
who=root
while [ $# -gt 0 ]; do
  case $1 in
    --) shift; break ;;
    -u | --user) who=${2-}; shift; shift ;;
    --user=*) who=${1#--user=}; shift ;;
    -[CDghpRrTtU]) shift; [ $# -eq 0 ] || shift ;;
    -i | -s | --login | --shell) shell=${SHELL:-/bin/sh}; shift ;;
    -*) shift ;;
    *) break ;;
  esac
done
if ! id -u "$who" >/dev/null 2>&1; then echo "sudo: unknown user $who" >&2; exit 1; fi
if [ "$(id -u)" = 0 ]; then as="runuser -u $who --"
elif [ "$(id -un)" = "$who" ]; then as=
else
  echo "sudo: this sandbox gives no new privileges (providers.container.no_new_privileges); run the command as $who" >&2
  exit 1
fi
if [ $# -eq 0 ]; then set -- ${shell:-true}; fi
if [ -n "$shell" ]; then exec $as "$shell" -c "$*"; fi
exec $as env "$@"
END
export SUDO="$sudo"

mmdebstrap --quiet --variant=minbase --format=tar --include="$include" \
  --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
  --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/info/*' \
  --customize-hook='chroot "$1" useradd --create-home --shell /bin/bash --uid 1000 user' \
  --customize-hook='printf "user ALL=(ALL:ALL) NOPASSWD: ALL\n" > "$1/etc/sudoers.d/user" && chmod 440 "$1/etc/sudoers.d/user"' \
  --customize-hook='printf "%s\n" "$SUDO" > "$1/usr/local/bin/sudo" && chmod 755 "$1/usr/local/bin/sudo"' \
  --customize-hook='rm -rf "$1"/var/cache/apt/* "$1"/var/lib/apt/lists/*' \
  "${SVC_E2B_SUITE:-bookworm}" -
