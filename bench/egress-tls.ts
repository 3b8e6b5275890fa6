// Requests in TLS of programs to which the server adds a credential, against direct ones.
import { execFileSync } from 'node:child_process';
import { type EgressWorld, NAME, TLS_PORT } from './egress-world.ts';
import type { Pair } from './row.ts';

const PYTHON = '/usr/bin/python3';

/** Prints the median of `times` in ms. HOST is where the name is. */
const timed = (times: number, once: string) => `
import socket, ssl, statistics, time
def opened():
    return trust.wrap_socket(socket.create_connection((HOST, ${TLS_PORT})), server_hostname='${NAME}')
def get(s, path=b'/'):
    s.sendall(b'GET ' + path + b' HTTP/1.1\\r\\nHost: ${NAME}:${TLS_PORT}\\r\\n\\r\\n')
    got = b''
    while not got.endswith(b'ok'):
        part = s.recv(4096)
        if not part: raise SystemExit('the connection ended: ' + repr(got))
        got += part
    if b' 200 ' not in got: raise SystemExit(repr(got))
def fresh(path=b'/'):
    s = opened(); get(s, path); s.close()
kept = opened()
def once():
    start = time.perf_counter()
    ${once}
    return (time.perf_counter() - start) * 1000
print(statistics.median(once() for _ in range(${times})))
`;

/** `id`: a sandbox that was spawned with `brokeredPolicy`. */
export function brokeredPairs({ client, target, caFile }: EgressWorld, id: string): Pair[] {
  const inside = async (times: number, once: string) => {
    const code = `import socket, ssl\nHOST = socket.gethostbyname('${NAME}')\ntrust = ssl.create_default_context()\n${timed(times, once)}`;
    const { stdout, stderr } = await client.exec(id, {
      command: `${PYTHON} - <<'E'\n${code}\nE`,
      timeout: '1m',
    });
    if (stderr !== '') throw new Error(stderr);
    return Number(stdout);
  };
  const here = async (times: number, once: string) => {
    const code = `import ssl\nHOST = '${target}'\ntrust = ssl.create_default_context(cafile='${caFile}')\n${timed(times, once)}`;
    return Number(execFileSync(PYTHON, ['-c', code], { encoding: 'utf8' }));
  };
  const shared = { pairs: 15, judged: 'difference' as const, warmUps: 2 };
  return [
    {
      id: 'P45-kept',
      name: 'request with a credential in TLS on a kept connection, beyond a direct one',
      target: 0.8,
      ...shared,
      ours: () => inside(100, 'get(kept)'),
      baseline: () => here(100, 'get(kept)'),
    },
    {
      id: 'P45-new',
      name: 'the same on a new connection of the program',
      target: 2.5,
      ...shared,
      ours: () => inside(30, 'fresh()'),
      baseline: () => here(30, 'fresh()'),
    },
    {
      id: 'P45-first',
      name: 'the same with a new connection to the target, too, which ends it after each answer',
      target: 2.5,
      ...shared,
      ours: () => inside(30, "fresh(b'/last')"),
      baseline: () => here(30, "fresh(b'/last')"),
    },
  ];
}

export const brokeredPolicy = (target: string) => ({
  mode: 'gate' as const,
  allow: [`${NAME}:${TLS_PORT}`, `${target}:${TLS_PORT}`],
  credentials: [{ name: 'bench', hosts: [`${NAME}:${TLS_PORT}`], value: 'a-secret-of-the-bench' }],
});
