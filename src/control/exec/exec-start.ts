// Starts a command in a sandbox and follows it to its end: session, standard input, events. `exec-run.ts` and
// `exec-lines.ts` build on it.
import type { Exec, ExecExit, ExecSpec, SandboxIo } from '../../agent/io.ts';
import { asServiceError, ServiceError } from '../../domain/errors.ts';
import {
  boundedDeadlineMs,
  execArgv,
  execEnv,
  execLabel,
  execTimeoutMs,
  lastingTimeoutMs,
  TIMED_OUT,
} from '../../domain/exec-request.ts';
import type { OutputEncoding } from '../../domain/output.ts';
import { parsePath } from '../../domain/path.ts';
import type { Ids } from '../../domain/ports.ts';
import { effectiveLimits } from '../../domain/quota.ts';
import type { SandboxRecord, SandboxWithQuota } from '../../store/store.ts';
import { doneAs, type OpenSandbox, type SandboxAccess } from '../access/session-access.ts';
import type { Caller } from '../api/caller.ts';
import type { LiveRequest } from '../api/execs.ts';
import type { ExecLog, NoteEnd } from '../records/exec-log.ts';
import type { Finder } from '../records/find.ts';
import type { Publisher } from '../records/publish.ts';
import type { Settings } from '../records/settings.ts';

export interface ExecDeps {
  access: SandboxAccess;
  publisher: Publisher;
  log: ExecLog;
  find: Pick<Finder, 'any'>;
  settings: Settings;
  ids: Ids;
}

export interface StartedExec {
  sandbox_id: string;
  exec: Exec;
  io: SandboxIo;
  encoding: OutputEncoding;
  /** Set for a view of a detached command: leaving the view does not stop the command. */
  attached?: { truncated: boolean };
}

export interface ExecCall {
  caller: Caller;
  /** Aborts when the caller disconnects. */
  signal: AbortSignal;
}

/** Resolves when the program runs. Aborting `signal` kills it, also later. */
export async function startExec(
  deps: ExecDeps,
  id: string,
  request: LiveRequest & { keepStdin?: boolean },
  call: ExecCall,
): Promise<StartedExec> {
  const { access, publisher } = deps;
  const known = await access.findWithQuota(id, call.caller);
  const { exec, io } = await launch(deps, known, request, call).catch((error: unknown) => {
    publisher.refusal('exec', known.sandbox, error, call.caller.actor);
    throw error;
  });
  feed(exec, request.stdin);
  await exec.started;
  return { sandbox_id: id, exec, io, encoding: request.encoding ?? 'utf8' };
}

async function launch(
  deps: ExecDeps,
  known: SandboxWithQuota,
  request: LiveRequest & { keepStdin?: boolean },
  { caller, signal }: ExecCall,
): Promise<{ exec: Exec; io: SandboxIo }> {
  const { sandbox: row } = known;
  const spec = execSpec(deps, request, known);
  const held = await deps.access.open(row, signal);
  const canKeep = held.io.execs.kept !== undefined;
  if (request.mustKeep && !canKeep) {
    held.release();
    throw cannotKeep();
  }
  const keep = canKeep && request.keep !== undefined ? { keep: request.keep } : {};
  const exec = doneAs(held.io, request.user).exec({ ...spec, ...keep }, signal);
  const recorded = () =>
    deps.log.started({ sandbox_id: row.id, exec_id: exec.exec_id }, request, caller.actor);
  const isLeft = () => 'keep' in keep && signal.aborted;
  follow({ publisher: deps.publisher, row, by: caller.actor, recorded, isLeft }, exec, held);
  return { exec, io: held.io };
}

function cannotKeep(): ServiceError {
  return new ServiceError('not_implemented', 'This sandbox cannot keep a command without its connection.', {
    remedy: 'Leave keep out, or spawn a new sandbox; those of remote backends never can.',
  });
}

/** Throws `bad_request` for a request that no agent would run. */
export function execSpec(
  { settings, ids }: Pick<ExecDeps, 'settings' | 'ids'>,
  request: LiveRequest & { keepStdin?: boolean },
  { sandbox: row, quota }: SandboxWithQuota,
): ExecSpec {
  const { maxExecTimeoutMs: maxMs, ownExecTimeoutMs: ownMs } = effectiveLimits(quota, settings.ownerLimits);
  const timeouts = { defaultMs: settings.exec.defaultMs, maxMs, ownMs };
  const isLasting = request.detach || request.tty;
  return {
    exec_id: ids.exec(),
    argv: execArgv(request),
    label: execLabel(request.command),
    env: execEnv(row.env, request.env),
    timeoutMs:
      request.deadlineMs === undefined
        ? (isLasting ? lastingTimeoutMs : execTimeoutMs)(request.timeout, timeouts)
        : boundedDeadlineMs(request.deadlineMs, timeouts),
    stdin: request.keepStdin === true || request.stdin !== undefined,
    ...(request.tty && { pty: request.tty }),
    ...(request.detach && { detach: true }),
    ...(request.workdir !== undefined && { workdir: parsePath(request.workdir, 'workdir') }),
  };
}

/** What events of an exec say beside its course. */
export interface Noted {
  publisher: Publisher;
  row: SandboxRecord;
  /** The actor. */
  by: string;
}

/** Publishes the end of an exec. The stream of a detached one ends when it has only started: then nothing follows. */
export function noteEnd(
  { publisher, row, by }: Noted,
  exec_id: string,
  { exit_code, duration_ms, timed_out }: ExecExit,
): void {
  if (timed_out) publisher.note('exec.timeout', row, { exec_id, exit_code: TIMED_OUT, duration_ms }, by);
  else if (exit_code >= 0) publisher.note('exec.completed', row, { exec_id, exit_code, duration_ms }, by);
}

/** Publishes its events and releases the session at its end, whether or not the caller still waits. */
function follow(
  noted: Noted & { recorded(): NoteEnd; isLeft(): boolean },
  exec: Exec,
  held: OpenSandbox,
): void {
  const { publisher, row, by, recorded, isLeft } = noted;
  let noteRecord: NoteEnd = () => {};
  const { exec_id } = exec;
  const ended = (exit: ExecExit) => {
    noteEnd(noted, exec_id, exit);
    noteRecord(exit);
    held.release();
  };
  const failed = (error: unknown) => {
    // It runs on without this caller: who follows it next sees its end.
    if (isLeft()) return held.release();
    const { code, message } = asServiceError(error);
    publisher.note('exec.failed', row, { exec_id, code, message }, by);
    noteRecord();
    held.release(error);
  };
  exec.started.then(
    () => {
      publisher.note('exec.started', row, { exec_id }, by);
      noteRecord = recorded();
    },
    () => undefined,
  );
  exec.exit.then(ended, failed);
}

/** A program that does not read its input, or has ended, is not a failure. */
function feed(exec: Exec, stdin: string | undefined): void {
  if (stdin === undefined) return;
  void (async () => {
    if (stdin !== '') await exec.stdin.write(Buffer.from(stdin));
    exec.stdin.end();
  })().catch(() => undefined);
}
