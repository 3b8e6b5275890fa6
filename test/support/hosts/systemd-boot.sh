#!/usr/bin/env bash
# Boots a systemd of its own over a copy-on-write view of this host, in namespaces and control groups of its own, with
# nothing running but what the test starts. Arguments: an empty folder, the pid whose end is its end, and the package, which
# is /opt/svc inside: it may lie where the view has a folder of its own. `$1/init` gets the
# pid to enter with `nsenter --target PID --all --root`. Ends with systemd, or on TERM; leaves nothing.
set -eu
folder=$1 owner=$2 package=$3
name=$(basename "$folder")

clear_away() {
  trap - EXIT
  trap '' TERM INT HUP
  [ -n "${holder:-}" ] && pkill -KILL -P "$holder" 2>/dev/null
  wait 2>/dev/null || true
  for groups in /sys/fs/cgroup/*/"$name" /sys/fs/cgroup/"$name"; do
    for _ in 1 2 3 4 5 6 7 8; do
      [ -d "$groups" ] || break
      find "$groups" -depth -type d -exec rmdir {} + 2>/dev/null || sleep 0.1
    done
  done
  rm -rf "$folder"
  exit 0
}
trap clear_away EXIT TERM INT HUP

# A group of its own in each hierarchy: the root of the cgroup namespace below.
for hierarchy in /sys/fs/cgroup/*/cgroup.procs /sys/fs/cgroup/cgroup.procs; do
  [ -e "$hierarchy" ] || continue
  group=$(dirname "$hierarchy")/$name
  mkdir -p "$group"
  [ -e "$group/cpuset.mems" ] && for each in mems cpus; do cat "$group/../cpuset.$each" >"$group/cpuset.$each"; done
done

boot='
  set -eu
  folder=$1
  for group in /sys/fs/cgroup/*/"$(basename "$folder")" /sys/fs/cgroup/"$(basename "$folder")"; do
    [ -d "$group" ] && echo 0 >"$group/cgroup.procs"
  done
  exec unshare --cgroup bash -c "$2" boot "$folder" "$3"
'
inner='
  set -eu
  folder=$1 root=$1/root
  mount -t tmpfs tmpfs "$folder/layer"
  mkdir "$folder/layer/upper" "$folder/layer/work"
  mount -t overlay overlay -o "lowerdir=/,upperdir=$folder/layer/upper,workdir=$folder/layer/work" "$root"
  mkdir -p "$root/opt/svc" && mount --bind "$2" "$root/opt/svc"
  mount -t proc proc "$root/proc"
  mount -t sysfs -o ro sysfs "$root/sys"
  mount -t tmpfs -o mode=755 tmpfs "$root/sys/fs/cgroup"
  for hierarchy in $(cut -d: -f2 /proc/self/cgroup); do
    place=$root/sys/fs/cgroup/${hierarchy#name=}
    mkdir -p "$place"
    mount -t cgroup -o "$hierarchy" cgroup "$place"
  done
  mkdir -p "$root/sys/fs/cgroup/unified" && mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup/unified"
  for place in run tmp; do mount -t tmpfs tmpfs "$root/$place"; done
  mount -t tmpfs -o mode=755 tmpfs "$root/dev"
  for device in null zero full random urandom tty; do touch "$root/dev/$device"; mount --bind "/dev/$device" "$root/dev/$device"; done
  mkdir "$root/dev/shm" "$root/dev/pts" && mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
  mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
  ln -s pts/ptmx "$root/dev/ptmx"
  ln -s /proc/self/fd "$root/dev/fd"
  # Nothing of this host starts: the units are those that the test brings.
  rm -rf "$root/etc/systemd/system" && mkdir -p "$root/etc/systemd/system"
  printf "[Unit]\nDescription=Nothing but what a test starts\nDefaultDependencies=no\n" >"$root/etc/systemd/system/test.target"
  # Nobody brings a network up here, and who waits for one waits for minutes.
  ln -s /dev/null "$root/etc/systemd/system/network-online.target"
  echo uninitialized >"$root/etc/machine-id"
  # Not chroot: the kernel makes no user namespaces inside one.
  cd "$root" && mkdir old && pivot_root . old && umount -l old && rmdir old
  exec env -i container=svc-test PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin \
    /lib/systemd/systemd --system --unit=test.target --log-target=console --log-level=info --show-status=no
'
mkdir -p "$folder/layer" "$folder/root"
unshare --mount --pid --uts --ipc --net --fork --kill-child --propagation private bash -c "$boot" boot "$folder" "$inner" "$package" \
  >"$folder/log" 2>&1 </dev/null &
holder=$!
until init=$(cat "/proc/$holder/task/$holder/children" 2>/dev/null) && [ -n "${init// /}" ]; do sleep 0.02; done
init=${init// /}
until [ "$(cat "/proc/$init/comm" 2>/dev/null)" = systemd ]; do kill -0 "$holder" 2>/dev/null || break; sleep 0.05; done
echo "$init" >"$folder/init.new" && mv "$folder/init.new" "$folder/init"
while kill -0 "$owner" 2>/dev/null && kill -0 "$holder" 2>/dev/null; do
  sleep 1 &
  wait $!
done
