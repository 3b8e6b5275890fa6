// The commands that `npm start` shows reach the server that it has started, wherever that listens.
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { DEFAULT_SERVER } from '../../../src/cli/connection.ts';

const file = fileURLToPath(new URL('../../../scripts/start-hints.js', import.meta.url));
const { startHints }: { startHints(address: string): string[] } = await import(file);

it('name no address for a server at the default address', () => {
  const lines = startHints(DEFAULT_SERVER);
  expect(lines.slice(1, 3)).toEqual(['./bin/svc.js sandbox create', './bin/svc.js sandbox list']);
  expect(lines[3]).toContain('--allow @packages');
  expect(lines.join('\n')).not.toContain('SVC_SERVER');
});

it.each(['http://127.0.0.1:9999', 'http://0.0.0.0:7423', 'https://[::1]:8443'])('name %s', (address) => {
  const lines = startHints(address);
  expect(lines).toHaveLength(5);
  for (const line of lines)
    expect(line).toContain(line.startsWith('curl') ? `curl -s ${address}/api/` : `SVC_SERVER=${address} `);
});
