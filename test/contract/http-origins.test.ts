// Web pages of other origins against a server without authentication: browsers let them send plain requests unasked, so
// nothing that changes anything may be carried out for them.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PATHS } from '../../src/http/paths.ts';
import { askSample, ROUTE_IDS } from '../support/checks/route-samples.ts';
import { API_KEY, startHttp, type TestHttp } from '../support/servers/http-server.ts';

const LISTED = 'https://app.example.com';
const CHANGES = ROUTE_IDS.filter((id) => !/^(GET|HEAD) /.test(PATHS[id]));
const READS = ROUTE_IDS.filter((id) => /^GET /.test(PATHS[id]));

describe('without authentication', () => {
  let http: TestHttp;
  beforeAll(async () => {
    http = await startHttp({ server: { cors_allowed_origins: [LISTED] } });
  });
  afterAll(() => http.server.close(0));

  /** The routes that were refused. */
  async function refused(ids: typeof ROUTE_IDS, headers: Record<string, string>): Promise<string[]> {
    const found: string[] = [];
    for (const id of ids) {
      http.control.asked.length = 0;
      const { status } = await askSample(http.base, id, headers);
      if (status !== 403) continue;
      expect(http.control.asked).toEqual([]);
      found.push(id);
    }
    return found;
  }

  it.each<Record<string, string>>([
    { origin: 'https://evil.example.com' },
    { origin: 'http://localhost:1' },
    { origin: 'null' },
    { origin: 'https://evil.example.com', 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'cross-site' },
  ])('makes no change for a page with %o', async (headers) => {
    expect(CHANGES.length).toBeGreaterThan(10);
    expect(await refused(CHANGES, headers)).toEqual(CHANGES);
  });

  it('explains the refusal of a request that needs no preflight', async () => {
    const request = { method: 'POST', headers: { origin: 'https://evil.example.com' } };
    const answer = await fetch(`${http.base}/sandboxes`, request);
    expect(answer.status).toBe(403);
    expect(await answer.json()).toMatchObject({
      code: 'forbidden',
      message: expect.stringContaining('server.cors_allowed_origins'),
    });
  });

  it('serves programs, its own pages, listed origins and all reads', async () => {
    for (const headers of [{}, { origin: http.url }, { origin: LISTED, 'sec-fetch-site': 'cross-site' }])
      expect(await refused(CHANGES, headers as Record<string, string>)).toEqual([]);
    const page = { origin: 'https://evil.example.com', 'sec-fetch-site': 'cross-site' };
    expect((await refused(READS, page)).filter((id) => !/[sS]ocket/.test(id))).toEqual([]);
  });
});

it('the origin of a change does not matter with a key, or where all origins are listed', async () => {
  const headers = { origin: 'https://evil.example.com', 'x-api-key': API_KEY };
  for (const options of [
    { auth: { enabled: true, api_key: API_KEY } },
    { server: { cors_allowed_origins: ['*'] } },
  ]) {
    const http = await startHttp(options);
    expect((await askSample(http.base, 'spawnSandbox', headers)).status).not.toBe(403);
    await http.server.close(0);
  }
});
