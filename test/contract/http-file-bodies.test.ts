// Files inside JSON bodies: taken to the byte, refused as soon as what came is wrong, kept on the account of who sends them, and
// never more than some milliseconds of anybody's time.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ByteLedger } from '../../src/domain/byte-ledger.ts';
import { realClock } from '../../src/host/clock.ts';
import { longestTurn } from '../support/checks/longest-turn.ts';
import { fakeClock } from '../support/fakes/ports.ts';
import { startHttp, type TestHttp } from '../support/servers/http-server.ts';
import { until } from '../support/until.ts';

const run = promisify(execFile);
const MEBIBYTE = 1024 * 1024;
/** Milliseconds of processor of all threads; a body that is built as a whole takes more than a thousand. */
const TURN = 300;
const FILES = '/sandboxes/sb-x/files';
const JSON_TYPE = { 'content-type': 'application/json' };

let http: TestHttp;
beforeAll(async () => {
  http = await startHttp({ server: { max_json_file: 64 * MEBIBYTE } });
});
afterAll(() => http.server.close(0));

const post = (body: string | Buffer, headers: Record<string, string> = {}) =>
  send('POST', FILES, body, headers);

async function send(
  method: string,
  path: string,
  body: string | Buffer,
  headers: Record<string, string> = {},
) {
  const answer = await fetch(`${http.base}${path}`, {
    method,
    headers: { ...JSON_TYPE, ...headers },
    body: body as never,
  });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}

const written = async (path: string) =>
  Buffer.from(await (await fetch(`${http.base}${FILES}?path=${encodeURIComponent(path)}`)).arrayBuffer());

describe('content', () => {
  const bytes = Buffer.from(Array.from({ length: 5 * MEBIBYTE }, (_, at) => (at * 7) & 255));
  const text = 'Zeile "mit" \\\\ und \\u0000 und 😀\\n'.repeat(100_000);

  it.each([
    ['text', JSON.stringify({ path: '/f', content: text }), Buffer.from(text)],
    [
      'text in escapes',
      `{"content":"${'\\u0041\\ud83d\\ude00\\n'.repeat(100_000)}","path":"/f"}`,
      Buffer.from('A😀\n'.repeat(100_000)),
    ],
    ['base64', JSON.stringify({ path: '/f', content: bytes.toString('base64'), encoding: 'base64' }), bytes],
    [
      'base64 with the encoding first',
      JSON.stringify({ encoding: 'base64', content: bytes.toString('base64'), path: '/f' }),
      bytes,
    ],
    [
      'base64 in escapes',
      '{"path":"/f","encoding":"base64","content":"\\u0061GVsbG8\\u003d"}',
      Buffer.from('hello'),
    ],
    ['nothing', '{"path":"/f","content":""}', Buffer.alloc(0)],
    ['the last of two contents', '{"content":"a","path":"/f","c\\u006fntent":"b"}', Buffer.from('b')],
  ])('as %s is written to the byte', async (_, body, expected) => {
    expect(await post(body)).toMatchObject({ status: 200, body: { size: expected.length } });
    expect((await written('/f')).equals(expected)).toBe(true);
  });

  it('goes to a path of the address as well', async () => {
    const body = JSON.stringify({ content: 'x'.repeat(MEBIBYTE), mode: '600' });
    expect(await send('PUT', `${FILES}/tmp/a`, body)).toMatchObject({
      status: 200,
      body: { size: MEBIBYTE },
    });
  });

  it.each([
    ['{"path":"/f","content":"a\\ud800b"}', /^content contains half of a surrogate pair/],
    ['{"path":"/f","content":"\\udc00"}', /^content contains half of a surrogate pair/],
    ['{"path":"/\\ud800","content":""}', /^path contains half of a surrogate pair/],
    [Buffer.from('{"path":"/f","content":"\xff"}', 'latin1'), /not UTF-8/],
    [Buffer.from('{"path":"/f","content":"\xc3"}', 'latin1'), /not UTF-8/],
    ['{"path":"/f","content":"\\x"}', /not valid JSON/],
    ['{"path":"/f","content":"\n"}', /not valid JSON/],
    ['{"path":"/f","content":"a}', /not valid JSON/],
    ['{"path":"/f","content":"a"}}', /not valid JSON/],
    ['{"path":"/f","content":"a" "b"}', /not valid JSON/],
    ['{"path":"/f","content":"a","content":5}', /content must be text/],
    ['{"path":"/f"}', /content/],
    ['{"path":"/f","content":"a","__proto__":{}}', /prototype|not valid JSON/],
    ['{"path":"/f","content":"a","more":1}', /unknown fields: "more"/],
    ['{"path":"/f","content":"aGVsbG8","encoding":"base64"}', /content is not base64/],
    ['{"path":"/f","content":"aGVs\\nbG8=","encoding":"base64"}', /content is not base64/],
    [`{"path":"/f","content":"${'AAAA'.repeat(MEBIBYTE)}-_==","encoding":"base64"}`, /content is not base64/],
    [`{"path":"/f","content":"AA==${'AAAA'.repeat(MEBIBYTE)}","encoding":"base64"}`, /content is not base64/],
  ])('is refused with the reason (%#)', async (body, message) => {
    const before = http.control.asked.length;
    const answer = await post(body as never);
    expect(answer).toMatchObject({ status: 400, body: { code: 'bad_request' } });
    expect(answer.body.message).toMatch(message);
    expect(http.control.asked).toHaveLength(before);
  });
});

/** Bodies that take gigabytes and seconds to build, and why each is refused. */
const COSTLY: readonly [string, () => string, RegExp][] = [
  [
    'a list as content',
    () => `{"path":"/f","content":[{}${',{}'.repeat(10 * MEBIBYTE)}]}`,
    /content must be text/,
  ],
  ['a list of all', () => `[{}${',{}'.repeat(10 * MEBIBYTE)}]`, /must be an object/],
  ['many fields', () => `{"path":"/f"${',"a":1'.repeat(5 * MEBIBYTE)}}`, /unknown fields: "a"/],
  ['depth', () => `{"path":"/f",${'"content":{'.repeat(3 * MEBIBYTE)}`, /content must be text/],
  ['a long path', () => JSON.stringify({ content: '', path: 'x'.repeat(30 * MEBIBYTE) }), /path/],
  ['a long unknown field', () => JSON.stringify({ a: 'x'.repeat(30 * MEBIBYTE) }), /unknown fields: "a"/],
  ['a long key', () => `{"${'x'.repeat(30 * MEBIBYTE)}":1}`, /path|content|unknown/],
];

describe('a body of 30 MiB', () => {
  it.each(COSTLY)('with %s is refused during the upload', async (_, make, message) => {
    const body = Buffer.from(make());
    const { value, longest } = await longestTurn(() => post(body));
    expect(value).toMatchObject({ status: 400, body: { code: 'bad_request' } });
    expect(value.body.message).toMatch(message);
    expect(longest).toBeLessThan(TURN);
  });

  it.each([
    ['text', () => JSON.stringify({ path: '/f', content: 'x'.repeat(40 * MEBIBYTE) })],
    ['escapes', () => `{"path":"/f","content":"${'\\u00e9'.repeat(7 * MEBIBYTE)}"}`],
    ['base64', () => `{"path":"/f","encoding":"base64","content":"${'AAAA'.repeat(10 * MEBIBYTE)}"}`],
  ])('with its content as %s is accepted, and delays no other request', async (_, make) => {
    const body = Buffer.from(make());
    const write = http.control.files.write;
    // The fake one would put it all together.
    http.control.files.write = async (_id, path, content) => {
      let size = 0;
      for await (const piece of Buffer.isBuffer(content) ? [content] : content) size += piece.length;
      return { status: 'written', path, size, atomic: true };
    };
    const { value, longest } = await longestTurn(() => post(body));
    http.control.files.write = write;
    expect(value.status).toBe(200);
    expect(longest).toBeLessThan(TURN);
  });

  it('of another route is refused for its structure, too', async () => {
    const body = `{"metadata":[{}${',{}'.repeat(300_000)}]}`;
    const { value, longest } = await longestTurn(() => send('POST', '/sandboxes', body));
    expect(value).toMatchObject({ status: 400, body: { code: 'bad_request' } });
    expect(longest).toBeLessThan(TURN);
  });
});

describe('a refusal reaches a client that reads only after it has sent everything', () => {
  const refused = () => Buffer.from(`{"path":"/f","content":[{}${',{}'.repeat(10 * MEBIBYTE)}]}`);

  it('over a bare connection', async () => {
    const body = refused();
    const socket = connect(http.port, '127.0.0.1').pause();
    const head = `POST /api/v1${FILES} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject);
      socket.write(head);
      socket.write(body, () => resolve());
    });
    const [answer] = (await once(socket.resume(), 'data')) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 400 /);
    socket.destroy();
  });

  it('of curl', async () => {
    const script = `node -e "process.stdout.write('{\\"path\\":\\"/f\\",\\"content\\":[{}' + ',{}'.repeat(10485760) + ']}')"`;
    const curl = `curl -sS -H 'content-type: application/json' -H 'expect:' --data-binary @- -w '%{http_code}' ${http.base}${FILES}`;
    const { stdout } = await run('sh', ['-c', `${script} | ${curl}`]);
    expect(stdout).toMatch(/content must be text.*400$/s);
  });
});

function open(headers: Record<string, string>, to = http): ClientRequest {
  const url = new URL(`${to.base}${FILES}`);
  const request = httpRequest(url, { method: 'POST', headers: { ...JSON_TYPE, ...headers } });
  return request.on('error', () => undefined);
}

describe('uploads that are slow', () => {
  const user = (name: string) => ({ 'x-user-id': name });
  const large = JSON.stringify({ path: '/f', content: 'x'.repeat(2 * MEBIBYTE) });

  it('count only the bytes received, and block no other upload', async () => {
    const ledger = new ByteLedger(16 * MEBIBYTE, realClock());
    const small = await startHttp({ ledger });
    const slow = Array.from({ length: 40 }, () =>
      open({ 'transfer-encoding': 'chunked', ...user('mallory') }, small),
    );
    const begun = `{"path":"/f","content":"${'x'.repeat(700_000)}`;
    const answers: (number | undefined)[] = [];
    for (const each of slow) {
      each.on('response', (answer: IncomingMessage) => answers.push(answer.statusCode));
      each.write(begun);
    }
    await until(
      'the last ones are refused',
      () => answers.length > 10 && ledger.stats().held_bytes > 8 * MEBIBYTE,
    );
    expect(new Set(answers)).toEqual(new Set([503]));
    const other = () =>
      fetch(`${small.base}${FILES}`, {
        method: 'POST',
        headers: { ...JSON_TYPE, ...user('alice') },
        body: JSON.stringify({ path: '/f', content: 'x'.repeat(200_000) }),
      }).then(({ status }) => status);
    expect(await other()).toBe(200);
    for (const each of slow) each.destroy();
    await until('all is given back', () => ledger.stats().held_bytes === 0);
    await small.server.close(0);
  });

  it('of one owner leave other owners their share', async () => {
    const ledger = new ByteLedger(16 * MEBIBYTE, fakeClock());
    const small = await startHttp({ ledger });
    const upload = (name: string) =>
      fetch(`${small.base}${FILES}`, {
        method: 'POST',
        headers: { ...JSON_TYPE, ...user(name) },
        body: large,
      });
    const slow = Array.from({ length: 3 }, () =>
      open({ 'transfer-encoding': 'chunked', ...user('mallory') }, small),
    );
    for (const each of slow) each.write(`{"path":"/f","content":"${'x'.repeat(2 * MEBIBYTE)}`);
    await until('they hold what came', () => ledger.stats().held_bytes > 6 * MEBIBYTE);
    // More than two at a time, and nobody waits.
    expect((await Promise.all([upload('alice'), upload('bob')])).map(({ status }) => status)).toEqual([
      200, 200,
    ]);
    for (const each of slow) each.destroy();
    await until('all is given back', () => ledger.stats().held_bytes === 0);
    await small.server.close(0);
  });
});
