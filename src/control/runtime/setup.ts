// Runs the setup commands of a template in order, before the sandbox is `running`, so that nobody sees a partial
// setup. Their output goes to the console of the sandbox; the end of it, and the failed command, into the error.
import type { Exec, ExecExit, ExecSpec, SandboxIo } from '../../agent/io.ts';
import type { Sessions } from '../../agent/sessions.ts';
import { ServiceError } from '../../domain/errors.ts';
import { execArgv, execEnv, execLabel, execTimeoutMs } from '../../domain/exec-request.ts';
import { OutputTail } from '../../domain/output.ts';
import type { Clock, Ids, Logger } from '../../domain/ports.ts';
import type { Settings } from '../records/settings.ts';
import type { Runtime, Runtimes } from './runtimes.ts';

const KEPT_BYTES = 4096;

export interface SetupDeps {
  sessions: Pick<Sessions<Runtime>, 'acquire'>;
  runtimes: Pick<Runtimes, 'capabilities'>;
  settings: Settings;
  ids: Ids;
  clock: Clock;
  logger: Logger;
}

export interface SetupTarget extends Runtime {
  env: Record<string, string>;
}

/**
 * Resolves when all have exited with 0. Throws `bad_request` for one that has not, `timeout` when all together took
 * longer than `defaults.max_exec_timeout`; `details` holds the number of the command, counted from 1.
 */
export async function runSetup(
  deps: SetupDeps,
  target: SetupTarget,
  commands: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  if (commands.length === 0) return;
  const { clock, settings } = deps;
  const until =
    clock.monotonic() +
    execTimeoutMs('0s', {
      defaultMs: settings.exec.defaultMs,
      maxMs: settings.ownerLimits.maxExecTimeoutMs,
    });
  const { io, release } = await deps.sessions.acquire(target, signal);
  try {
    for (const [index, command] of commands.entries()) {
      const timeoutMs = Math.max(1, until - clock.monotonic());
      await runCommand(deps, io, { target, command, place: index + 1, timeoutMs }, signal);
    }
  } finally {
    release();
  }
}

interface Step {
  target: SetupTarget;
  command: string;
  place: number;
  timeoutMs: number;
}

async function runCommand(deps: SetupDeps, io: SandboxIo, step: Step, signal: AbortSignal): Promise<void> {
  const { target, place } = step;
  const exec = await start(deps, io, step, signal);
  const tail = new OutputTail(KEPT_BYTES);
  for await (const { data } of exec.output) tail.add(data);
  const exit = await exec.exit;
  const { exit_code, duration_ms } = exit;
  deps.logger.debug({ sandbox_id: target.id, command: place, exit_code, ms: duration_ms }, 'setup command');
  if (exit.timed_out || exit_code !== 0) throw failed(step, exit, tail.text());
}

/** Runs detached where the sandbox supports it: then its output also appears in the console. */
async function start(
  { runtimes, ids }: SetupDeps,
  io: SandboxIo,
  { target, command, timeoutMs }: Step,
  signal: AbortSignal,
): Promise<Exec> {
  const spec: ExecSpec = {
    exec_id: ids.exec(),
    argv: execArgv({ command }),
    label: execLabel(command),
    env: execEnv(target.env),
    timeoutMs,
  };
  if (!(await runtimes.capabilities(target)).includes('detach')) return io.exec(spec, signal);
  await io.exec({ ...spec, detach: true }, signal).exit;
  return io.execs.attach(spec.exec_id, true, signal);
}

function failed({ command, place }: Step, { exit_code, timed_out }: ExecExit, output: string): ServiceError {
  const details = { setup_command: place, command: execLabel(command), output };
  if (timed_out)
    return new ServiceError('timeout', `Setup command ${place} did not end in time.`, {
      remedy: 'Make it shorter, or raise defaults.max_exec_timeout.',
      details,
    });
  return new ServiceError('bad_request', `Setup command ${place} ended with ${exit_code}.`, {
    remedy: 'Fix the template. details.output holds the end of the command output.',
    details: { ...details, exit_code },
  });
}
