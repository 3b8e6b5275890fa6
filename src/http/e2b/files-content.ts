// GET and POST /files: the content of files, by token or by a signed link.
import type { IncomingMessage } from 'node:http';
import { basename } from 'node:path';
import { PassThrough, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import Busboy, { type BusboyFileStream } from '@fastify/busboy';
import type { ControlPlane } from '../../control/api/control-plane.ts';
import type { FileContentRead } from '../../control/api/files.ts';
import { ServiceError } from '../../domain/errors.ts';
import { BYTES_TYPE, mediaType } from '../body/body.ts';
import { limitedUpload, orUploadFailure } from '../body/upload.ts';
import { parseRange } from '../headers/range.ts';
import { badWish } from './answers.ts';
import { METADATA_PREFIX, metadataOf } from './metadata.ts';
import { RpcFailure } from './rpc/failure.ts';
import type { RpcCall } from './rpc/rpc.ts';
import { type People, type Person, pathIn } from './users.ts';

const MULTIPART_TYPE = 'multipart/form-data';
const MOST_PARTS = 1000;

export interface FilesDeps {
  control: Pick<ControlPlane, 'files'>;
  people: People;
  /** Bytes of a file at most. */
  maxFileSize: number;
}

export interface Written {
  path: string;
  name: string;
  type: 'file';
  metadata?: Record<string, string>;
}

/** Throws `not_found` and `bad_request` in E2B's words. */
export async function readFile(
  deps: FilesDeps,
  call: RpcCall,
  query: URLSearchParams,
): Promise<FileContentRead> {
  const person = await personOf(deps, call, query);
  const path = pathIn(person.home, query.get('path') ?? '');
  try {
    const range = parseRange(call.headers);
    const files = deps.control.files.as(person.account);
    return await files.read(call.sandbox_id, path, range, call.caller, call.signal);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    if (error.code === 'not_found') throw new ServiceError('not_found', `path '${path}' does not exist`);
    if (/is a folder/.test(error.message)) throw badWish(`path '${path}' is a directory`);
    throw error;
  }
}

/** Writes what the body holds, part by part. Answers in the order of the parts. */
export async function writeFiles(
  deps: FilesDeps,
  call: RpcCall,
  { request, query }: { request: IncomingMessage; query: URLSearchParams },
): Promise<Written[]> {
  const person = await personOf(deps, call, query);
  const asked = query.get('path');
  const type = mediaType(request.headers);
  const write = (path: string, content: Readable) => writeOne(deps, call, person, { path, content });
  if (type !== BYTES_TYPE && type !== MULTIPART_TYPE)
    throw badWish(`unsupported content type: ${type.slice(0, 100) || 'none'}`);
  const body = plainBody(request);
  try {
    if (type === MULTIPART_TYPE) return await writeParts(body, request, { asked, write });
    if (asked === null || asked === '') throw badWish('path is required for this content type');
    return [await write(asked, body)];
  } finally {
    if (body !== request) body.destroy();
  }
}

/** The user that the query names; a signed link is for that user alone. */
async function personOf({ people }: FilesDeps, call: RpcCall, query: URLSearchParams): Promise<Person> {
  const name = query.get('username') ?? '';
  try {
    return await people.of(call, name);
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    throw new ServiceError('unauthorized', `error looking up user '${name.slice(0, 64)}': no such user`);
  }
}

async function writeOne(
  { control, maxFileSize }: FilesDeps,
  { sandbox_id, caller, signal, headers }: RpcCall,
  { account, home }: Person,
  { path, content }: { path: string; content: Readable },
): Promise<Written> {
  const metadata = metadataOf(headers);
  const upload = limitedUpload(content, maxFileSize);
  const options = { inPlace: true, attributes: { prefix: METADATA_PREFIX, values: metadata } };
  const files = control.files.as(account);
  const written = files.write(sandbox_id, pathIn(home, path), upload, options, caller, signal);
  const { path: at } = await orUploadFailure(upload, written);
  const isMarked = Object.keys(metadata).length > 0;
  return { path: at, name: basename(at), type: 'file', ...(isMarked && { metadata }) };
}

/** The body without its coding. Throws `bad_request` for one that is not known. */
function plainBody(request: IncomingMessage): Readable {
  const coding = (request.headers['content-encoding'] ?? 'identity').toLowerCase();
  if (coding === 'identity') return request;
  if (coding !== 'gzip') throw badWish(`unsupported content encoding: ${coding.slice(0, 100)}`);
  const gunzip = createGunzip();
  const plain = new PassThrough();
  gunzip.on('error', (cause) =>
    plain.destroy(new ServiceError('bad_request', 'The body is not valid gzip.', { cause })),
  );
  request.once('close', () => {
    if (!request.readableEnded) plain.destroy(new ServiceError('bad_request', 'The upload is incomplete.'));
  });
  // Whoever reads it gets the failure; without a reader, it must not end the process.
  plain.on('error', () => undefined).once('close', () => gunzip.destroy());
  request.pipe(gunzip).pipe(plain);
  return plain;
}

interface PartsTo {
  asked: string | null;
  write(path: string, content: Readable): Promise<Written>;
}

/** One part after the other: the next is read when the one before it is written. */
function writeParts(body: Readable, request: IncomingMessage, { asked, write }: PartsTo): Promise<Written[]> {
  return new Promise((resolve, reject) => {
    const paths = new Set<string>();
    const done: Promise<Written>[] = [];
    const parser = parserOf(request);
    let last: BusboyFileStream | undefined;
    const fail = (error: unknown) => {
      body.unpipe(parser);
      parser.removeAllListeners('finish');
      // Its writer would wait for the rest, which never comes.
      last?.destroy();
      reject(error);
    };
    parser.on('file', (field: string, content: BusboyFileStream, filename: string | undefined) => {
      if (field !== 'file') return void content.resume();
      const path = asked || filename || '';
      if (path === '' || paths.has(path)) {
        content.resume();
        return fail(
          badWish(
            path === '' ? 'a part has no filename' : `you cannot upload to the same path twice: ${path}`,
          ),
        );
      }
      paths.add(path);
      last = content;
      const writing = write(path, content);
      writing.catch(fail);
      done.push(writing);
    });
    parser.once('partsLimit', () => fail(badWish(`more than ${MOST_PARTS} parts in one upload`)));
    parser.once('error', (cause: unknown) =>
      fail(new ServiceError('bad_request', 'The multipart body is malformed.', { cause })),
    );
    parser.once('finish', () => void Promise.all(done).then(resolve, reject));
    body.once('error', fail);
    body.once('close', () => {
      if (!body.readableEnded) fail(new ServiceError('bad_request', 'The upload is incomplete.'));
    });
    body.pipe(parser);
  });
}

function parserOf(request: IncomingMessage) {
  try {
    return new Busboy({
      headers: request.headers as { 'content-type': string },
      preservePath: true,
      // Links are used by forms whose part has a name and no file name.
      isPartAFile: (field) => field === 'file',
      limits: { parts: MOST_PARTS, fields: 0 },
    });
  } catch (cause) {
    throw new ServiceError('bad_request', 'The multipart body is malformed.', { cause });
  }
}
