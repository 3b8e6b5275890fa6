#!/usr/bin/env bash
# Holds the namespaces in which a private dockerd and all that it starts live, and clears everything away when its owner
# is gone or it is told to end. Arguments: folder, pid of the owner, name of the cgroup. `$1/init` gets the pid to enter.
set -u
folder=$1 owner=$2 cgroup=$3

clear_away() {
  trap - EXIT
  trap '' TERM INT HUP
  # A stopped nsenter would never collect its child, and the namespace would never end.
  pkill -KILL -f -- "--config-file $folder/daemon.json" 2>/dev/null
  # The end of process 1 of the pid namespace ends all in it; mounts, bridges and the network go with the last of them.
  [ -n "${init:-}" ] && kill -KILL "$init" 2>/dev/null
  wait 2>/dev/null
  for root in /sys/fs/cgroup /sys/fs/cgroup/*/; do
    for _ in 1 2 3 4 5; do
      [ -d "$root/$cgroup" ] || break
      find "$root/$cgroup" -depth -type d -exec rmdir {} + 2>/dev/null || sleep 0.1
    done
  done
  rm -rf "$folder"
  exit 0
}
trap clear_away EXIT TERM INT HUP

# The shell that is process 1 inside reaps what others leave.
unshare --net --mount --pid --fork --kill-child --mount-proc --propagation private \
  bash -c 'ip link set lo up; while :; do sleep 3600 & wait $!; done' &
holder=$!
until init=$(cat "/proc/$holder/task/$holder/children" 2>/dev/null) && [ -n "${init// /}" ]; do sleep 0.02; done
init=${init// /}
# Its /proc is its own by then.
until [ "$(cat "/proc/$init/comm" 2>/dev/null)" = bash ]; do sleep 0.02; done
echo "$init" >"$folder/init.new" && mv "$folder/init.new" "$folder/init"
while kill -0 "$owner" 2>/dev/null && kill -0 "$init" 2>/dev/null; do
  sleep 1 &
  wait $!
done
