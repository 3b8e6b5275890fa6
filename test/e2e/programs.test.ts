// The main job with real programs: Debian's Python runs its own suites, a C program is compiled and run.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { everywhere, type Runtime } from '../support/hosts/matrix.ts';
import type { Need } from '../support/requires.ts';
import { type Api, api } from '../support/servers/api.ts';
import { removeHome, startServer, type TestServer } from '../support/servers/server.ts';

const HELLO = `#include <stdio.h>
int main(int argc, char **argv) { printf("%d arguments, last %s\\n", argc - 1, argv[argc - 1]); return argc; }
`;

const body = ({ env, ordinaryUser }: Runtime) => {
  let server: TestServer;
  let client: Api;
  let id: string;

  beforeAll(async () => {
    server = await startServer({ env, ordinaryUser });
    client = api(server.url);
    id = (await client.spawn()).id;
  });
  afterAll(async () => {
    await client.destroy(id);
    expect(await server.stop()).toBe(0);
    removeHome(server.home);
  });

  it("runs Python's test_json and test_re", async () => {
    const { exit_code, stdout, stderr } = await client.sh(id, '/usr/bin/python3 -m test test_json test_re', {
      timeout: '4m',
    });
    expect(stdout + stderr).toMatch(/result: SUCCESS/i);
    expect(exit_code).toBe(0);
  });

  it('compiles and runs a C program', async () => {
    const written = await client.call('PUT', `/sandboxes/${id}/files/workspace/hello.c`, { content: HELLO });
    expect(written).toMatchObject({
      status: 200,
      body: { status: 'written', path: '/workspace/hello.c', atomic: true },
    });
    const compiled = await client.sh(id, 'gcc -O2 -Wall -o hello hello.c');
    expect(compiled).toMatchObject({ exit_code: 0, stderr: '' });
    const ran = await client.call('POST', `/sandboxes/${id}/exec`, {
      mode: 'argv',
      command: './hello',
      args: ['one', 'two words'],
    });
    expect(ran.body).toMatchObject({ exit_code: 3, stdout: '2 arguments, last two words\n' });
  });
};

const needs: Need[] = ['python3-testsuite', 'cc'];
everywhere(needs, 'real programs', body);
