#!/usr/bin/env bash
# Builds deploy/Dockerfile from a fresh pack with a dockerd of its own, runs the image as its head says, and runs a sandbox
# in it. Then does the same with the fleet of deploy/fleet/compose.yaml, by the lines in its head. No image registry is asked:
# bases come from Debian's packages and npm's `node`, under the tags that the files name. Needs root, dockerd, the docker
# client, mmdebstrap, and the package sources; takes minutes.
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
  [ -n "${engine:-}" ] && stop_engine
  for groups in /sys/fs/cgroup/*/"${folder##*/}" /sys/fs/cgroup/"${folder##*/}"; do
    [ -d "$groups" ] && find "$groups" -depth -type d -exec rmdir {} + 2>/dev/null || true
  done
  rm -rf "$folder"
}
trap clear_away EXIT
trap 'exit 130' INT TERM

say() { printf '%s\n' "$*" >&2; }

# Arguments: more settings of the daemon as JSON, then options of unshare.
start_engine() {
  local settings=$1
  shift
  cat >"$folder/daemon.json" <<END
{"hosts": ["unix://$folder/s"], "data-root": "$folder/root", "exec-root": "$folder/exec", "pidfile": "$folder/pid",
 "cgroup-parent": "/${folder##*/}", "exec-opts": ["native.cgroupdriver=cgroupfs"]$settings}
END
  unshare --mount --pid --fork --kill-child --mount-proc --propagation private "$@" \
    sh -c 'ip link set lo up; exec dockerd --config-file "$0"' "$folder/daemon.json" >>"$folder/log" 2>&1 &
  engine=$!
  for _ in $(seq 100); do docker version >/dev/null 2>&1 && break; sleep 0.2; done
}
stop_engine() {
  pkill -TERM -P "$engine" 2>/dev/null && wait "$engine" 2>/dev/null || true
  rm -f "$folder/s" "$folder/pid"
}

say "An engine of its own …"
start_engine ', "bridge": "none", "iptables": false, "ip6tables": false'

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

fleet=$folder/fleet
cp -r "$root/deploy/fleet" "$fleet"
image_of() { sed -n "s/^    image: \\($1:.*\\)/\\1/p" "$fleet/compose.yaml"; }
say "$(image_of postgres) and $(image_of haproxy), as far as the Compose file uses them …"
mkdir "$folder/postgres" "$folder/haproxy"
cat >"$folder/postgres/entry" <<'END'
#!/bin/sh
# The variables of the official image.
set -e
cd /var/lib/postgresql/data
if [ ! -e PG_VERSION ]; then
  chown postgres .
  install -m 0600 -o postgres "$POSTGRES_PASSWORD_FILE" /tmp/password
  setpriv --reuid postgres --regid postgres --init-groups initdb -D . -U "$POSTGRES_USER" --pwfile /tmp/password -A scram-sha-256 -E UTF8 >/dev/null
  echo 'host all all all scram-sha-256' >>pg_hba.conf
  echo "CREATE DATABASE $POSTGRES_DB" | setpriv --reuid postgres --regid postgres --init-groups postgres --single -D . postgres
fi
exec setpriv --reuid postgres --regid postgres --init-groups postgres -D . -h '*'
END
chmod 755 "$folder/postgres/entry"
cat >"$folder/postgres/Dockerfile" <<END
FROM $base
RUN apt-get update && apt-get install -y --no-install-recommends postgresql
RUN ln -s /usr/lib/postgresql/*/bin/* /usr/local/bin/ && mkdir -p /var/lib/postgresql/data
COPY entry /entry
ENTRYPOINT ["/entry"]
END
cat >"$folder/haproxy/Dockerfile" <<END
FROM $base
RUN apt-get update && apt-get install -y --no-install-recommends haproxy
USER haproxy
ENTRYPOINT ["haproxy", "-W", "-db", "-f", "/usr/local/etc/haproxy/haproxy.cfg"]
END
for name in postgres haproxy; do
  docker build --network host --tag "$(image_of $name)" "$folder/$name" >"$folder/build.log" 2>&1 ||
    { tail -n 40 "$folder/build.log" >&2; exit 1; }
done
# Now with networks, none of which is this host's.
stop_engine
start_engine '' --net
inside=$(cut -d' ' -f1 "/proc/$engine/task/$engine/children")

say "A fleet, by the head of its Compose file, and a sandbox in it …"
bash "$root/scripts/debian-program.sh" docker-compose docker-compose
compose() {
  (cd "$fleet" && PYTHONPATH=$root/.cache/docker-compose/usr/lib/python3/dist-packages \
    /usr/bin/python3 "$root/.cache/docker-compose/usr/bin/docker-compose" "$@")
}
# Compose 1 does not know `systempaths`.
sed -i 's/^    security_opt: .*/    privileged: true/' "$fleet/compose.yaml"
(cd "$fleet" && eval "$(sed -n 's/^#   //p' compose.yaml)")
compose up --detach >"$folder/up.log" 2>&1 || { cat "$folder/up.log" >&2; compose ps >&2; compose logs --tail 20 >&2; exit 1; }
run_in_sandbox() {
  nsenter --target "$inside" --net -- env HOME="$folder" SVC_SERVER=http://127.0.0.1:7423 \
    SVC_API_KEY_FILE="$fleet/secrets/api-key" node "$root/bin/svc.js" sandbox run -- "$@"
}
for n in $(seq 60); do
  run_in_sandbox uname -sn 2>"$folder/run.log" && break
  [ "$n" = 60 ] && { cat "$folder/run.log" >&2; compose logs --tail 40 >&2; exit 1; }
  sleep 1
done
say "One server is killed, and the other answers …"
compose kill svc-1 >/dev/null 2>&1
run_in_sandbox uname -sn
compose down --volumes >/dev/null 2>&1
say "They build, serve, run sandboxes, and stop."
