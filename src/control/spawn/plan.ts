// Plans the row for a spawn request: defaults, limits, owner. It has no side effects.
import { requireOwner } from '../../domain/access.ts';
import { ServiceError } from '../../domain/errors.ts';
import { checkEnv } from '../../domain/exec-request.ts';
import { parseImage } from '../../domain/image.ts';
import { imageForms } from '../../domain/image-name.ts';
import { imagePolicy } from '../../domain/image-policy.ts';
import { parseOwner } from '../../domain/owner.ts';
import { opensPrivate } from '../../domain/private-images.ts';
import type { OwnerLimits } from '../../domain/quota.ts';
import { lifeMs } from '../../domain/ttl.ts';
import { demandOf, type WorkerDemand } from '../../domain/worker-demand.ts';
import type { Provider } from '../../providers/provider.ts';
import type { SandboxEgress } from '../../schema/egress.ts';
import type { ImagePolicy } from '../../schema/image-policy.ts';
import type { SpawnRequest } from '../../schema/sandbox.ts';
import type { SandboxRecord } from '../../store/store.ts';
import type { Caller } from '../api/caller.ts';
import type { Settings } from '../records/settings.ts';
import type { RuntimePlan } from '../runtime/runtimes.ts';
import { egressCapability, egressEnv } from './egress.ts';

export interface SpawnPlan extends RuntimePlan {
  warnings: string[];
  /** Requested, or the default; the row has what this host can provide. */
  vcpus: number;
  /** Commands that run before the sandbox is `running`. */
  setup: readonly string[];
  /** Its policy, which the row gets with `running`. */
  egress?: SandboxEgress | undefined;
  /** This server cannot hold its policy. */
  isElsewhere?: boolean | undefined;
  /** What it demands of its worker. */
  demand?: WorkerDemand | undefined;
}

export interface PlanFacts {
  settings: Settings;
  /** Processors of the host of the provider. */
  cpus: number;
  provider: Provider;
  setup: readonly string[];
  /** The caller itself requested the default network; a template always names one. */
  asksNetwork?: boolean;
  /** The policies of the spawn and its template. */
  egress?: SandboxEgress | undefined;
  /** This server cannot hold them. */
  isElsewhere?: boolean | undefined;
  /** Whether it may use images that were pulled with credentials; decided by the caller without. */
  privateImages?: boolean;
  /** The limits of the owner. */
  limits: OwnerLimits;
  id: string;
  /** In a pool: the id of the VM, if a new one is needed. */
  vm_id?: string | undefined;
  /** Wall clock, ms. */
  now: number;
}

/** Throws `bad_request`. Admission refuses a ttl over the maximum. */
export function planSpawn(request: SpawnRequest, caller: Caller, facts: PlanFacts): SpawnPlan {
  const { settings, provider, now } = facts;
  const owner_id = spawnOwner(request, caller, settings);
  const given = request.env ?? {};
  checkEnv(given);
  const isShared = settings.pool !== undefined;
  const { egress } = facts;
  const env = egress ? egressEnv(settings.egress, egress, given) : given;
  if (isShared) checkShared(request, owner_id, settings);
  else checkNetwork(request, provider);
  const wanted = (isShared ? undefined : request.vcpus) ?? settings.vcpus;
  const vcpus = Math.min(wanted, facts.cpus);
  const image = chooseImage(isShared ? {} : request, settings, provider);
  const row: SandboxRecord = {
    id: facts.id,
    epoch: 1,
    state: 'creating',
    provider: provider.kind,
    image: image ?? settings.image,
    memory_mb: (isShared ? undefined : request.memory_mb) ?? settings.memory_mb,
    vcpus,
    network: egress ? 'none' : (request.network ?? 'default'),
    created_at: new Date(now).toISOString(),
    expires_at: new Date(now + lifeMs(request.ttl, settings.ttlMs, facts.limits)).toISOString(),
    metadata: request.metadata ?? {},
    env,
    worker_id: 'local',
    created_by: caller.actor,
    ...(owner_id !== undefined && { owner_id }),
    ...(request.template !== undefined && { template: request.template }),
    ...(facts.vm_id !== undefined && { vm_id: facts.vm_id }),
  };
  const warnings = [
    ...(isShared ? sharedWarnings(request, row) : vcpuWarning(request.vcpus, vcpus)),
    ...(egress ? [] : networkWarning(facts)),
  ];
  const strict = request.strict ?? settings.strict;
  const image_policy = policyOf(request, settings);
  const private_images = facts.privateImages ?? opensPrivate(settings, caller, owner_id);
  const demand = demandOf(egress ? { ...request, capability: egressCapability(egress) } : request);
  const gate = egress?.mode === 'gate' && { gate: true as const };
  const { setup, isElsewhere } = facts;
  // What is copied comes last, as little as it is (order.ts).
  return {
    row,
    image,
    image_policy,
    private_images,
    warnings,
    strict,
    vcpus: wanted,
    setup,
    egress,
    isElsewhere,
    demand,
    ...gate,
  };
}

/** The default image stands for what the provider runs by default, also when a template or a client names it. */
function policyOf({ image, pull }: SpawnRequest, settings: Settings): ImagePolicy {
  const policy = imagePolicy(settings.pull, pull);
  if (pull !== undefined) return policy;
  if (image === undefined) return 'optional';
  const forms = imageForms(settings.image);
  return imageForms(image).some((form) => forms.includes(form)) ? 'optional' : policy;
}

/** What a sandbox in a shared VM cannot have of its own (docs/design/api.md#pool). */
function checkShared(request: SpawnRequest, owner: string | undefined, settings: Settings): void {
  const refuse = (message: string, remedy: string) => new ServiceError('bad_request', message, { remedy });
  if (owner === undefined) throw refuse('X-User-ID is missing.', 'Name the user in the X-User-ID header.');
  if (request.image !== undefined && request.image !== settings.image)
    throw refuse(`Sandboxes of this server run on ${settings.image}.`, 'Leave image out.');
  if (request.network === 'none')
    throw refuse('A sandbox in a shared VM has the network of the VM.', 'Leave network out.');
}

function sharedWarnings(request: SpawnRequest, row: SandboxRecord): string[] {
  const differs = (['memory_mb', 'vcpus'] as const).filter(
    (key) => request[key] !== undefined && request[key] !== row[key],
  );
  return differs.map((key) => `${key}: the sandbox shares the ${row[key]} of its VM.`);
}

/** The owner: X-User-ID takes precedence over `owner_id`. */
export function spawnOwner(
  request: Pick<SpawnRequest, 'owner_id'>,
  caller: Caller,
  settings: Pick<Settings, 'enforce_owner'>,
): string | undefined {
  requireOwner(settings, caller);
  const named = request.owner_id === undefined ? undefined : parseOwner(request.owner_id, 'owner_id');
  return caller.owner ?? named;
}

/** Uses the configured default image only where the provider has it: a default must not cause a warning. */
function chooseImage(request: SpawnRequest, settings: Settings, provider: Provider): string | undefined {
  if (request.image !== undefined) return parseImage(request.image, 'image');
  const { images } = provider.describe();
  return images.includes('*') || images.includes(settings.image) ? settings.image : undefined;
}

function checkNetwork({ network }: SpawnRequest, { kind, capabilities }: Provider): void {
  if (network !== 'none' || capabilities.includes('network_none')) return;
  throw new ServiceError('not_implemented', `Provider ${kind} cannot cut a sandbox off the network here.`);
}

function networkWarning({ asksNetwork = false, provider }: PlanFacts): string[] {
  if (!asksNetwork || provider.hasNetwork !== false) return [];
  return [`network: sandboxes of ${provider.kind} have no network here.`];
}

function vcpuWarning(requested: number | undefined, given: number): string[] {
  if (requested === undefined || requested <= given) return [];
  return [`vcpus: ${requested} requested; the host has ${given}, so ${given} apply.`];
}
