// Reading a file: first its facts, then its bytes as a Readable that ends well only when all of them came.

import { Readable } from 'node:stream';
import type { FileInfo } from '../schema/file.ts';
import { ERRNO } from './errno.ts';
import { AgentFault, ShortRead } from './fault.ts';
import { feed } from './feed.ts';
import { readFileInfo } from './file-info.ts';
import type { FileRead } from './io.ts';
import { DATA_MAX } from './protocol.ts';
import type { Requests } from './requests.ts';
import type { AgentStream } from './stream.ts';
import { WireReader, WireWriter } from './wire.ts';

const FIRST_ANSWER_MS = 30_000;
const TO_THE_END = 2n ** 64n - 1n;
const WORDS = { [ERRNO.EISDIR]: 'The path is a folder.', [ERRNO.EINVAL]: 'The path is not a regular file.' };

export interface ReadRange {
  path: string;
  offset: number;
  length?: number;
}

/** As SandboxFiles.read. */
export async function readFile(
  requests: Requests,
  range: ReadRange,
  signal?: AbortSignal,
): Promise<FileRead> {
  const length = range.length === undefined ? TO_THE_END : BigInt(range.length);
  const args = () => new WireWriter().str(range.path).u64(BigInt(range.offset)).u64(length);
  const decode = (reader: WireReader) => reader.u64();
  const stream = requests.open('read', { args, channels: [0, 1], decode, words: WORDS }, signal);
  return contentStream(requests, stream, { what: 'read', most: range.length ?? Number.POSITIVE_INFINITY });
}

/** The content that `stream` carries after the info about it, `most` bytes; its result is their number. */
export async function contentStream(
  requests: Requests,
  stream: AgentStream<number>,
  { what, most }: { what: string; most: number },
): Promise<FileRead> {
  const lift = stream.within(FIRST_ANSWER_MS, requests.clock, what);
  const info = await firstInfo(requests, stream);
  lift();
  requests.keepAlive(stream, what);
  return { info, content: contentOf(requests, stream, most) };
}

async function firstInfo(requests: Requests, stream: AgentStream<number>): Promise<FileInfo> {
  let bytes: Buffer = Buffer.alloc(0);
  while (bytes.length < DATA_MAX) {
    const piece = await stream.incoming.next();
    if (!piece) await stream.result;
    if (piece?.channel !== 0) break;
    bytes = Buffer.concat([bytes, piece.data]);
    const info = readInfo(bytes);
    if (info instanceof AgentFault) throw requests.fault(info);
    if (info) return info;
  }
  throw requests.fault(new AgentFault('content without its file information'));
}

function readInfo(bytes: Buffer): FileInfo | AgentFault | undefined {
  const reader = new WireReader(bytes);
  try {
    const info = readFileInfo(reader);
    reader.end();
    return info;
  } catch (error) {
    return error instanceof ShortRead ? undefined : (error as AgentFault);
  }
}

/** Errors reach whoever listens; with nobody listening they do not end the process. */
function contentOf(requests: Requests, stream: AgentStream<number>, wanted: number): Readable {
  let received = 0;
  const check = (data: Buffer, channel: number) => {
    received += data.length;
    if (channel !== 1 || received > wanted)
      throw requests.fault(new AgentFault('content that was not asked for'));
  };
  const finish = (readable: Readable, bytes: number) => {
    if (bytes === received) readable.push(null);
    else
      readable.destroy(requests.fault(new AgentFault(`content of ${received} bytes, announced as ${bytes}`)));
  };
  const onEnd = (readable: Readable) => {
    stream.result.then(
      (bytes) => finish(readable, bytes),
      (error) => readable.destroy(error),
    );
  };
  const content = new Readable({
    highWaterMark: DATA_MAX,
    read: () => feed(content, { incoming: stream.incoming, check, onEnd }),
    destroy: (error, done) => {
      stream.cancel(error ?? new AgentFault('the reader closed'));
      done(error);
    },
  });
  stream.result.catch((error) => content.destroy(error));
  return content.on('error', () => undefined);
}
