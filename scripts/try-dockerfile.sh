#!/usr/bin/env bash
# Builds deploy/Dockerfile from a fresh pack with a dockerd of its own, runs the image as its head says, and runs a sandbox
# in it. No image registry is asked: the base comes from Debian's packages and npm's `node`, under the tag that the
# Dockerfile names. Needs root, dockerd, the docker client, mmdebstrap, and the package sources; takes minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
base=$(sed -n 's/^FROM \(node:[^ ]*\).*/\1/p' deploy/Dockerfile | head -n 1)
major=$(echo "$base" | sed 's/node:\([0-9]*\)-.*/\1/')
suite=$(echo "$base" | sed 's/node:[0-9]*-\([a-z]*\).*/\1/')

folder=$(mktemp -d /tmp/svc-img-XXXX)
export DOCKER_HOST=unix://$folder/s
clear_away() {
  trap - EXIT
  docker ps -aq 2>/dev/null | xargs -r docker rm --force >/dev/null 2>&1 || true
  [ -n "${engine:-}" ] && pkill -TERM -P "$engine" 2>/dev/null && wait "$engine" 2>/dev/null || true
  for groups in /sys/fs/cgroup/*/"${folder##*/}" /sys/fs/cgroup/"${folder##*/}"; do
    [ -d "$groups" ] && find "$groups" -depth -type d -exec rmdir {} + 2>/dev/null || true
  done
  rm -rf "$folder"
}
trap clear_away EXIT
trap 'exit 130' INT TERM

say() { printf '%s\n' "$*" >&2; }

say "An engine of its own …"
cat >"$folder/daemon.json" <<END
{"hosts": ["unix://$folder/s"], "data-root": "$folder/root", "exec-root": "$folder/exec", "pidfile": "$folder/pid",
 "cgroup-parent": "/${folder##*/}", "exec-opts": ["native.cgroupdriver=cgroupfs"],
 "bridge": "none", "iptables": false, "ip6tables": false}
END
unshare --mount --pid --fork --kill-child --mount-proc --propagation private \
  dockerd --config-file "$folder/daemon.json" >"$folder/log" 2>&1 &
engine=$!
for _ in $(seq 100); do docker version >/dev/null 2>&1 && break; sleep 0.2; done

say "The base $base …"
mmdebstrap --quiet --variant=minbase --mode=root --format=tar "$suite" "$folder/base.tar"
docker import "$folder/base.tar" svc-try/base >/dev/null
mkdir -p "$folder/node/usr/local/bin" "$folder/node/usr/local/include" "$folder/node/usr/local/lib/node_modules" "$folder/npm"
echo '{"private": true, "allowScripts": {"node": true}}' >"$folder/npm/package.json"
(cd "$folder/npm" && npm install --no-audit --no-fund --loglevel=error "node@$major" >/dev/null)
local=$folder/node/usr/local
cp "$folder/npm/node_modules/node/bin/node" "$local/bin/"
cp -r "$(dirname "$(find "$folder/npm" -path '*include/node/node_api.h' | head -n 1)")" "$local/include/"
cp -r "$(npm root --global)/npm" "$local/lib/node_modules/"
ln -s ../lib/node_modules/npm/bin/npm-cli.js "$local/bin/npm"
# What this host needs to reach its package sources.
mkdir -p "$folder/node/root" "$folder/node/etc/apt/apt.conf.d"
cp -L /etc/ssl/certs/ca-certificates.crt "$folder/node/root/ca.crt"
printf 'registry=%s\ncafile=/root/ca.crt\n' "$(npm config get registry 2>/dev/null)" >"$folder/node/root/.npmrc"
cp /etc/apt/apt.conf.d/99* "$folder/node/etc/apt/apt.conf.d/" 2>/dev/null || true
printf 'FROM svc-try/base\nCOPY . /\n' >"$folder/node/Dockerfile"
docker build --quiet --tag "$base" "$folder/node" >/dev/null

say "The image …"
node scripts/bootstrap.js
mkdir "$folder/context"
npm pack --silent --pack-destination "$folder/context" >/dev/null
docker build --network host --file "$root/deploy/Dockerfile" --tag svc "$folder/context" >"$folder/build.log" 2>&1 ||
  { tail -n 40 "$folder/build.log" >&2; exit 1; }

say "A server in it, and a sandbox in that …"
mkdir "$folder/keys"
head -c 32 /dev/urandom | base64 >"$folder/keys/api_key"
chown "$(docker run --rm --network none --entrypoint id svc -u)" "$folder/keys/api_key"
chmod 400 "$folder/keys/api_key"
port=$((20000 + RANDOM % 20000))
container=$(docker run --detach --network host \
  --security-opt seccomp=unconfined --security-opt systempaths=unconfined \
  --env SVC_AUTH_ENABLED=true --env SVC_AUTH_API_KEY_FILE=/keys/api_key --env "SVC_SERVER_PORT=$port" \
  --env SVC_PROVIDERS_DEFAULT=userspace --env SVC_PROVIDERS_CONTAINER_ENABLED=false \
  --volume "$folder/keys:/keys:ro" svc)
for _ in $(seq 150); do curl -fs "http://127.0.0.1:$port/api/v1/live" >/dev/null && break; sleep 0.2; done
curl -fs "http://127.0.0.1:$port/api/v1/live" && echo
docker exec "$container" sh -c "SVC_SERVER=http://127.0.0.1:$port SVC_API_KEY_FILE=/keys/api_key svc sandbox run -- uname -sn"
docker stop "$container" >/dev/null
[ "$(docker inspect --format '{{.State.ExitCode}}' "$container")" = 0 ]
say "It builds, serves, runs a sandbox, and stops."
