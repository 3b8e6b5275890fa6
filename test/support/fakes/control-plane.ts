// A control plane that works in memory, for tests of its edges: it keeps what it was asked, holds files in a map,
// answers execs from the command's words, and fails when told to.
import { PassThrough, Readable } from 'node:stream';
import type { ExecExit } from '../../../src/agent/io.ts';
import type { Caller } from '../../../src/control/api/caller.ts';
import type { ControlPlane } from '../../../src/control/api/control-plane.ts';
import type { ExecEnded, LiveExec, LiveRequest } from '../../../src/control/api/execs.ts';
import type { ByteRange } from '../../../src/control/api/files.ts';
import { BucketRateLimits } from '../../../src/control/system/rate-limits.ts';
import { ByteLedger } from '../../../src/domain/byte-ledger.ts';
import { fileSignature } from '../../../src/domain/data-token.ts';
import { ServiceError } from '../../../src/domain/errors.ts';
import type { Clock } from '../../../src/domain/ports.ts';
import { realClock } from '../../../src/host/clock.ts';
import type { AuditRecord } from '../../../src/schema/audit.ts';
import type { CodeContext } from '../../../src/schema/code.ts';
import type { Config } from '../../../src/schema/config.ts';
import type { ExecItem, ExecLine, ExecRequest, LogLine } from '../../../src/schema/exec.ts';
import type { FileInfo } from '../../../src/schema/file.ts';
import type { Sandbox } from '../../../src/schema/sandbox.ts';
import type { Template } from '../../../src/schema/template.ts';
import { outputText } from '../checks/output-text.ts';
import { fixedConfig } from '../config.ts';
import { fakeCredentials } from './credentials.ts';
import { fakeDecision, fakeEgress } from './egress.ts';
import { type FakeEvents, fakeEvents } from './events.ts';
import { fakeImages } from './images.ts';
import { fakeKeys } from './keys.ts';
import { fakeMetrics } from './metrics.ts';
import { FAKE_START, fakeIds } from './ports.ts';
import { type FakePreviews, fakePreviews } from './previews.ts';
import { FAKE_DECISION, fakeQuotas } from './quotas.ts';
import { fakeTemplates } from './templates.ts';
import { fakeUsage } from './usage.ts';
import { fakeWorkers } from './workers.ts';

export interface Asked {
  method: string;
  args: unknown[];
  caller?: Caller;
}

export interface FakeControlPlane extends ControlPlane {
  events: FakeEvents;
  previews: FakePreviews;
  /** Every call, oldest first. */
  readonly asked: Asked[];
  readonly sandboxMap: Map<string, Sandbox>;
  readonly fileMap: Map<string, Buffer>;
  readonly templateMap: Map<string, Template>;
  /** Makes the next calls of `method` (`files.read`, …) throw this. */
  failing: Map<string, unknown>;
  healthy: boolean;
  /** The audit, newest first. */
  readonly audited: AuditRecord[];
  /** Signals of execs and file calls, in order. */
  readonly signals: AbortSignal[];
}

const STAMP = new Date(FAKE_START).toISOString();

const RATE_LIMIT: Config['rate_limit'] = {
  ...{ enabled: false, requests_per_minute: 60, burst: 5, key_by: 'owner', key_multiple: 20 },
  ...{ bucket_ttl: '15m', cleanup_interval: '1m', max_buckets: 1000 },
};

const EXEC_ID = 'ex-aaaaaaaaaaaa';
const EXEC_ITEM: ExecItem = {
  ...{ exec_id: EXEC_ID, command: 'sleep 1', detached: true, state: 'running', started_at: STAMP },
};

const FAKE_CONTEXT: CodeContext = { id: 'context-1', language: 'python', cwd: '/home/user' };

const ROOMY = 1024 * 1024 * 1024;

export interface FakeControlOptions {
  ledger?: ByteLedger;
  clock?: Clock;
  rate_limit?: Partial<Config['rate_limit']>;
}

export function fakeControlPlane({
  clock = realClock(),
  rate_limit,
  ledger = new ByteLedger(ROOMY, clock),
}: FakeControlOptions = {}): FakeControlPlane {
  const asked: Asked[] = [];
  const sandboxMap = new Map<string, Sandbox>();
  const fileMap = new Map<string, Buffer>();
  const templateMap = new Map<string, Template>();
  const failing = new Map<string, unknown>();
  const signals: AbortSignal[] = [];
  const audited: AuditRecord[] = [];
  const note = (method: string, caller: Caller | undefined, ...args: unknown[]) => {
    asked.push({ method, args, ...(caller && { caller }) });
    if (failing.has(method)) throw failing.get(method);
  };
  const must = (id: string): Sandbox => {
    const sandbox = sandboxMap.get(id);
    if (!sandbox) throw new ServiceError('not_found', 'There is no such sandbox.');
    return sandbox;
  };
  const control: FakeControlPlane = {
    asked,
    sandboxMap,
    fileMap,
    templateMap,
    failing,
    signals,
    healthy: true,
    dataAccess: {
      tokensOf: (id) => ({ access: `access ${id}`, traffic: `traffic ${id}` }),
      codeToken: (id) => `code ${id}`,
      sandboxOf: (kind, token) => (token.startsWith(`${kind} `) ? token.slice(kind.length + 1) : undefined),
      holderOf: (id, request_id) => ({ role: 'admin', actor: 'system:token', credential: id, request_id }),
      isUsable: async (id) => sandboxMap.has(id),
      isSigned: (id, file, signature) => fileSignature(`access ${id}`, file) === signature,
      findSigned: async (file, signature) =>
        [...sandboxMap.keys()].find((id) => fileSignature(`access ${id}`, file) === signature),
    },
    sandboxes: {
      async spawn(request, caller, options) {
        note('sandboxes.spawn', caller, request, options);
        const sandbox = fakeSandbox(`sb-${String(sandboxMap.size + 1).padStart(12, 'a')}`, request);
        if (caller.owner) sandbox.owner_id = caller.owner;
        sandboxMap.set(sandbox.id, sandbox);
        return sandbox;
      },
      async admission(request, caller) {
        note('sandboxes.admission', caller, request);
        return FAKE_DECISION;
      },
      async get(id, caller) {
        note('sandboxes.get', caller, id);
        return must(id);
      },
      async list(query, caller) {
        note('sandboxes.list', caller, query);
        const all = [...sandboxMap.values()].reverse();
        const from = query.cursor === undefined ? 0 : Number(query.cursor);
        const to = from + (query.limit ?? 1000);
        return { sandboxes: all.slice(from, to), ...(to < all.length && { next_cursor: String(to) }) };
      },
      async destroy(id, caller) {
        note('sandboxes.destroy', caller, id);
        return sandboxMap.delete(id);
      },
      async extend(id, ttl, caller) {
        note('sandboxes.extend', caller, id, ttl);
        return must(id);
      },
      async prune(caller) {
        note('sandboxes.prune', caller);
        return 3;
      },
    },
    exec: {
      async run(id, request, caller, signal) {
        note('exec.run', caller, id, request);
        signals.push(signal);
        if (request.command === 'wait') await aborted(signal);
        return execResult(request);
      },
      async stream(id, request, caller, signal) {
        note('exec.stream', caller, id, request);
        signals.push(signal);
        return execLines(request, signal);
      },
      async open(id, request, caller, signal) {
        note('exec.open', caller, id, request);
        signals.push(signal);
        return liveExec(request, signal, (name, ...args) => note(`live.${name}`, caller, ...args));
      },
      async kept(id, caller) {
        note('exec.kept', caller, id);
        return [];
      },
      async resume(target, caller, signal) {
        note('exec.resume', caller, target);
        if (target.exec_id !== EXEC_ID)
          throw new ServiceError('not_found', 'There is no such exec in the sandbox.');
        const exec = liveExec({ command: 'cat' }, signal, (name, ...args) =>
          note(`live.${name}`, caller, ...args),
        );
        return { ...exec, truncated: true };
      },
      async detach(id, request, caller) {
        note('exec.detach', caller, id, request);
        return { exec_id: EXEC_ID };
      },
      async list(id, caller) {
        note('exec.list', caller, id);
        return [EXEC_ITEM];
      },
      async get(id, exec_id, caller) {
        note('exec.get', caller, id, exec_id);
        return { ...EXEC_ITEM, exec_id };
      },
      async output(target, query, caller, signal) {
        note('exec.output', caller, target, query);
        signals.push(signal);
        return execLines({ command: query.follow ? 'wait' : 'kept' }, signal);
      },
      signal: async (target, name, caller) => note('exec.signal', caller, target, name),
    },
    previews: fakePreviews(clock, note as (method: string, ...args: unknown[]) => void),
    code: {
      async stream(id, request, { caller }) {
        note('code.stream', caller, id, request);
        return (async function* () {
          yield { type: 'stdout', text: 'a\u2028b', timestamp: STAMP };
          yield { type: 'end_of_execution' };
        })();
      },
      async run(id, request, { caller }) {
        note('code.run', caller, id, request);
        return { results: [{ is_main_result: true, text: '2' }], stdout: '', stderr: '', execution_count: 1 };
      },
      async contexts(id, { caller }) {
        note('code.contexts', caller, id);
        return [FAKE_CONTEXT];
      },
      async createContext(id, request, { caller }) {
        note('code.createContext', caller, id, request);
        return FAKE_CONTEXT;
      },
      async restartContext(id, context_id, { caller }) {
        note('code.restartContext', caller, id, context_id);
      },
      async removeContext(id, context_id, { caller }) {
        note('code.removeContext', caller, id, context_id);
      },
      async ready(id, { caller }) {
        note('code.ready', caller, id);
      },
    },
    logs: {
      async read(id, lines, caller) {
        note('logs.read', caller, id, lines);
        return ['one', 'two'];
      },
      async follow(id, lines, caller, signal) {
        note('logs.follow', caller, id, lines);
        signals.push(signal);
        return logLines(signal);
      },
    },
    downloads: {
      async link(id, path, caller) {
        note('downloads.link', caller, id, path);
        return { url: `sandboxes/${id}/files/download?code=c`, expires_at: STAMP };
      },
      async open(target) {
        note('downloads.open', undefined, target);
        throw new ServiceError('unauthorized', 'The code is not valid: it is good once, for a minute.');
      },
    },
    files: {
      async watch(id, path, options, caller) {
        note('files.watch', caller, id, path, options);
        return { changes: (async function* () {})(), closed: Promise.resolve() };
      },
      async read(id, path, range, caller, signal) {
        note('files.read', caller, id, path, range);
        signals.push(signal);
        const bytes = content(fileMap, path);
        const held = held_(bytes.length, range);
        const piece = held ? bytes.subarray(held.first, held.last + 1) : bytes;
        return {
          info: info(path, bytes.length),
          content: Readable.from(chunks(piece)),
          length: piece.length,
          ...(held && { range: held }),
        };
      },
      async write(id, path, body, options, caller, signal) {
        note('files.write', caller, id, path, options);
        signals.push(signal);
        const bytes = Buffer.isBuffer(body) ? body : Buffer.concat(await body.toArray());
        fileMap.set(path, bytes);
        return { status: 'written', path, size: bytes.length, atomic: true };
      },
      async pack(id, path, after, caller, signal) {
        note('files.pack', caller, id, path, after);
        signals.push(signal);
        return Readable.from(chunks(content(fileMap, path)));
      },
      async unpack(id, path, body, caller, signal) {
        note('files.unpack', caller, id, path);
        signals.push(signal);
        const bytes = Buffer.concat(await body.toArray());
        fileMap.set(path, bytes);
        const counts = { files: 1, folders: 0, links: 0, left_out: 0 };
        return { status: 'unpacked', path, ...counts, bytes: bytes.length };
      },
      async stat(id, path, caller) {
        note('files.stat', caller, id, path);
        return info(path, content(fileMap, path).length);
      },
      async list(id, path, depth, caller) {
        note('files.list', caller, id, path, depth);
        return [...fileMap].map(([name, bytes]) => info(name, bytes.length));
      },
      async facts(id, path, prefix, caller) {
        note('files.facts', caller, id, path, prefix);
        return info(path, content(fileMap, path).length);
      },
      async listFacts(id, path, options, caller) {
        note('files.listFacts', caller, id, path, options);
        return [...fileMap].map(([name, bytes]) => info(name, bytes.length));
      },
      async glob(id, pattern, caller) {
        note('files.glob', caller, id, pattern);
        return [...fileMap.keys()];
      },
      move: async (id, from, to, caller) => note('files.move', caller, id, from, to),
      chmod: async (id, path, mode, caller) => note('files.chmod', caller, id, path, mode),
      mkdir: async (id, path, options, caller) => note('files.mkdir', caller, id, path, options),
      remove: async (id, path, recursive, caller) => note('files.remove', caller, id, path, recursive),
      as() {
        return this;
      },
      hasUsers: async () => false,
    },
    templates: fakeTemplates(templateMap, note, (request) => {
      const sandbox = fakeSandbox(`sb-${String(sandboxMap.size + 1).padStart(12, 'a')}`, request);
      sandboxMap.set(sandbox.id, sandbox);
      return sandbox;
    }),
    quotas: fakeQuotas(note),
    usage: fakeUsage(note),
    ...fakeKeys(note, clock),
    ...fakeCredentials(note, clock),
    workers: fakeWorkers(note),
    pool: {
      async status() {
        note('pool.status', undefined);
        return { enabled: true, vms: 1, max_vms: 10, total_users: 2, max_users_per_vm: 5 };
      },
    },
    images: fakeImages(note),
    egress: {
      check: async (request, caller) => {
        note('egress.check', caller, request);
        return { decision: 'denied', reason: 'not_allowed', host: request.host, port: request.port };
      },
      groups: () => [{ name: '@packages', rules: ['pypi.org'] }],
      get: async (id, caller) => {
        note('egress.get', caller, id);
        return fakeEgress([]);
      },
      replace: async (id, policy, caller) => {
        note('egress.replace', caller, id, policy);
        return fakeEgress(policy.allow ?? []);
      },
      log: async (id, query, caller) => {
        note('egress.log', caller, id, query);
        return [fakeDecision(id)];
      },
      follow: async (id, query, caller) => {
        note('egress.follow', caller, id, query);
        return (async function* () {
          yield fakeDecision(id);
          yield undefined;
        })();
      },
      suggest: async (id, caller) => {
        note('egress.suggest', caller, id);
        return { allow: ['example.com'] };
      },
    },
    snapshots: {
      async list() {
        note('snapshots.list', undefined);
        return [{ image: 'debian:12', kernel: '6.1.0', size: 4096, created_at: STAMP, provider: 'microvm' }];
      },
    },
    providers: {
      list: async () => [providerItem],
      test: async () => ({ userspace: { healthy: false, latency_ms: 3, error: 'It is not there.' } }),
      async get(name) {
        if (name !== 'userspace') throw new ServiceError('not_found', 'The provider does not exist.');
        return {
          ...providerItem,
          sandbox_count: 0,
          isolation: { network: 'namespace' },
          images: [],
          config: {},
        };
      },
    },
    events: fakeEvents(note),
    metrics: fakeMetrics(note),
    health: {
      live: (full) => ({ status: 'alive', ...(full && { version: '9.9.9', uptime: '1s' }) }),
      ready: async (full) => ({
        status: control.healthy ? 'ready' : 'not_ready',
        ...(!control.healthy && { reason: 'No provider is healthy.' }),
        ...(full && {
          providers: [{ name: 'userspace', healthy: control.healthy }],
          ready_providers: control.healthy ? 1 : 0,
          total_providers: 1,
        }),
      }),
      health: async (full) => ({
        status: 'ok',
        checks: { database: { status: 'ok' }, providers: { status: 'ok' }, workers: { status: 'ok' } },
        ...(full && { version: '9.9.9', uptime: '1s', uptime_seconds: 1 }),
      }),
    },
    audited,
    audit: {
      record: (draft) => void audited.unshift({ ...draft, id: audited.length + 1 }),
      list: async ({ limit = 100 }) => ({
        records: audited.slice(0, limit),
        ...(audited.length > limit && { next_cursor: 'next' }),
      }),
    },
    ledger,
    rates: new BucketRateLimits({
      config: fixedConfig({ rate_limit: { ...RATE_LIMIT, ...rate_limit } }),
      clock,
      ids: fakeIds(),
    }),
    start: async () => {},
    listening: () => {},
    drain: () => {},
    stop: async () => {},
  };
  return control;
}

const providerItem = {
  name: 'userspace',
  kind: 'userspace',
  default: true,
  healthy: true,
  latency_ms: 1,
  last_checked: STAMP,
  capabilities: ['exec' as const, 'files' as const],
};

export function fakeSandbox(id: string, facts: Partial<Sandbox> | object = {}): Sandbox {
  const { metadata = {} } = facts as Partial<Sandbox>;
  return {
    id,
    state: 'running',
    provider: 'userspace',
    image: 'host',
    memory_mb: 256,
    vcpus: 1,
    created_at: STAMP,
    expires_at: STAMP,
    metadata,
    worker_id: 'local',
  };
}

function info(path: string, size: number): FileInfo {
  const name = path.slice(path.lastIndexOf('/') + 1);
  return { path, name, size, mode: '644', is_dir: false, type: 'file', mod_time: STAMP };
}

function content(files: Map<string, Buffer>, path: string): Buffer {
  const bytes = files.get(path);
  if (!bytes) throw new ServiceError('not_found', 'The file does not exist.');
  return bytes;
}

function* chunks(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536);
}

function held_(size: number, range: ByteRange | undefined): { first: number; last: number } | undefined {
  if (!range) return undefined;
  const first = 'suffix' in range ? Math.max(0, size - range.suffix) : range.first;
  const last = 'suffix' in range ? size - 1 : Math.min(size - 1, range.last ?? size - 1);
  if (first <= last) return { first, last };
  throw new ServiceError('bad_request', 'The file is shorter.', { status: 416, details: { size } });
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

function execResult({ command }: ExecRequest): ExecEnded {
  return {
    exec_id: 'ex-aaaaaaaaaaaa',
    exit_code: 0,
    stdout: outputText(command),
    stderr: outputText(''),
    duration: '1ms',
    duration_ms: 1,
    stdout_truncated: false,
    stderr_truncated: false,
  };
}

/** `flood N`: N lines of 64 KiB. `wait`: nothing after the first line until the client goes. Else the command itself. */
async function* execLines({ command }: ExecRequest, signal: AbortSignal): AsyncGenerator<ExecLine> {
  yield { stream: 'start', data: '', exec_id: 'ex-aaaaaaaaaaaa' };
  if (command === 'wait') await aborted(signal);
  const flood = /^flood (\d+)$/.exec(command);
  if (!flood) yield { stream: 'stdout', data: command };
  for (let i = 0; i < Number(flood?.[1] ?? 0); i += 1) yield { stream: 'stdout', data: 'x'.repeat(65_536) };
  yield { stream: 'exit', data: '', exit_code: 0, duration_ms: 1 };
}

/** A line, silence, then nothing until the client goes. */
async function* logLines(signal: AbortSignal): AsyncGenerator<LogLine | undefined> {
  yield { line: 'one' };
  yield undefined;
  await aborted(signal);
}

/** `cat`: gives its input back, and ends when that does; `stuck`: takes no input; both end on a signal. `late`: its deadline has ended it. `buffered`: starts at the end of its input. */
function liveExec(
  { command }: LiveRequest,
  signal: AbortSignal,
  note: (name: string, ...args: unknown[]) => void,
): LiveExec {
  const through = new PassThrough({ highWaterMark: 64 * 1024 });
  let end = (_: { exit_code: number; signal?: string; timed_out?: boolean }) => {};
  const exit = new Promise<ExecExit>((resolve, reject) => {
    end = (facts) => resolve({ timed_out: false, duration_ms: 1, ...facts });
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  exit.catch(() => undefined);
  signal.addEventListener('abort', () => through.destroy(), { once: true });
  through.once('end', () => end({ exit_code: 0 }));
  if (command === 'late') {
    end({ exit_code: 143, signal: 'SIGTERM', timed_out: true });
    through.end();
  }
  const flood = /^flood (\d+)$/.exec(command);
  async function* output(): AsyncGenerator<{ channel: 'stdout' | 'stderr'; data: Buffer }> {
    if (flood) {
      for (let i = 0; i < Number(flood[1]); i += 1) {
        note('flood', i);
        yield { channel: 'stdout', data: Buffer.alloc(65_536, 'x') };
      }
      return end({ exit_code: 0 });
    }
    for await (const data of through) yield { channel: 'stdout', data: data as Buffer };
  }
  return {
    exec_id: EXEC_ID,
    stdin: {
      write: async (data) => {
        note('stdin', data.length);
        if (command === 'stuck') await exit.catch(() => undefined);
        else if (!through.write(data)) await new Promise((resolve) => through.once('drain', resolve));
      },
      end: () => void through.end(),
    },
    ...(command === 'buffered' && { startsAtInputEnd: true as const }),
    output: output(),
    exit,
    resize: async (rows, cols) => note('resize', rows, cols),
    signal: async (name) => {
      note('signal', name);
      through.end();
      end({ exit_code: 143, signal: name });
    },
  };
}
