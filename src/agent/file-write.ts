// Writing a file: the body goes in as far as credit allows; only the closing EOF makes it the file. A body that fails
// cancels the write, and the old file stays.

import { finished, type Readable } from 'node:stream';
import type { FileAttributes } from './io.ts';
import { KEEP_MODE } from './protocol.ts';
import type { Requests } from './requests.ts';
import type { AgentStream } from './stream.ts';
import { type WireReader, WireWriter } from './wire.ts';

/** After the last byte: rename, and what the disk of the sandbox takes. */
const COMMIT_MS = 10 * 60_000;
const MAKE_PARENTS = 1;
const IN_PLACE = 2;
const WITH_ATTRIBUTES = 4;
/** What has been read of a body and not been handed to the transport. */
const AHEAD = 128 * 1024;

export interface Written {
  size: number;
  atomic: boolean;
}

export interface WritePlan {
  path: string;
  body: Readable | Buffer;
  mode?: number | undefined;
  inPlace?: boolean | undefined;
  attributes?: FileAttributes | undefined;
}

/**
 * As SandboxFiles.write. Rejects with the body's own error when that fails. When the sandbox refuses early, the body is
 * left as it is, undestroyed: an HTTP request must live on to carry the answer.
 */
export async function writeFile(requests: Requests, plan: WritePlan, signal?: AbortSignal): Promise<Written> {
  const { path, mode = KEEP_MODE, inPlace, attributes } = plan;
  const flags = MAKE_PARENTS | (inPlace ? IN_PLACE : 0) | (attributes ? WITH_ATTRIBUTES : 0);
  const args = () => {
    const writer = new WireWriter().str(path).u32(mode).u8(flags);
    return attributes ? writer.str(attributes.prefix).str(entriesOf(attributes)) : writer;
  };
  const decode = (reader: WireReader) => ({ size: reader.u64(), atomic: reader.u8() !== 0 });
  const stream = requests.open('write', { args, decode }, signal);
  return sendContent(requests, stream, { what: 'write', body: plan.body });
}

function entriesOf({ values }: FileAttributes): Buffer {
  const writer = new WireWriter();
  for (const [name, value] of Object.entries(values)) writer.str(name).str(value);
  return writer.bytes();
}

/** Sends `body` and returns the result. Rejects as `writeFile` does. */
export async function sendContent<T>(
  requests: Requests,
  stream: AgentStream<T>,
  { what, body }: { what: string; body: Readable | Buffer },
): Promise<T> {
  requests.keepAlive(stream, what);
  sendBody(stream, body).then(
    () => stream.within(COMMIT_MS, requests.clock, what),
    (error) => stream.cancel(error),
  );
  return await stream.result;
}

async function sendBody<T>(stream: AgentStream<T>, body: Readable | Buffer): Promise<void> {
  if (Buffer.isBuffer(body)) {
    const sent = stream.outgoing.send(0, body);
    stream.outgoing.end(0);
    await sent;
    return;
  }
  if (await sendPieces(stream, body)) stream.outgoing.end(0);
}

/** False: the agent has ended the stream before. Rejects with the failure of `body`. */
function sendPieces<T>(stream: AgentStream<T>, body: Readable): Promise<boolean> {
  return new Promise((resolve, reject) => {
    let ahead = 0;
    let isRead = false;
    const take = (piece: Buffer | string) => {
      const data = Buffer.isBuffer(piece) ? piece : Buffer.from(piece);
      ahead += data.length;
      if (ahead >= AHEAD) body.pause();
      void stream.outgoing.send(0, data).then((isSent) => {
        ahead -= data.length;
        if (!isSent) leave(() => resolve(false));
        else if (isRead && ahead === 0) leave(() => resolve(true));
        else if (!isRead && ahead < AHEAD) body.resume();
      });
    };
    const leave = (settle: () => void) => {
      forget();
      body.off('data', take);
      if (!isRead) body.pause();
      settle();
    };
    const forget = finished(body, { writable: false }, (error) => {
      isRead = true;
      if (error) leave(() => reject(error));
      else if (ahead === 0) leave(() => resolve(true));
    });
    body.on('data', take);
  });
}
