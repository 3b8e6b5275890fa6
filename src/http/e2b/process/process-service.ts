// process.Process: starting programs, following them, their input, signals and terminals.
import type { ControlPlane } from '../../../control/api/control-plane.ts';
import type { LiveRequest } from '../../../control/api/execs.ts';
import { asServiceError } from '../../../domain/errors.ts';
import type { Clock } from '../../../domain/ports.ts';
import { ExecRequest } from '../../../schema/exec.ts';
import { validator } from '../../../schema/validator.ts';
import { environmentOf } from '../environment.ts';
import type { Marks } from '../marks.ts';
import type { Fields } from '../read-body.ts';
import { RpcFailure } from '../rpc/failure.ts';
import { type ClientStream, type RpcCall, type ServerStream, timeoutOf, type Unary } from '../rpc/rpc.ts';
import { type People, pathIn } from '../users.ts';
import { KeptProcesses, noteOf } from './kept-processes.ts';
import { LiveProcess, type ProcessConfig, type ProcessFacts } from './live-process.ts';
import { ProcessTable } from './process-table.ts';

/** Numbers of processes whose backend does not tell theirs begin here: above those of a kernel. */
const FIRST_GIVEN = 1 << 23;
const SIGNALS = {
  SIGNAL_SIGTERM: 'SIGTERM',
  SIGNAL_SIGKILL: 'SIGKILL',
  15: 'SIGTERM',
  9: 'SIGKILL',
} as const;
const check = validator(ExecRequest, 'The process');

export interface ProcessDeps {
  control: Pick<ControlPlane, 'exec'>;
  people: People;
  marks: Marks;
  clock: Clock;
  /** The value of `E2B_TEMPLATE_ID` in a sandbox. */
  templateOf(call: RpcCall): Promise<string>;
}

export interface ProcessService {
  unary: Record<string, Unary>;
  streams: Record<string, ServerStream>;
  uploads: Record<string, ClientStream>;
}

export function processService(deps: ProcessDeps): ProcessService {
  const table = new ProcessTable(deps.clock);
  const starter = { ...deps, table, given: FIRST_GIVEN };
  const kept = new KeptProcesses(deps.control, table, deps.clock);
  const of = (call: RpcCall, message: Fields) => kept.find(call, message.object('process'));
  return {
    streams: {
      Start: async (call, message, out) => {
        const process = await start(starter, call, message);
        await process.follow(out, call.signal);
      },
      Connect: async (call, message, out) => {
        const found = await kept.find(call, message.object('process'), { withEnded: true });
        const view = bounded(call, deps.clock);
        await found.follow(out, view.signal);
        if (view.isOver()) throw new RpcFailure('deadline_exceeded', 'the deadline of the call is over');
      },
    },
    unary: {
      List: async (call) => ({ processes: (await kept.running(call)).map(listed) }),
      SendInput: async (call, message) => {
        await sendInput(await of(call, message), message.object('input'));
        return {};
      },
      CloseStdin: async (call, message) => {
        await (await of(call, message)).closeInput();
        return {};
      },
      SendSignal: async (call, message) => {
        await signal(await of(call, message), message);
        return {};
      },
      Update: async (call, message) => {
        const size = message.object('pty')?.object('size');
        const process = await of(call, message);
        if (size) await process.resize(sideOf(size, 'rows'), sideOf(size, 'cols'));
        return {};
      },
    },
    uploads: {
      StreamInput: async (call, messages) => {
        let process: LiveProcess | undefined;
        for await (const message of messages) {
          const begin = message.object('start');
          if (begin) process = await kept.find(call, begin.object('process'));
          const data = message.object('data');
          if (data && !process) throw new RpcFailure('invalid_argument', 'the first message must be start');
          if (data && process) await sendInput(process, data.object('input'));
        }
        return {};
      },
    },
  };
}

interface Starter extends ProcessDeps {
  table: ProcessTable;
  given: number;
}

/** Resolves when it runs. It does not end with the client. Throws RpcFailure for what cannot be started. */
async function start(deps: Starter, call: RpcCall, message: Fields): Promise<LiveProcess> {
  const { table, control, clock } = deps;
  const { sandbox_id, caller, headers } = call;
  table.requireRoom(sandbox_id);
  const config = configOf(message.object('process'));
  const deadlineMs = timeoutOf(headers);
  const request = await requestOf(deps, call, message, config);
  const { signal } = new AbortController();
  const facts = {
    tag: message.text('tag'),
    config,
    isPty: request.tty !== undefined,
    hasInput: request.noInput !== true,
  };
  const exec = await control.exec
    .open(sandbox_id, { ...request, deadlineMs, keep: noteOf(facts) }, caller, signal)
    .catch((error: unknown) => {
      if (asServiceError(error).code !== 'not_found' || !request.workdir) throw error;
      throw new RpcFailure('invalid_argument', `cwd '${request.workdir}' does not exist`);
    });
  const process = new LiveProcess(
    exec,
    { ...facts, pid: exec.pid?.() ?? deps.given++ },
    { clock, deadlineMs },
  );
  table.add(sandbox_id, process);
  return process;
}

function configOf(process: Fields | undefined): ProcessConfig {
  const cmd = process?.text('cmd') ?? '';
  if (cmd === '') throw new RpcFailure('invalid_argument', 'process.cmd is empty');
  const args = process?.list('args') ?? [];
  if (!args.every((arg) => typeof arg === 'string'))
    throw new RpcFailure('invalid_argument', 'process.args must be texts');
  const cwd = process?.text('cwd');
  const envs = process?.texts('envs') ?? {};
  return { cmd, args: args as string[], envs, ...(cwd !== undefined && { cwd }) };
}

async function requestOf(
  deps: Starter,
  call: RpcCall,
  message: Fields,
  { cmd, args, envs, cwd = '' }: ProcessConfig,
): Promise<LiveRequest> {
  const [person, template] = await Promise.all([deps.people.of(call, call.user), deps.templateOf(call)]);
  await deps.marks.ready(call, template);
  const workdir = pathIn(person.home, cwd);
  const size = message.object('pty')?.object('size');
  const own = { ...environmentOf(person, { ...call, template }), PWD: workdir };
  const request = { command: cmd, mode: 'argv' as const, args, env: { ...own, ...envs }, workdir };
  const problem = check(request);
  if (problem !== undefined) throw new RpcFailure('invalid_argument', problem);
  return {
    ...request,
    user: person.account,
    ...(size && { tty: { rows: sideOf(size, 'rows'), cols: sideOf(size, 'cols') } }),
    ...(message.flag('stdin') === false && !size && { noInput: true as const }),
  };
}

function sideOf(size: Fields, side: 'rows' | 'cols'): number {
  const count = size.number(side) ?? 0;
  if (!Number.isInteger(count) || count < 1 || count > 65_535)
    throw new RpcFailure('invalid_argument', `pty.size.${side} must be a whole number from 1 to 65535`);
  return count;
}

async function sendInput(process: LiveProcess, input: Fields | undefined): Promise<void> {
  const [stdin, pty] = [input?.text('stdin'), input?.text('pty')];
  const text = pty ?? stdin;
  if (text === undefined) throw new RpcFailure('invalid_argument', 'input must be stdin or pty');
  await process.write(Buffer.from(text, 'base64'), pty !== undefined);
}

async function signal(process: LiveProcess, message: Fields): Promise<void> {
  const asked = nameOf(message);
  const name = Object.hasOwn(SIGNALS, asked) ? SIGNALS[asked as keyof typeof SIGNALS] : undefined;
  if (name === undefined)
    throw new RpcFailure('unimplemented', `signal ${asked.slice(0, 64)} is not supported`);
  await process.signal(name);
}

/** Enums come by name or by number. */
function nameOf(message: Fields): string {
  try {
    return message.text('signal') ?? '';
  } catch {
    return String(message.number('signal'));
  }
}

/** Leaves out the environment, which may hold secrets of another client. */
function listed({ pid, tag, config }: ProcessFacts): object {
  return { pid, ...(tag !== undefined && { tag }), config: { ...config, envs: {} } };
}

/** The deadline of a view ends the view, not the process. */
function bounded({ headers, signal }: RpcCall, clock: Clock): { signal: AbortSignal; isOver(): boolean } {
  const ms = timeoutOf(headers);
  const over = new AbortController();
  const isOver = () => over.signal.aborted;
  if (ms === 0) return { signal, isOver };
  const timer = clock.after(ms, () => over.abort());
  signal.addEventListener('abort', () => timer.cancel(), { once: true });
  return { signal: AbortSignal.any([signal, over.signal]), isOver };
}
