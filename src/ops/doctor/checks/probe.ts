// `--probe`: one sandbox through a provider, from nothing to nothing. It belongs to the doctor's own instance, so that the
// service neither sees it nor is seen. What a killed doctor left is ended by a later one.
import type { SandboxIo } from '../../../agent/io.ts';
import type { Clock } from '../../../domain/ports.ts';
import type { Provider, RuntimeListing, RuntimeRef } from '../../../providers/provider.ts';
import type { ProviderKind } from '../../../schema/provider.ts';
import {
  type Check,
  type CheckContext,
  type CheckGroup,
  type Finding,
  fail,
  pass,
  skip,
  warn,
} from '../check.ts';
import { answerOf, runToEnd, SERVE_ONCE } from '../probe-commands.ts';
import { isDisabled } from './provider.ts';

const STEP_MS = 30_000;
const START_MS = 90_000;
const LIFE_MS = 5 * 60_000;
const MEMORY_MB = 128;
const PATH = '/workspace/svc-doctor';
const CONTENT = Buffer.from('What is written is read.\n');

const LINK_REMEDY =
  'Commands and files would be faster. If it cannot be changed, set providers.container.link to attach.';

/** What the steps hand on. */
interface ProbeRun {
  /** Kept after the sandbox has ended. */
  id?: string;
  provider?: Provider;
  ref?: RuntimeRef;
  io?: SandboxIo;
}

interface Started extends Required<ProbeRun> {
  clock: Clock;
}

type Step = (run: Started, signal: AbortSignal) => Promise<Finding>;

export function probeGroup(kind: ProviderKind): CheckGroup {
  const run: ProbeRun = {};
  const step = (name: string, title: string, look: Step): Check => ({
    name,
    title,
    deadlineMs: STEP_MS,
    look: async ({ clock }, signal) =>
      isStarted(run) ? look({ ...run, clock }, signal) : skip('The sandbox did not start.'),
  });
  return {
    id: `probe_${kind}`,
    title: `Probe of provider ${kind}`,
    unless: isDisabled(kind),
    checks: [
      {
        name: 'start',
        title: 'Start',
        deadlineMs: START_MS,
        look: (context, signal) => start(context, { kind, run }, signal),
      },
      step('exec', 'Run a command', exec),
      step('write', 'Write a file', write),
      step('read', 'Read the file', read),
      step('connect', 'Connect to a port', connect),
      ...(kind === 'container' ? [step('link', 'Connection to the agent', link)] : []),
      step('destroy', 'Destroy', (started, signal) => destroy(started, run, signal)),
      {
        name: 'nothing_left',
        title: 'No leftover runtimes',
        deadlineMs: STEP_MS,
        look: (context, signal) => nothingLeft(context, { kind, run }, signal),
      },
    ],
    finish: async () => {
      run.io?.close();
      if (run.provider && run.ref) await run.provider.destroy(run.ref, AbortSignal.timeout(STEP_MS));
    },
  };
}

function isStarted(run: ProbeRun): run is Required<ProbeRun> {
  return run.io !== undefined;
}

async function start(
  context: CheckContext,
  { kind, run }: { kind: ProviderKind; run: ProbeRun },
  signal: AbortSignal,
) {
  const provider = await context.provider(kind);
  for (const runtime of await provider.list(signal))
    if (isExpired(runtime, context.clock.now())) await provider.destroy(runtime, signal);
  const ref = { id: context.ids.sandbox(), epoch: 1 };
  Object.assign(run, { provider, ref, id: ref.id });
  const created = await provider.create(
    {
      ...ref,
      image: kind === 'container' ? context.config.defaults.image : undefined,
      memory_mb: MEMORY_MB,
      vcpus: 1,
      network: 'default',
      expires_at: new Date(context.clock.now() + LIFE_MS).toISOString(),
    },
    signal,
  );
  Object.assign(run, { io: await provider.attach({ ...ref, runtime_id: created.runtime_id }, signal) });
  return pass(`The sandbox runs the image ${created.image}.`);
}

const exec: Step = async ({ io }, signal) => {
  const { exit_code, stdout } = await runToEnd(io, ['/bin/sh', '-c', 'echo $((6 * 7))'], signal);
  if (exit_code === 0 && stdout === '42\n') return pass('The shell command returned the expected output.');
  return fail(`The shell ended with exit code ${exit_code}.`, 'Use an image with /bin/sh.');
};

const write: Step = async ({ io }, signal) => {
  const { size } = await io.files.write(PATH, CONTENT, {}, signal);
  return size === CONTENT.length
    ? pass(`Wrote ${size} bytes.`)
    : fail(`Only ${size} of ${CONTENT.length} bytes were written.`);
};

const read: Step = async ({ io }, signal) => {
  const { content } = await io.files.read(PATH, { offset: 0 }, signal);
  const found = Buffer.concat(await content.toArray());
  return found.equals(CONTENT) ? pass('The contents are correct.') : fail('The contents are wrong.');
};

const connect: Step = async ({ io, clock, provider }, signal) => {
  if (!provider.capabilities.includes('connect'))
    return skip('The provider does not support connections to ports.');
  const answer = await answerOf(io, clock, signal);
  if (answer === SERVE_ONCE.answer) return pass('A program in the sandbox answers on the port.');
  if (answer === undefined) return skip('The image has no python3, busybox or nc to serve a port.');
  return fail('The port returned a wrong answer.');
};

/** Known since the sandbox started. */
const link: Step = async ({ provider }, signal) => {
  const { findings } = await provider.probe(signal);
  const found = findings.find(({ name }) => name === 'link');
  if (!found) return skip('The engine did not answer.');
  return found.ok ? pass(found.message) : warn(found.message, LINK_REMEDY);
};

async function destroy({ provider, ref, io }: Started, run: ProbeRun, signal: AbortSignal): Promise<Finding> {
  io.close();
  await provider.destroy(ref, signal);
  delete run.ref;
  const state = await provider.inspect(ref, signal);
  return state === 'gone' ? pass('The sandbox has ended.') : fail(`The sandbox is still ${state}.`);
}

/** A younger one may be another doctor's, that works at this moment. */
function isExpired({ created_at }: Pick<RuntimeListing, 'created_at'>, now: number): boolean {
  return !(now - Date.parse(created_at) < LIFE_MS);
}

async function nothingLeft(
  context: CheckContext,
  { kind, run }: { kind: ProviderKind; run: ProbeRun },
  signal: AbortSignal,
) {
  if (run.ref) return skip('The sandbox was not destroyed.');
  const left = await (await context.provider(kind)).list(signal);
  const isLeft = left.some(
    ({ id, created_at }) => id === run.id || isExpired({ created_at }, context.clock.now()),
  );
  if (!isLeft) return pass('No runtime of the doctor is left.');
  return fail(
    'A runtime of the doctor still exists.',
    'Run svc doctor --probe again in five minutes. It ends older runtimes of the doctor.',
  );
}
