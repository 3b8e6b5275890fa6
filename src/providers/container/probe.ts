// Checks that containers can start: the engine answers and has the runtime and the network, and the agent is installed.
// Creates nothing.
import { findAgent } from '../../agent/binary.ts';
import { asServiceError } from '../../domain/errors.ts';
import { explained, type Finding, finding } from '../findings.ts';
import type { ProbeReport } from '../provider.ts';
import { refusedWith } from './engine-faults.ts';
import { type EngineFacts, rejectPodman } from './facts.ts';
import { OWN_NETWORK } from './network.ts';
import { isGvisor } from './runtime-kernel.ts';
import type { ContainerState } from './state.ts';

/** Never throws; settles when `signal` aborts. */
export async function probeContainer(state: ContainerState, signal: AbortSignal): Promise<ProbeReport> {
  const engine = await engineFinding(state, signal);
  if (!engine.facts) return { healthy: false, message: engine.message, findings: [withoutFacts(engine)] };
  const needed = [
    withoutFacts(engine),
    runtimeFinding(state, engine.facts),
    await networkFinding(state, signal),
    await agentFinding(state),
  ];
  const wrong = needed.filter(({ ok }) => !ok);
  const image = await defaultImageFinding(state, signal);
  const findings = [...needed, limitsFinding(engine.facts), linkFinding(state), ...(image ? [image] : [])];
  if (wrong.length === 0) return { healthy: true, findings };
  return { healthy: false, message: wrong.map(({ message }) => message).join(' '), findings };
}

interface EngineFinding extends Finding {
  facts?: EngineFacts;
}

const withoutFacts = ({ name, ok, message }: EngineFinding): Finding => ({ name, ok, message });

async function engineFinding(state: ContainerState, signal: AbortSignal): Promise<EngineFinding> {
  try {
    // Facts may be a minute old, so each probe also checks that the engine answers.
    const ping = { method: 'GET', path: '/_ping', what: 'answer', connection: 'own' } as const;
    await state.engine.bytes(ping, signal);
    const facts = rejectPodman(await state.facts.read(signal));
    return { name: 'engine', ok: true, message: `Engine ${facts.version} answers.`, facts };
  } catch (error) {
    return { name: 'engine', ok: false, message: await engineWords(state, error, signal) };
  }
}

/** Includes the engine's address, unlike errors for callers. */
async function engineWords(state: ContainerState, error: unknown, signal: AbortSignal): Promise<string> {
  if (signal.aborted) return 'The probe did not end in time.';
  const label = await state.engine.label().catch(() => undefined);
  return [label && `${label}:`, explained(error)].filter(Boolean).join(' ');
}

function runtimeFinding({ config }: ContainerState, facts: EngineFacts): Finding {
  const name = config.runtime || facts.default_runtime;
  if (config.runtime === '' || facts.runtimes.includes(config.runtime))
    return {
      name: 'runtime',
      ok: true,
      message: `Containers run with ${name || "the engine's default runtime"}.`,
    };
  const message = `Runtime ${name} is not registered with the engine; it has ${facts.runtimes.join(', ') || 'none'}.`;
  return { name: 'runtime', ok: false, message };
}

async function networkFinding({ config, engine }: ContainerState, signal: AbortSignal): Promise<Finding> {
  const name = config.network_mode;
  if (name === 'none' || name === 'host') return { name: 'network', ok: true, message: `Network ${name}.` };
  try {
    const path = `/networks/${encodeURIComponent(name)}`;
    await engine.bytes({ method: 'GET', path, what: 'look up the network' }, signal);
    return { name: 'network', ok: true, message: `Network ${name} exists.` };
  } catch (error) {
    if (!refusedWith(error, 404))
      return { name: 'network', ok: false, message: asServiceError(error).message };
    if (name === OWN_NETWORK)
      return {
        name: 'network',
        ok: true,
        message: `Network ${name} will be created with the first sandbox.`,
      };
    return {
      name: 'network',
      ok: false,
      message: `Network ${name} does not exist on the engine. Create it there.`,
    };
  }
}

const agentFinding = ({ packageRoot }: ContainerState) =>
  finding('agent', async () => {
    await findAgent(packageRoot, process.arch);
    return 'The guest agent is installed.';
  });

function limitsFinding({ limits }: EngineFacts): Finding {
  const names = Object.entries(limits);
  const missing = names.filter(([, enforced]) => !enforced).map(([name]) => name);
  if (missing.length === 0)
    return {
      name: 'limits',
      ok: true,
      message: `The engine limits ${names.map(([name]) => name).join(', ')}.`,
    };
  return {
    name: 'limits',
    ok: false,
    message: `The kernel of the engine does not limit ${missing.join(', ')}.`,
  };
}

/** Does not make the provider unhealthy: the engine's streams do the same, and take longer. */
function linkFinding({ links, config }: ContainerState): Finding {
  const { state } = links;
  const message = {
    'configured off': 'Sandboxes are reached through the streams of the engine, as configured.',
    'not working': `Sandboxes are reached through the streams of the engine, which take longer: ${withoutLink(config.runtime)}`,
    'not tried': 'Whether sandboxes can connect to a socket of the server is found out by the first one.',
    working: 'Sandboxes connect to a socket of the server, which is faster than the streams of the engine.',
  }[state];
  return { name: 'link', ok: state !== 'not working', message };
}

function withoutLink(runtime: string): string {
  if (isGvisor(runtime))
    return 'gVisor lets them connect to a socket of the server only with --host-uds=open in its runtimeArgs.';
  return 'the engine does not see the run folder of the server, or they cannot connect to a socket in it.';
}

/** How many available images the finding names. */
const MOST_NAMED = 3;
/** Images without a name, and the second names of images that we pulled (pulled-images.ts). */
const HIDDEN = /^(?:<none>|svc-pulled:)/;

/** Undefined without a default image, or if the engine does not answer. Never throws. */
export async function defaultImageFinding(
  state: ContainerState,
  signal: AbortSignal,
): Promise<Finding | undefined> {
  const { images, config, defaultImage } = state;
  if (defaultImage === undefined || defaultImage === '') return undefined;
  try {
    if ((await images.idOf(defaultImage, signal)) !== undefined)
      return { name: 'image', ok: true, message: `Image ${defaultImage} is available.` };
    const others = await presentImages(state, signal);
    const what =
      config.pull === 'never'
        ? 'and pulling is disabled'
        : 'and will be pulled by the first sandbox that uses it';
    const there = others.length === 0 ? '' : ` Available: ${others.slice(0, MOST_NAMED).join(', ')}.`;
    return {
      name: 'image',
      ok: false,
      message: `The default image ${defaultImage} is not on the engine, ${what}.${there}`,
    };
  } catch {
    return undefined;
  }
}

/** Names of the images on the engine, with tags, as the engine shortens them. */
export async function presentImages(
  { engine }: Pick<ContainerState, 'engine'>,
  signal: AbortSignal,
): Promise<string[]> {
  return named(await engine.json({ method: 'GET', path: '/images/json', what: 'list images' }, signal));
}

function named(answer: unknown): string[] {
  const all = Array.isArray(answer) ? (answer as { RepoTags?: unknown }[]) : [];
  const tags = all.flatMap((image) => (Array.isArray(image?.RepoTags) ? image.RepoTags : []));
  return tags.filter((tag): tag is string => typeof tag === 'string' && !HIDDEN.test(tag));
}
