#!/usr/bin/env bash
# Runs a command in process, mount and IPC namespaces of its own, with its own temporary folder and run folder: suites that
# run side by side cannot see or stop each other's processes. The network is shared: some tests download programs. Needs root.
set -euo pipefail
root="$(cd "$(dirname "$0")/.." && pwd)"
temporary="$(mktemp -d /var/tmp/svc-test-lane-XXXXXX)"
trap 'rm -rf --one-file-system "$temporary"' EXIT
chmod 1777 "$temporary"
# A clone that lies in /tmp has to stay visible.
case "$root/" in /tmp/*) temporary_is_private=false ;; *) temporary_is_private=true ;; esac
export temporary temporary_is_private
unshare --pid --fork --kill-child --mount --mount-proc --ipc --propagation private -- bash -euc '
  if $temporary_is_private; then mount --bind "$temporary" /tmp; fi
  unset temporary temporary_is_private
  mkdir -p /run/svc /run/netns
  for folder in /run/svc /run/netns; do mount -t tmpfs -o mode=755 tmpfs "$folder"; done
  # Names that tests make of process ids differ from those of other lanes.
  echo $((1000 + RANDOM % 30000)) >/proc/sys/kernel/ns_last_pid
  # This shell stays process 1 and reaps what loses its parent; a killed engine would otherwise never end.
  status=0
  "$@" || status=$?
  exit "$status"' lane "$@"
