// A right input of each format, damaged, cut into pieces and read; and what its reader may make of it.
import { rmSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { duplexPair, Readable } from 'node:stream';
import { AgentFault } from '../../src/agent/fault.ts';
import { readFileInfo } from '../../src/agent/file-info.ts';
import { encodeFrame, FrameParser } from '../../src/agent/frame.ts';
import { WireReader } from '../../src/agent/wire.ts';
import { followEvents } from '../../src/client/events.ts';
import { byteLines } from '../../src/domain/byte-lines.ts';
import { ServiceError } from '../../src/domain/errors.ts';
import { endToEnd } from '../../src/domain/header-lists.ts';
import { jsonLines } from '../../src/domain/json-lines.ts';
import { JsonList } from '../../src/domain/json-list.ts';
import { JsonObject } from '../../src/domain/json-object.ts';
import { documentIn } from '../../src/domain/json-reading.ts';
import { JsonFault } from '../../src/domain/json-structure.ts';
import { tarEntries } from '../../src/domain/tar/tar-reader.ts';
import { strictBase64, strictBase64Blocks } from '../../src/http/body/base64.ts';
import { inspectBundle } from '../../src/ops/support/inspect.ts';
import { AttachedStream } from '../../src/providers/container/attached-stream.ts';
import { ENGINE_LINES } from '../../src/providers/container/engine-answers.ts';
import { firstFile, tarOf } from '../../src/providers/container/tar.ts';
import { BACKEND_LINES } from '../../src/providers/custom/exec-answer.ts';
import { envelopes } from '../../src/providers/hosted/envelopes.ts';
import { parseStat } from '../../src/providers/local/processes.ts';
import { QmpLines } from '../../src/providers/microvm/qmp.ts';
import { infoRecord } from '../../test/support/scripted/agent.ts';
import { pax, tarArchive } from '../../test/support/tar.ts';
import type { Outcome } from './campaign.ts';
import type { Chance } from './chance.ts';
import { CONNECT_FORMATS } from './connect-formats.ts';
import { EGRESS_FORMATS } from './egress-formats.ts';
import { EGRESS_LINK_FORMATS } from './egress-link.ts';
import { anyText, anyValue, damaged, mutated, pieces } from './hostile.ts';
import { IMAGE_FORMATS } from './image-formats.ts';
import { type Read, require, type Sample } from './reading.ts';

/** Inputs of one case. */
const INPUTS = 20;
const TAG = 7;
const WIDE = { most: 1000, bytes: 100_000, depth: 50, tokens: 10_000 };

const FORMATS: Record<string, readonly [Sample, Read]> = {
  'tar of the engine': [engineTar, (_, bytes) => requireWithin(firstFile(bytes), bytes)],
  'tar of an image': [imageTar, readImageTar],
  ...IMAGE_FORMATS,
  ...EGRESS_FORMATS,
  ...EGRESS_LINK_FORMATS,
  ...CONNECT_FORMATS,
  'frames of the engine': [engineFrames, readEngineFrames],
  'lines of the engine': [
    lines,
    (chance, bytes) => drained(jsonLines(streamOf(chance, bytes), ENGINE_LINES)),
  ],
  'lines of a backend': [
    lines,
    (chance, bytes) => drained(jsonLines(streamOf(chance, bytes), BACKEND_LINES)),
  ],
  'lines of bytes': [lines, sameLines],
  'events of a backend': [events, sameEnvelopes],
  'events of the service': [serverEvents, readServerEvents],
  'frames of the agent': [agentFrames, readAgentFrames],
  'records of the agent': [
    () => Buffer.concat([infoRecord('/a').bytes(), infoRecord('/b/c').bytes()]),
    readRecords,
  ],
  'lines of a monitor': [monitorLines, readMonitor],
  'stat of a process': [() => Buffer.from(`42 (a b) c) S ${'1 '.repeat(40)}\n`), readStat],
  'document of JSON': [json, (chance, bytes) => agrees(chance, bytes, 'document')],
  'object of JSON': [jsonObject, (chance, bytes) => agrees(chance, bytes, 'object')],
  'list of JSON': [jsonList, (chance, bytes) => agrees(chance, bytes, 'list')],
  'base64 in blocks': [
    (chance) => Buffer.from(chance.bytes(chance.below(40)).toString('base64')),
    sameBase64,
  ],
  'heads of a preview': [() => Buffer.from('Connection: a, B\nA: 1\nb: 2\nX_Y: 3'), readHeads],
  'support bundle': [bundle, readSupportBundle],
};

export const FORMAT_NAMES = Object.keys(FORMATS);

/** One format, some inputs of it. */
export async function formatCase(chance: Chance): Promise<Outcome> {
  const name = chance.pick(FORMAT_NAMES);
  const [sample, read] = FORMATS[name] as readonly [Sample, Read];
  for (let count = 0; count < INPUTS; count++) {
    let bytes = sample(chance);
    for (let times = chance.below(4); times > 0; times--) bytes = altered(chance, bytes);
    try {
      await read(chance, bytes);
    } catch (error) {
      const isOwn =
        error instanceof ServiceError || error instanceof AgentFault || error instanceof JsonFault;
      const told = `${name}: ${error instanceof Error ? error.stack : error}`;
      if (!isOwn)
        return { kind: name, inputs: INPUTS, fault: `${told}\n  of ${bytes.toString('hex').slice(0, 3000)}` };
    }
  }
  return { kind: name, inputs: INPUTS };
}

/** Damage anywhere, or numbers that parsers of heads trip over where such a head has one. */
function altered(chance: Chance, bytes: Buffer): Buffer {
  if (bytes.length === 0 || !chance.oneIn(3)) return damaged(chance, bytes).subarray(0, 200_000);
  const copy = Buffer.from(bytes);
  const numbers = [
    '-1000',
    '-7777777777',
    '77777777777',
    '1e9',
    '0x10',
    'Infinity',
    ' 7',
    '9',
    '\xff\xff\xff\xff',
    '\0\0\0\0',
  ];
  const at =
    chance.oneIn(2) && copy.length > 512
      ? 124 + 512 * chance.below(copy.length >> 9)
      : chance.below(copy.length);
  copy.write(chance.pick(numbers), at, 'latin1');
  return copy;
}

const streamOf = (chance: Chance, bytes: Buffer) =>
  Readable.from(pieces(chance, bytes), { objectMode: false });

async function drained(source: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of source);
}

function requireWithin(found: Buffer | undefined, bytes: Buffer): void {
  require(found === undefined || found.length <= bytes.length, 'a file larger than its archive');
}

function engineTar(chance: Chance): Buffer {
  const path = chance.pick(['svc-agent', 'folder/svc-agent', 'a/b/c']);
  return tarOf({ path, bytes: chance.bytes(chance.below(1500)), mode: 0o755 });
}

function imageTar(chance: Chance): Buffer {
  return tarArchive(
    { name: 'bin/', type: '5' },
    pax({ path: 'long/name', mtime: '1.5' }),
    { name: 'bin/x', content: chance.bytes(chance.below(900)) },
    { name: 'link', type: '2', link: 'bin/x' },
  );
}

async function readImageTar(chance: Chance, bytes: Buffer): Promise<void> {
  let content = 0;
  for await (const entry of tarEntries(streamOf(chance, bytes)))
    if (chance.oneIn(2)) for await (const part of entry.content()) content += part.length;
  require(content <= bytes.length, 'more content than the archive has');
}

function engineFrames(chance: Chance): Buffer {
  const frame = () => {
    const content = chance.bytes(chance.below(60));
    const head = Buffer.alloc(8);
    head[0] = 1 + chance.below(2);
    head.writeUInt32BE(content.length, 4);
    return Buffer.concat([head, content]);
  };
  return Buffer.concat(Array.from({ length: 1 + chance.below(5) }, frame));
}

async function readEngineFrames(chance: Chance, bytes: Buffer): Promise<void> {
  const [engine, ours] = duplexPair();
  let heard = 0;
  const stream = new AttachedStream(ours as unknown as Socket, (text) => {
    heard += text.length;
  });
  stream
    .on('error', () => undefined)
    .on('data', (data: Buffer) => {
      heard += data.length;
    });
  const closed = new Promise((resolve) => stream.once('close', resolve).once('end', resolve));
  engine.on('error', () => undefined);
  for (const piece of pieces(chance, bytes)) if (!stream.destroyed) engine.write(piece);
  engine.end();
  await closed;
  engine.destroy();
  stream.destroy();
  require(heard <= bytes.length, 'more output than bytes');
}

function lines(chance: Chance): Buffer {
  const values = Array.from({ length: 1 + chance.below(6) }, () => ({
    stream: 'stdout',
    data: anyValue(chance),
  }));
  return Buffer.from(`${values.map((value) => JSON.stringify(value)).join('\n')}\n`);
}

async function sameLines(chance: Chance, bytes: Buffer): Promise<void> {
  const found: string[] = [];
  const bound = { bytes: 1_000_000, tooLong: () => new ServiceError('provider_error', 'too long') };
  for await (const line of byteLines(streamOf(chance, bytes), bound)) found.push(line.toString('latin1'));
  const expected = bytes.toString('latin1').split('\n');
  if (expected.at(-1) === '') expected.pop();
  require(JSON.stringify(found) === JSON.stringify(expected), 'other lines than a split gives');
}

function events(chance: Chance): Buffer {
  const one = () => {
    const text = Buffer.from(JSON.stringify({ event: { data: anyText(chance) } }));
    const head = Buffer.alloc(5);
    head.writeUInt32BE(text.length, 1);
    return Buffer.concat([head, text]);
  };
  return Buffer.concat(Array.from({ length: 1 + chance.below(4) }, one));
}

async function sameEnvelopes(chance: Chance, bytes: Buffer): Promise<void> {
  const given: Buffer[] = [];
  for await (const part of envelopes(streamOf(chance, bytes))) given.push(part);
  require(Buffer.concat(given).equals(bytes), 'other bytes than came');
}

function serverEvents(chance: Chance): Buffer {
  const one = (id: number) =>
    `id: ${id}\nevent: x\ndata: ${JSON.stringify({ id, type: anyText(chance) })}\n\n`;
  return Buffer.from([':\n\n', one(1), one(2), 'id: 3\n\n'].join(''));
}

async function readServerEvents(chance: Chance, bytes: Buffer): Promise<void> {
  const request = async () => ({ statusCode: 200, headers: {}, body: streamOf(chance, bytes) });
  const connection = {
    ...{ dispatcher: { request }, origin: 'http://x', headers: {}, timeoutMs: 1000 },
    closing: new AbortController().signal,
  };
  const clock = { sleep: async () => undefined };
  await drained(followEvents(connection as never, { follow: false }, { clock }));
}

function agentFrames(chance: Chance): Buffer {
  const one = () =>
    encodeFrame(
      { type: chance.below(20), stream: chance.below(4), tag: TAG },
      chance.bytes(chance.below(50)),
    );
  return Buffer.concat(Array.from({ length: 1 + chance.below(4) }, one));
}

function readAgentFrames(chance: Chance, bytes: Buffer): void {
  let heard = 0;
  const parser = new FrameParser(TAG, (_type, _stream, payload) => {
    heard += payload.length;
  });
  for (const piece of pieces(chance, bytes)) parser.push(piece);
  require(heard <= bytes.length, 'more payload than bytes');
}

function readRecords(_: Chance, bytes: Buffer): void {
  const reader = new WireReader(bytes);
  while (reader.position < bytes.length) {
    const before = reader.position;
    readFileInfo(reader);
    require(reader.position > before, 'a record of nothing');
  }
}

function monitorLines(): Buffer {
  return Buffer.from(
    '{"QMP":{}}\r\n{"return":{"a":[1]},"id":1}\r\n{"error":{"class":"x","desc":"y"},"id":2}\r\n{"event":"STOP"}\r\n',
  );
}

function readMonitor(chance: Chance, bytes: Buffer): void {
  const monitor = new QmpLines();
  for (const piece of pieces(chance, bytes)) monitor.take(piece);
}

function readStat(_: Chance, bytes: Buffer): void {
  const found = parseStat(bytes.toString('utf8'));
  require(found === undefined || Number.isInteger(found.start), 'a start that is not a number');
}

function json(chance: Chance): Buffer {
  return Buffer.from(JSON.stringify(anyValue(chance)) ?? 'null');
}

function jsonList(chance: Chance): Buffer {
  return Buffer.from(JSON.stringify(Array.from({ length: chance.below(5) }, () => anyValue(chance))));
}

function jsonObject(chance: Chance): Buffer {
  const value = { path: '/a', content: anyText(chance), mode: '644', more: anyValue(chance) };
  return Buffer.from(JSON.stringify(chance.oneIn(3) ? mutated(chance, value) : value) ?? 'null');
}

/** What the reader makes of it, where it makes something of it, is what JSON.parse does. */
async function agrees(chance: Chance, bytes: Buffer, as: 'document' | 'object' | 'list'): Promise<void> {
  const parts = pieces(chance, bytes);
  let found: unknown;
  if (as === 'document') found = await documentIn(parts, WIDE);
  else if (as === 'list') found = listOf(parts);
  else found = objectOf(parts);
  const expected = JSON.parse(bytes.toString('utf8')) as unknown;
  require(JSON.stringify(found) === JSON.stringify(expected), 'another value than JSON.parse gives');
}

function listOf(parts: Buffer[]): unknown[] {
  const found: unknown[] = [];
  const list = new JsonList((element) => found.push(element), WIDE);
  for (const part of parts) list.take(part);
  list.end();
  return found;
}

function objectOf(parts: Buffer[]): unknown {
  const object = new JsonObject(['content'], WIDE);
  for (const part of parts) object.take(part);
  const text = object.shell().toString('utf8');
  let value: Record<string, unknown> | null;
  try {
    value = JSON.parse(text);
  } catch {
    throw new JsonFault('syntax');
  }
  if (typeof value === 'object' && value !== null && typeof value.content === 'string')
    value.content = Buffer.concat(object.text('content') ?? []).toString('utf8');
  return value;
}

async function sameBase64(_: Chance, bytes: Buffer): Promise<void> {
  const blocks: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += 8) blocks.push(bytes.subarray(at, at + 8));
  const found = await strictBase64Blocks(blocks, 'content').catch(() => undefined);
  const expected = attempt(() => strictBase64(bytes.toString('latin1'), 'content'));
  const isSame =
    found === undefined ? expected === undefined : expected?.equals(Buffer.concat(found)) === true;
  require(isSame, 'other bytes than at once');
}

function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

function readHeads(_: Chance, bytes: Buffer): void {
  const list = bytes.toString('latin1').split(/[:\n]/);
  const given = [...endToEnd(list)];
  require(given.every(({ plain }) => plain !== 'connection'), 'Connection is passed on');
}

function bundle(chance: Chance): Buffer {
  const entry = { name: 'x', error: anyText(chance) };
  return Buffer.from(
    JSON.stringify({
      ...{ format: 1, created_at: '2026-01-01T00:00:00Z', program_version: '1' },
      ...{ index: [entry], redactions: [], sections: { x: anyValue(chance) } },
    }),
  );
}

function readSupportBundle(_: Chance, bytes: Buffer): void {
  const path = join(tmpdir(), `svc-fuzz-bundle-${process.pid}.json`);
  try {
    writeFileSync(path, bytes);
    inspectBundle(path);
  } finally {
    rmSync(path, { force: true });
  }
}
