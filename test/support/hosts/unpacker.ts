// `svc-agent unpack` on real files, as root and as an ordinary user, with a folder beside the target that the unpacker may
// write to: whatever reaches it has left the target.
import { spawn } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  closeSync,
  copyFileSync,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { UID_BASE } from '../../../src/providers/local/uid-slots.ts';
import { temporaryFolder } from '../temporary.ts';
import { AGENT } from './real-agent.ts';

const NOBODY = 65_534;
const SENTINEL = 'untouched';

export interface UnpackUser {
  by: string;
  /** Who runs the program. */
  uid: number;
  /** Who owns what it makes. */
  owner: number;
}

const self = process.getuid?.() ?? -1;
/** Root takes the store's uid; everybody else keeps the own. */
export const UNPACK_USERS: UnpackUser[] =
  self === 0
    ? [
        { by: 'root', uid: 0, owner: UID_BASE - 1 },
        { by: 'an ordinary user', uid: NOBODY, owner: NOBODY },
      ]
    : [{ by: 'an ordinary user', uid: self, owner: self }];

export interface Unpacker {
  /** Of the test. */
  folder: string;
  /** The folder that becomes the root. */
  target: string;
  /** The file of records. */
  records: string;
  start(args: readonly string[], at?: { target?: string }): ReturnType<typeof spawn>;
  /** Runs to the end with `input` as its archive. */
  run(input: Buffer, args?: readonly string[], at?: { target?: string }): Promise<Outcome>;
  /** What was changed outside the target; empty when nothing was. */
  outside(): string[];
}

export interface Outcome {
  code: number | null;
  stderr: string;
  /** What it printed. */
  summary: Record<string, number>;
}

const LIMITS = ['--max-bytes', `${64 * 1024 * 1024}`, '--max-entries', '10000'];

export function openUnpacker({ uid, owner }: UnpackUser): Unpacker {
  const folder = temporaryFolder();
  chmodSync(folder, 0o711);
  const program = join(folder, 'svc-agent');
  copyFileSync(AGENT, program);
  chmodSync(program, 0o755);
  const own = (name: string, mode = 0o755) => {
    mkdirSync(join(folder, name), { mode });
    if (self === 0) chownSync(join(folder, name), owner, owner);
    return join(folder, name);
  };
  const target = own('target');
  const sentinel = join(own('beside'), 'sentinel');
  writeFileSync(sentinel, SENTINEL);
  if (self === 0) chownSync(sentinel, owner, owner);
  const before = factsOf(sentinel);
  const records = join(folder, 'records');
  const start: Unpacker['start'] = (args, at = {}) => {
    const fds = [openSync(at.target ?? target, 'r'), openSync(records, 'w')] as const;
    const limits = args.includes('--max-bytes') ? [] : LIMITS;
    const as = uid === 0 ? ['--uid', `${owner}`] : [];
    const child = spawn(program, ['unpack', ...limits, ...as, ...args], {
      stdio: ['pipe', 'pipe', 'pipe', ...fds],
      cwd: '/',
      env: { ASAN_OPTIONS: 'detect_leaks=0' },
      ...(self === 0 && uid !== 0 && { uid, gid: uid }),
    });
    for (const fd of fds) closeSync(fd);
    child.stdin?.on('error', () => {});
    return child;
  };
  return {
    folder,
    target,
    records,
    start,
    async run(input, args = [], at = {}) {
      const child = start(args, at);
      child.stdin?.end(input);
      const [code, out, stderr] = await Promise.all([
        new Promise<number | null>((resolve) => child.once('close', resolve)),
        text(child.stdout as NodeJS.ReadableStream),
        text(child.stderr as NodeJS.ReadableStream),
      ]);
      return { code, stderr, summary: out === '' ? {} : JSON.parse(out) };
    },
    outside: () => {
      const after = factsOf(sentinel);
      return Object.entries(after).flatMap(([key, value]) =>
        before[key] === value ? [] : [`${key}: ${value}`],
      );
    },
  };
}

function factsOf(sentinel: string): Record<string, string> {
  const beside = join(sentinel, '..');
  const [file, folder] = [statSync(sentinel), statSync(beside)];
  return {
    content: readFileSync(sentinel, 'utf8'),
    file: [file.mode, file.uid, file.nlink, file.mtimeMs].join(),
    folder: [folder.mode, folder.uid, folder.nlink, folder.mtimeMs].join(),
  };
}

export interface LayerRecord {
  type: string;
  implied: boolean;
  hardLink: boolean;
  mode: number;
  uid: number;
  gid: number;
  mtimeNs: bigint;
  size: bigint;
  path: string;
  target: string;
  attributes: Record<string, string>;
}

const TYPES = ['', 'file', 'folder', 'link', 'characters', 'blocks', 'pipe', 'whiteout', 'opaque'];

/** The records of a layer (agent/src/image/records.h); texts as latin1. */
export function layerRecords(path: string): LayerRecord[] {
  const bytes = readFileSync(path);
  const found: LayerRecord[] = [];
  let at = 0;
  const word = () => {
    const size = bytes.readUInt32LE(at);
    at += 4 + size;
    return bytes.toString('latin1', at - size, at);
  };
  while (at < bytes.length) {
    const head = bytes.subarray(at, at + 28);
    at += 28;
    const [name, target] = [word(), word()];
    const count = bytes.readUInt16LE(at);
    at += 2;
    const attributes = Object.fromEntries(Array.from({ length: count }, () => [word(), word()]));
    found.push({
      type: TYPES[head[0] as number] as string,
      implied: ((head[1] as number) & 1) !== 0,
      hardLink: ((head[1] as number) & 2) !== 0,
      mode: head.readUInt16LE(2),
      uid: head.readUInt32LE(4),
      gid: head.readUInt32LE(8),
      mtimeNs: head.readBigInt64LE(12),
      size: head.readBigUInt64LE(20),
      path: name,
      target,
      attributes,
    });
  }
  return found;
}
