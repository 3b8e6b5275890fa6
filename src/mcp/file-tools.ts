// Tools for files of a sandbox.
import { Type } from 'typebox';
import { ServiceError } from '../domain/errors.ts';
import { recordResult, type ToolResult, textResult } from './output.ts';
import { sandboxId } from './sandbox-tools.ts';
import { defineTool, type Tool, type ToolCall } from './tool.ts';

const KIBIBYTE = 1024;
/** Bytes that one call reads at most. */
const MOST_READ = 48 * KIBIBYTE;
const MOST_IMAGE = 1024 * KIBIBYTE;
const MOST_EDITED = 1024 * KIBIBYTE;
const MOST_ENTRIES = 500;

const path = Type.String({ minLength: 1, maxLength: 4096, description: 'Absolute path in the sandbox.' });

/** The first bytes tell what a file is. */
const IMAGES: readonly [string, RegExp][] = [
  ['image/png', /^\x89PNG\r\n/],
  ['image/jpeg', /^\xff\xd8\xff/],
  ['image/gif', /^GIF8[79]a/],
  ['image/webp', /^RIFF[\s\S]{4}WEBP/],
];

const read = defineTool({
  name: 'read_file',
  title: 'Read a file',
  description: `Read a text file, or look at an image (PNG, JPEG, GIF, WebP). At most ${MOST_READ} bytes at a time: the result says how to read on.`,
  input: Type.Object({
    sandbox_id: sandboxId,
    path,
    offset: Type.Optional(Type.Integer({ minimum: 0, description: 'First byte; 0 without it.' })),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MOST_READ, description: 'Bytes at most.' })),
  }),
  hints: { readOnlyHint: true },
  run: async ({ sandbox_id, path, offset = 0, limit = MOST_READ }, call) => {
    const id = await call.session.sandbox(sandbox_id, call);
    const { size } = await call.client.files.stat(id, path, { signal: call.signal });
    if (size === 0 || offset >= size) return textResult(`[The file has ${size} bytes.]`);
    const bytes = await readPart(id, path, [offset, limit], call);
    const image = offset === 0 ? imageType(bytes) : undefined;
    if (image !== undefined) return readImage(id, { path, size, mimeType: image, begin: bytes }, call);
    return textPart(bytes, offset, size);
  },
});

async function readPart(
  id: string,
  path: string,
  [offset, length]: readonly [number, number],
  { client, signal }: ToolCall,
): Promise<Buffer> {
  const range = `bytes=${offset}-${offset + length - 1}`;
  const { content } = await client.files.open(id, path, { range, signal });
  const pieces: Buffer[] = [];
  let left = length;
  // A file that grows, or a server that ignores the range, must not fill the memory.
  for await (const piece of content as AsyncIterable<Buffer>) {
    pieces.push(piece.subarray(0, left));
    left -= piece.length;
    if (left <= 0) break;
  }
  return Buffer.concat(pieces);
}

function imageType(bytes: Buffer): string | undefined {
  const begin = bytes.toString('latin1', 0, 16);
  return IMAGES.find(([, pattern]) => pattern.test(begin))?.[0];
}

async function readImage(
  id: string,
  { path, size, mimeType, begin }: { path: string; size: number; mimeType: string; begin: Buffer },
  call: ToolCall,
): Promise<ToolResult> {
  if (size > MOST_IMAGE)
    throw new ServiceError('payload_too_large', `The image has ${size} bytes, the most is ${MOST_IMAGE}.`, {
      remedy: 'Make a smaller copy with a command.',
    });
  const bytes = begin.length >= size ? begin : await readPart(id, path, [0, size], call);
  return { content: [{ type: 'image', data: bytes.toString('base64'), mimeType }] };
}

function textPart(bytes: Buffer, offset: number, size: number): ToolResult {
  const text = textOf(bytes, true);
  if (text === undefined)
    throw new ServiceError('bad_request', `The file is not UTF-8 text. It has ${size} bytes.`, {
      remedy: 'Look at it with a command, such as file or xxd.',
    });
  const end = offset + Buffer.byteLength(text);
  const note = end < size ? `\n[Bytes ${offset} to ${end} of ${size}. Read on with offset ${end}.]` : '';
  return textResult(text + note);
}

/** `isPart`: a character that the end cuts in two is left out. */
function textOf(bytes: Buffer, isPart: boolean): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes, { stream: isPart });
  } catch {
    return undefined;
  }
}

const write = defineTool({
  name: 'write_file',
  title: 'Write a file',
  description: 'Write a text file; an existing one is replaced. Parent folders are created.',
  input: Type.Object({
    sandbox_id: sandboxId,
    path,
    content: Type.String(),
    mode: Type.Optional(Type.String({ pattern: '^[0-7]{3,4}$', description: 'Permissions such as 755.' })),
  }),
  hints: { destructiveHint: true, idempotentHint: true },
  run: async ({ sandbox_id, path, content, mode }, call) => {
    const id = await call.session.sandbox(sandbox_id, call);
    const options = { signal: call.signal, ...(mode !== undefined && { mode }) };
    return recordResult({ sandbox_id: id, ...(await call.client.files.write(id, path, content, options)) });
  },
});

const edit = defineTool({
  name: 'edit_file',
  title: 'Edit a file',
  description: 'Replace a text in a file. The old text must be there exactly once.',
  input: Type.Object({
    sandbox_id: sandboxId,
    path,
    old: Type.String({
      minLength: 1,
      description: 'The text to replace, with enough around it to be unique.',
    }),
    new: Type.String({ description: 'The text to put there.' }),
  }),
  hints: { destructiveHint: true },
  run: async ({ sandbox_id, path, old, new: replacement }, call) => {
    const id = await call.session.sandbox(sandbox_id, call);
    const { signal } = call;
    const { size, mode } = await call.client.files.stat(id, path, { signal });
    const text = await textToEdit(id, { path, size }, call);
    const places = text.split(old).length - 1;
    if (places !== 1)
      throw new ServiceError('bad_request', `The old text is in the file ${places} times.`, {
        remedy: places === 0 ? 'Read the file first.' : 'Give more of the text around it.',
      });
    const edited = text.replace(old, () => replacement);
    const written = await call.client.files.write(id, path, edited, { signal, mode });
    return recordResult({ sandbox_id: id, ...written });
  },
});

async function textToEdit(
  id: string,
  { path, size }: { path: string; size: number },
  call: ToolCall,
): Promise<string> {
  if (size > MOST_EDITED)
    throw new ServiceError('payload_too_large', `The file has ${size} bytes, the most is ${MOST_EDITED}.`, {
      remedy: 'Edit it with a command, such as sed.',
    });
  const text = size === 0 ? '' : textOf(await readPart(id, path, [0, size], call), false);
  if (text !== undefined) return text;
  throw new ServiceError('bad_request', 'The file is not UTF-8 text.');
}

const list = defineTool({
  name: 'list_files',
  title: 'List files',
  description: 'List a folder, or find paths by a pattern such as /workspace/**/*.py.',
  input: Type.Object({
    sandbox_id: sandboxId,
    path: Type.Optional(Type.String({ description: 'Absolute path of a folder; /workspace without it.' })),
    depth: Type.Optional(Type.Integer({ minimum: 1, maximum: 16, description: 'Levels of folders; 1.' })),
    glob: Type.Optional(Type.String({ description: 'Absolute pattern; path and depth are not used then.' })),
  }),
  hints: { readOnlyHint: true },
  run: async ({ sandbox_id, path = '/workspace', depth = 1, glob }, call) => {
    const id = await call.session.sandbox(sandbox_id, call);
    const terms = { signal: call.signal };
    if (glob !== undefined) return listed(id, await call.client.files.glob(id, glob, terms));
    const files = await call.client.files.list(id, path, depth, terms);
    return listed(
      id,
      files.map(({ path, type, size, mode }) => ({ path, type, size, mode })),
    );
  },
});

function listed(sandbox_id: string, entries: readonly unknown[]): ToolResult {
  const files = entries.slice(0, MOST_ENTRIES);
  const left_out = entries.length - files.length;
  return recordResult({ sandbox_id, files, ...(left_out > 0 && { left_out }) });
}

export const FILE_TOOLS: readonly Tool[] = [read, write, edit, list];
