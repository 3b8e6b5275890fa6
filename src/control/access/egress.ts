// Egress policies of sandboxes (docs/network.md).
import { appliedPolicy } from '../../domain/egress/applied.ts';
import { gatePorts } from '../../domain/egress/gate-ports.ts';
import { egressGroups } from '../../domain/egress/layers.ts';
import { suggestedRules } from '../../domain/egress/suggest.ts';
import { ServiceError } from '../../domain/errors.ts';
import { KeyedLock } from '../../domain/keyed-lock.ts';
import type { Clock } from '../../domain/ports.ts';
import type { Egress } from '../../egress/egress.ts';
import type { EgressLogLine, EgressPolicy, EgressStatus, SandboxEgress } from '../../schema/egress.ts';
import type { EventDraft } from '../../schema/event.ts';
import type { SandboxRecord, SandboxStore } from '../../store/store.ts';
import type { Caller } from '../api/caller.ts';
import type { EgressPolicies } from '../api/egress.ts';
import { orSilence } from '../async/silence.ts';
import { checkEgress, egressNotes, egressOff } from '../records/egress-rules.ts';
import type { Finder } from '../records/find.ts';
import type { Publisher } from '../records/publish.ts';
import type { Settings } from '../records/settings.ts';
import type { Credentials } from '../runtime/credentials.ts';
import { NOTHING } from '../runtime/egress-counters.ts';
import type { EgressGates } from '../runtime/egress-gates.ts';
import type { GateView } from '../runtime/held-gate.ts';

const LOG_LINES = 100;
const ALL_LINES = 1000;

export interface EgressPoliciesDeps {
  settings: Pick<Settings, 'egress'>;
  /** Absent where nothing can be dialed. */
  egress: Egress | undefined;
  gates: EgressGates;
  find: Finder;
  sandboxes: Pick<SandboxStore, 'transition'>;
  credentials: Pick<Credentials, 'sealed'>;
  publisher: Publisher;
  clock: Clock;
}

interface Deps extends EgressPoliciesDeps {
  /** Held while a policy is written and applied, so that both see changes in the same order. */
  changes: KeyedLock;
}

type WithPolicy = SandboxRecord & { egress: SandboxEgress };

/** Throws `bad_request` for rules in the configuration that the loader would have rejected. */
export function egressPolicies(given: EgressPoliciesDeps): EgressPolicies {
  const deps = { ...given, changes: new KeyedLock() };
  const config = deps.settings.egress;
  return {
    check: (request, caller) => check(deps, request, caller),
    groups: () => Object.entries(egressGroups(config)).map(([name, rules]) => ({ name: `@${name}`, rules })),
    get: async (id, caller) => statusOf(deps, await withPolicy(deps, id, caller)),
    replace: (id, policy, caller) => replace(deps, id, policy, caller),
    log: async (id, { limit = LOG_LINES, decision }, caller) =>
      (await gateOf(deps, id, caller)).log({ limit, ...(decision && { decision }) }),
    follow: async (id, query, caller, signal) =>
      followed(await gateOf(deps, id, caller), query, deps.clock, signal),
    suggest: async (id, caller) => {
      const lines = await (await gateOf(deps, id, caller)).log({ limit: ALL_LINES });
      return { allow: suggestedRules(lines) };
    },
  };
}

async function check(
  deps: EgressPoliciesDeps,
  { sandbox_id, egress: policy, host, port }: Parameters<EgressPolicies['check']>[0],
  caller: Caller,
): ReturnType<EgressPolicies['check']> {
  const config = deps.settings.egress;
  if ((sandbox_id === undefined) === (policy === undefined))
    throw new ServiceError('bad_request', 'Exactly one of sandbox_id and egress is needed.', {
      remedy: 'Name a sandbox, or send a policy.',
    });
  if (sandbox_id !== undefined)
    return shown(await (await gateOf(deps, sandbox_id, caller)).check(host, port));
  if (!deps.egress) throw egressOff(config);
  // No request is sent.
  const { credentials: _, ...spawn } = policy ?? {};
  checkEgress({ egress: spawn }, config);
  const ceiling = caller.owner === undefined ? {} : { owner_id: caller.owner };
  const order = await deps.gates.order({ egress: { mode: 'proxy', spawn }, ...ceiling });
  return shown(await deps.egress.check(appliedPolicy(order), host, port));
}

type Verdict = Awaited<ReturnType<Egress['check']>>;
const shown = ({ addresses, ...verdict }: Verdict) => ({
  ...verdict,
  ...(addresses && { addresses: [...addresses] }),
});

async function withPolicy({ find }: EgressPoliciesDeps, id: string, caller: Caller): Promise<WithPolicy> {
  const row = await find.usable(id, caller);
  const { egress } = row;
  if (egress) return { ...row, egress };
  throw new ServiceError('conflict', 'The sandbox was spawned without an egress policy.', {
    remedy: 'Spawn one with egress, for example --allow @packages.',
  });
}

async function gateOf(deps: EgressPoliciesDeps, id: string, caller: Caller): Promise<GateView> {
  const row = await withPolicy(deps, id, caller);
  if (!deps.egress) throw egressOff(deps.settings.egress);
  const gate = await deps.gates.reach(row);
  if (gate) return gate;
  throw new ServiceError('unavailable', 'The egress gate of the sandbox is not open.', {
    remedy: 'Try again. The sandbox is cut off meanwhile.',
    retryAfterMs: 1000,
  });
}

/** The row first: after a crash the new policy holds. */
async function replace(deps: Deps, id: string, spawn: EgressPolicy, caller: Caller): Promise<EgressStatus> {
  checkEgress({ egress: spawn }, deps.settings.egress);
  return deps.changes.run(id, async () => {
    const row = await withPolicy(deps, id, caller);
    checkMode(row.egress, spawn);
    const sealed = await deps.credentials.sealed(spawn, { owner_id: row.owner_id });
    const egress: SandboxEgress = { ...row.egress, spawn: sealed };
    const events = [changedEvent(deps, row, spawn, caller)];
    const { state, epoch } = row;
    const moved = await deps.sandboxes.transition({ id, epoch, from: [state], patch: { egress }, events });
    if (!moved) throw changedMeanwhile();
    deps.publisher.committed(moved.events);
    const changed = { ...moved.sandbox, egress };
    await deps.gates.change(changed);
    return statusOf(deps, changed);
  });
}

/** Its networks were made when it started. */
function checkMode({ mode }: SandboxEgress, wish: EgressPolicy): void {
  if (wish.mode === undefined || wish.mode === 'auto' || wish.mode === mode) return;
  throw new ServiceError('conflict', `The sandbox was spawned with the egress mode ${mode}, which stays.`, {
    remedy: `Leave mode out, or spawn a sandbox with the mode ${wish.mode}.`,
  });
}

function changedEvent(
  { publisher }: EgressPoliciesDeps,
  { id, owner_id }: SandboxRecord,
  policy: EgressPolicy,
  { actor }: Caller,
): EventDraft {
  const [allow_count, deny_count] = [policy.allow?.length ?? 0, policy.deny?.length ?? 0];
  return {
    type: 'egress.changed',
    timestamp: publisher.now(),
    sandbox_id: id,
    ...(owner_id !== undefined && { owner_id }),
    actor,
    data: { default: policy.default ?? 'deny', allow_count, deny_count },
  };
}

const changedMeanwhile = () =>
  new ServiceError('conflict', 'The sandbox changed meanwhile.', { remedy: 'Try again.' });

async function statusOf({ gates }: EgressPoliciesDeps, row: WithPolicy): Promise<EgressStatus> {
  const policy = appliedPolicy(await gates.order(row));
  const { layers, ports, max_connections, rate, max_bytes, log, credentials } = policy;
  const gate = await gates.reach(row).catch(() => undefined);
  await gate?.refresh?.();
  return {
    mode: row.egress.mode,
    ...(ports && { ports: [...ports] }),
    layers: layers.map(({ name, default: otherwise, allow, deny }) => ({
      name,
      default: otherwise,
      allow: allow.map(({ text }) => text),
      deny: deny.map(({ text }) => text),
    })),
    max_connections,
    bytes_per_second: rate,
    max_bytes,
    log,
    ...(credentials.length > 0 && { credentials: credentials.map(({ name }) => name) }),
    is_open: gate?.isOpen ?? false,
    counters: { ...(gate?.counters ?? NOTHING) },
    warnings: [
      ...egressNotes(row.egress),
      ...portNotes(layers, row.egress, gate?.missing ?? []),
      ...(gate && credentials.length > 0 && !gate.intercepts ? [ENDPOINT_NOTE] : []),
    ],
  };
}

const ENDPOINT_NOTE =
  'egress: credentials of this sandbox work by http://NAME.svc.internal alone. Spawn it with credentials for those in TLS.';

function portNotes(
  layers: Parameters<typeof gatePorts>[0],
  { mode, template, spawn }: SandboxEgress,
  missing: readonly number[],
): string[] {
  if (mode !== 'gate') return [];
  const isCut = gatePorts(layers, [template?.ports, spawn?.ports]).isCut;
  return [
    ...(isCut
      ? [
          'egress: rules cover more ports than the 64 that a transparent gate opens. Name those that programs need in ports.',
        ]
      : []),
    ...(missing.length > 0 ? [`egress: the gate could not open the ports ${missing.join(', ')}.`] : []),
  ];
}

async function* followed(
  gate: GateView,
  { limit = LOG_LINES, decision }: Parameters<EgressPolicies['follow']>[1],
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<EgressLogLine | undefined> {
  const over = new AbortController();
  // First, so that none is missed. Lines of the meantime come by both.
  const news = lines(gate.follow(AbortSignal.any([signal, over.signal])));
  const isMeant = (line: EgressLogLine) => decision === undefined || line.decision === decision;
  try {
    const kept = await gate.log({ limit: ALL_LINES });
    const twice = new Set(kept.map((line) => JSON.stringify(line)));
    yield* kept.filter(isMeant).slice(-limit);
    for await (const line of orSilence(news, clock)) {
      if (line === undefined) yield line;
      else if (twice.has(JSON.stringify(line))) continue;
      else {
        twice.clear();
        if (isMeant(line)) yield line;
      }
    }
  } finally {
    over.abort();
  }
}

async function* lines(news: AsyncIterable<EgressLogLine>): AsyncGenerator<EgressLogLine> {
  yield* news;
}
