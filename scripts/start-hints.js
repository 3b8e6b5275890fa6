// The commands that `npm start` suggests next, for the server at `address`.

/** The address that commands use by default: `DEFAULT_SERVER` of src/cli/connection.ts. */
const DEFAULT_ADDRESS = 'http://127.0.0.1:7423';

/** @param {string} address */
export function startHints(address) {
  const svc = address === DEFAULT_ADDRESS ? './bin/svc.js' : `SVC_SERVER=${address} ./bin/svc.js`;
  return [
    `${svc} sandbox run -- python3 -c 'print(6 * 7)'`,
    `${svc} sandbox create`,
    `${svc} sandbox list`,
    // The network is closed by default.
    `${svc} sandbox run --allow @packages -- pip install --target lib requests`,
    `curl -s ${address}/api/v1/sandboxes -H 'content-type: application/json' -d '{"ttl":"5m"}'`,
  ];
}
