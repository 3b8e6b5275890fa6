// What `npm start` tells to try next: commands as they are to be typed, for the server at `address`.

/** Where commands go that are told nothing: `DEFAULT_SERVER` of src/cli/connection.ts. */
const DEFAULT_ADDRESS = 'http://127.0.0.1:7423';

/** Lines without ends of line. */
export function nextSteps(address) {
  const svc = address === DEFAULT_ADDRESS ? './bin/svc.js' : `SVC_SERVER=${address} ./bin/svc.js`;
  return [
    `${svc} sandbox run -- python3 -c 'print(6 * 7)'`,
    `${svc} sandbox create`,
    `${svc} sandbox list`,
    `curl -s ${address}/api/v1/sandboxes -H 'content-type: application/json' -d '{"ttl":"5m"}'`,
  ];
}
