// How the server of the code interpreter is started in a sandbox: by the first python3 there that has ipykernel. Its files come on
// standard input, so nothing has to be installed or written.

/** The exit code where no python3 has ipykernel. */
export const NO_INTERPRETER = 69;

const HAS_KERNEL =
  'import sys; from importlib.util import find_spec as f; sys.exit(not (f("ipykernel") and f("jupyter_client")))';
const RUN =
  'import json, sys; settings = json.load(sys.stdin); exec(compile(settings["files"]["start.py"], "svc_start.py", "exec"), {"settings": settings})';

export const LAUNCH = [
  'for python in python3 /usr/bin/python3 /usr/local/bin/python3; do',
  `"$python" -c '${HAS_KERNEL}' 2>/dev/null </dev/null && exec "$python" -c '${RUN}';`,
  `done; exit ${NO_INTERPRETER}`,
].join(' ');
