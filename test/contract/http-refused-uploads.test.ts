// Uploads that are refused before they have arrived completely: the connection stays good for the next request.
import { Agent, request } from 'node:http';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ServiceError } from '../../src/domain/errors.ts';
import { startHttp, type TestHttp } from '../support/servers/http-server.ts';

const BODY = Buffer.alloc(8 * 1024 * 1024, 1);

let http: TestHttp;
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
beforeAll(async () => {
  http = await startHttp();
  const refuse = async () => {
    throw new ServiceError('conflict', 'A folder has this name.');
  };
  Object.assign(http.control.files, { write: refuse, unpack: refuse });
});
afterAll(async () => {
  agent.destroy();
  await http.server.close(0);
});

/** The status, and the port from which it was asked. */
function call(method: string, path: string, type?: string) {
  return new Promise<[status: number | undefined, from: number | undefined]>((resolve, reject) => {
    const headers = type === undefined ? {} : { 'content-type': type };
    const asked = request(`${http.base}${path}`, { agent, method, headers }, (answer) => {
      const from = asked.socket?.localPort;
      answer.resume().once('end', () => resolve([answer.statusCode, from]));
    });
    asked.once('error', reject).end(type === undefined ? undefined : BODY);
  });
}

it.each([
  ['a file', '/sandboxes/sb-x/files/w/f', 'application/octet-stream'],
  ['an archive', '/sandboxes/sb-x/archive?path=/w', 'application/x-tar'],
])('%s', async (_, path, type) => {
  const [, first] = await call('GET', '/health');
  for (let go = 0; go < 3; go++) {
    expect(await call('PUT', path, type)).toEqual([409, first]);
    expect(await call('GET', '/health')).toEqual([200, first]);
  }
});
