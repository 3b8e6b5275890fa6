// Files: what is written is read, by commands too, and what fails changes nothing.
import { Readable } from 'node:stream';
import { broken, type ConformanceClient, DONE, mustBe, type Rule, type RuleGroup } from '../client.ts';

const MADE = ['sandboxes.spawn'];
const KEPT = [...MADE, 'files.write', 'files.read'];
const DIGITS = Buffer.from('0123456789');
const LARGE = 16 * 1024 * 1024;
const FILE = '/workspace/svc-conformance/file.txt';
const FOLDER = '/workspace/svc-conformance';

const rule = (name: string, title: string, look: Rule['look'], more: Partial<Rule> = {}): Rule => ({
  id: `files.${name}`,
  title,
  needs: KEPT,
  look,
  ...more,
});

const CONTENT: readonly Rule[] = [
  rule(
    'write',
    'POST /files writes and creates directories',
    async (client, signal) => {
      await client.put(FILE, DIGITS, signal);
      return 'Created the missing directory.';
    },
    { needs: MADE },
  ),
  rule(
    'read',
    'GET /files reads the file',
    async (client, signal) => {
      const found = await client.get(FILE, signal);
      if (!found.equals(DIGITS)) throw broken('The contents are wrong.');
      return 'The contents are correct.';
    },
    { needs: [...MADE, 'files.write'] },
  ),
  rule('range', 'Range reads a part of the file', async (client, signal) => {
    await mustRead(client, { range: 'bytes=3-6', expected: '3456', total: 10 }, signal);
    await mustRead(client, { range: 'bytes=8-', expected: '89', total: 10 }, signal);
    return 'Both ranges are correct.';
  }),
  rule('range_outside', 'A range after the end returns 416', async (client, signal) => {
    const headers = { range: 'bytes=10-' };
    const ask = { method: 'GET', path: '/files', query: { path: FILE }, headers, signal } as const;
    mustBe(await client.status(client.file(ask)), [416]);
    return 'Status 416.';
  }),
  rule('empty', 'A file can be empty', async (client, signal) => {
    await client.put(`${FOLDER}/empty`, Buffer.alloc(0), signal);
    if ((await client.get(`${FOLDER}/empty`, signal)).length > 0) throw broken('The file is not empty.');
    return 'The file has 0 bytes.';
  }),
  rule(
    'large',
    'A file can be large',
    async (client, signal) => {
      const content = Buffer.alloc(LARGE, 'svc conformance ');
      await client.put(`${FOLDER}/large`, content, signal);
      if (!(await client.get(`${FOLDER}/large`, signal)).equals(content))
        throw broken('The contents are wrong.');
      return `All ${LARGE} bytes arrived.`;
    },
    { deadlineMs: 60_000 },
  ),
  rule('cut', 'An incomplete upload changes nothing', async (client, signal) => {
    const path = `${FOLDER}/whole`;
    await client.put(path, DIGITS, signal);
    const half = Readable.from(halfOf());
    const ask = { method: 'POST', path: '/files', query: { path }, body: half, signal } as const;
    await client.status(client.file(ask)).catch(() => undefined);
    await client.clock.sleep(500, signal);
    if (!(await client.get(path, signal)).equals(DIGITS)) throw broken('The file has changed.');
    return 'The file is unchanged.';
  }),
  rule(
    'shared',
    'Commands see the same files',
    async (client, signal) => {
      const { stdout } = await client.sh('cat svc-conformance/file.txt; echo made > made', signal);
      if (!stdout.equals(DIGITS)) throw broken('A command in /workspace does not see the written file.');
      if ((await client.get('/workspace/made', signal)).toString() !== 'made\n')
        throw broken('GET /files does not see a file that a command wrote in /workspace.');
      return 'Commands and GET /files see the same files; /workspace is the default workdir.';
    },
    { needs: [...KEPT, 'commands.status'] },
  ),
];

async function* halfOf(): AsyncGenerator<Buffer> {
  yield Buffer.alloc(256 * 1024, 'x');
  throw new Error('cut');
}

interface Wanted {
  range: string;
  expected: string;
  total: number;
}

/** A backend may give all of it: then the provider cuts. */
async function mustRead(
  client: ConformanceClient,
  { range, expected, total }: Wanted,
  signal: AbortSignal,
): Promise<void> {
  const ask = { method: 'GET', path: '/files', query: { path: FILE }, headers: { range }, signal } as const;
  const reply = await client.ask(client.file(ask));
  const found = (await reply.bytes()).toString();
  if (reply.status === 200 && found === DIGITS.toString()) return;
  mustBe(reply.status, [206, 200]);
  if (found !== expected) throw broken(`The range ${range} returned wrong bytes.`);
  if (!(reply.headers['content-range'] ?? '').endsWith(`/${total}`))
    throw broken('Content-Range does not contain the size of the file.');
}

interface FileReply {
  path?: unknown;
  type?: unknown;
  size?: unknown;
  mode?: unknown;
  mod_time?: unknown;
}

const FACTS: readonly Rule[] = [
  rule('stat', 'GET /files/stat describes a file', async (client, signal) => {
    const { path, type, size, mod_time } = (await stat(client, FILE, signal)) as FileReply;
    if (path !== FILE || type !== 'file' || size !== 10) throw broken('path, type or size is wrong.');
    if (Number.isNaN(Date.parse(`${mod_time}`))) throw broken('mod_time is not an ISO 8601 time.');
    if (((await stat(client, FOLDER, signal)) as FileReply).type !== 'dir')
      throw broken('The type of a directory is not dir.');
    return 'Files and directories are correct.';
  }),
  rule('missing', 'A missing file returns 404', async (client, signal) => {
    const path = `${FOLDER}/none`;
    for (const at of ['/files/stat', '/files'])
      mustBe(await client.status(client.file({ method: 'GET', path: at, query: { path }, signal })), [404]);
    return 'Status 404.';
  }),
  rule(
    'gone',
    'An unknown sandbox returns 410',
    async (client, signal) => {
      const query = { sandbox_id: 'none-of-this-name', path: FILE };
      mustBe(await client.status({ method: 'GET', path: '/files/stat', query, signal }), [410]);
      return 'Status 410.';
    },
    { needs: MADE },
  ),
  rule('list', 'GET /files/list lists to a depth', async (client, signal) => {
    const shallow = await list(client, { path: '/workspace', depth: 1 }, signal);
    const deep = await list(client, { path: '/workspace', depth: 2 }, signal);
    if (!shallow.includes(FOLDER) || shallow.includes(FILE))
      throw broken('Depth 1 does not list exactly the entries of the directory.');
    if (!deep.includes(FILE)) throw broken('Depth 2 does not list the entries of subdirectories.');
    return 'Depths 1 and 2 are correct.';
  }),
  rule('glob', 'GET /files/glob finds by pattern', async (client, signal) => {
    const query = { pattern: '/workspace/**/fi?e.{md,txt}', limit: 10 };
    const found = await client.json(client.file({ method: 'GET', path: '/files/glob', query, signal }));
    if (!Array.isArray(found) || found.length !== 1 || found[0] !== FILE)
      throw broken('The pattern does not match exactly the one file.');
    return 'The pattern with **, ? and braces matches.';
  }),
];

const stat = (client: ConformanceClient, path: string, signal: AbortSignal) =>
  client.json(client.file({ method: 'GET', path: '/files/stat', query: { path }, signal }));

async function list(
  client: ConformanceClient,
  query: { path: string; depth: number },
  signal: AbortSignal,
): Promise<unknown[]> {
  const found = await client.json(client.file({ method: 'GET', path: '/files/list', query, signal }));
  if (!Array.isArray(found)) throw broken('The response is not a list.');
  return found.map((each: FileReply) => each?.path);
}

const CHANGES: readonly Rule[] = [
  rule('mkdir', 'POST /files/mkdir creates directories', async (client, signal) => {
    const make = (path: string, parents: boolean) =>
      change(client, '/files/mkdir', { path, parents }, signal);
    mustBe(await make(`${FOLDER}/a/b`, true), DONE);
    mustBe(await make(`${FOLDER}/a`, false), [409]);
    return 'An existing directory returns 409.';
  }),
  rule('move', 'POST /files/move moves a file', async (client, signal) => {
    const [old_path, new_path] = [`${FOLDER}/moves`, `${FOLDER}/moved`];
    await client.put(old_path, DIGITS, signal);
    mustBe(await change(client, '/files/move', { old_path, new_path }, signal), DONE);
    if (!(await client.get(new_path, signal)).equals(DIGITS))
      throw broken('The moved file has wrong contents.');
    return 'The contents are unchanged.';
  }),
  rule(
    'chmod',
    'POST /files/chmod sets the mode',
    async (client, signal) => {
      mustBe(await change(client, '/files/chmod', { path: FILE, mode: '640' }, signal), DONE);
      if (((await stat(client, FILE, signal)) as FileReply).mode !== '640')
        throw broken('GET /files/stat does not report the mode 640.');
      return 'The mode is 640.';
    },
    { needs: [...KEPT, 'files.stat'] },
  ),
  rule('remove', 'DELETE /files removes files, and directories with recursive', async (client, signal) => {
    const remove = (path: string, recursive: boolean) =>
      client.status(client.file({ method: 'DELETE', path: '/files', query: { path, recursive }, signal }));
    mustBe(await remove(FOLDER, false), [409]);
    mustBe(await remove(FILE, false), DONE);
    mustBe(await remove(FOLDER, true), DONE);
    mustBe(await remove(FOLDER, true), [404]);
    return 'A directory that is not empty returns 409.';
  }),
];

const change = (client: ConformanceClient, path: string, json: object, signal: AbortSignal) =>
  client.status({ method: 'POST', path, json: { sandbox_id: client.sandbox, ...json }, signal });

export const FILES: RuleGroup = {
  id: 'files',
  title: 'Files',
  chapter: 'Files',
  rules: [...CONTENT, ...FACTS, ...CHANGES],
};
