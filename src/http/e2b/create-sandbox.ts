// Creating a sandbox by E2B's request: from its fields to ours. What cannot be done is refused with a reason; what is unknown is
// ignored, since their SDKs add fields every month.
import type { ControlPlane } from '../../control/api/control-plane.ts';
import { asServiceError, ServiceError } from '../../domain/errors.ts';
import { portNotes } from '../../domain/port-terms.ts';
import { type Sandbox, SpawnRequest } from '../../schema/sandbox.ts';
import { validator } from '../../schema/validator.ts';
import { badWish } from './answers.ts';
import type { ControlCall } from './control-call.ts';
import { networkOf, portsOf, refuseUnsupported as refuseUnsupportedNetwork } from './network-wish.ts';
import type { Fields } from './read-body.ts';
import { BUILT_IN, TEMPLATE_NOTE } from './sandbox-view.ts';

const check = validator(SpawnRequest, 'The request');

/** Throws `not_found` for an unknown template, `bad_request` for what cannot be done. */
export async function createSandbox(
  { body, caller, signal, idempotencyKey, settings }: ControlCall,
  control: ControlPlane,
  defaultSeconds: number,
): Promise<Sandbox> {
  refuseUnsupported(body, settings.on_timeout);
  const template = templateName(body.text('templateID') ?? '');
  const isStored = await isOwn(template, control, { caller });
  const note = isStored || template === BUILT_IN[0] ? {} : { [TEMPLATE_NOTE]: template };
  const metadata = { ...body.texts('metadata'), ...note, ...portNotes(portsOf(body)) };
  const env = body.texts('envVars');
  const seconds = body.number('timeout') ?? defaultSeconds;
  const request: SpawnRequest = {
    metadata,
    ...(env && { env }),
    ...networkOf(body, settings.egress),
    ...(isStored && { template }),
  };
  const spawn = (ttl: string) => {
    const full = { ...request, ttl };
    const problem = check(full);
    if (problem !== undefined) throw badWish(problem);
    return control.sandboxes.spawn(full, caller, idempotencyKey, signal);
  };
  return withinCeiling(seconds, spawn);
}

/** Runs `work` with a life of `seconds`; where that is over the maximum, with the maximum, as E2B does. */
export async function withinCeiling<T>(seconds: number, work: (ttl: string) => Promise<T>): Promise<T> {
  if (!Number.isFinite(seconds) || seconds < 0) throw badWish('timeout must be a number of seconds.');
  const ttl = `${Math.min(Math.max(1, Math.ceil(seconds)), 10 * 366 * 86_400)}s`;
  try {
    return await work(ttl);
  } catch (error) {
    const { max_ttl } = asServiceError(error).details ?? {};
    if (typeof max_ttl !== 'string') throw error;
    return work(max_ttl);
  }
}

/** `n`, `n:default` and `team/n` name the same here: there are no teams, and builds have no tags. */
export function templateName(id: string): string {
  return id.replace(/^.*\//, '').replace(/:(?:default|latest)$/, '');
}

/** Whether the operator has a template of this name; `base` need not exist. Throws `not_found`. */
async function isOwn(
  name: string,
  { templates }: ControlPlane,
  { caller }: Pick<ControlCall, 'caller'>,
): Promise<boolean> {
  try {
    await templates.get(name, caller);
    return true;
  } catch (error) {
    const { code } = asServiceError(error);
    if (code !== 'not_found' && code !== 'bad_request') throw error;
    if (BUILT_IN.includes(name)) return false;
    throw new ServiceError('not_found', `template '${name.slice(0, 128)}' not found`);
  }
}

function refuseUnsupported(body: Fields, onTimeout: ControlCall['settings']['on_timeout']): void {
  const isPaused = body.flag('autoPause') === true || body.object('autoResume')?.flag('enabled') === true;
  if (isPaused && onTimeout === 'refuse')
    throw badWish(
      'This server does not pause sandboxes.',
      'Leave lifecycle out: sandboxes end at their timeout. With e2b.on_timeout: end they do whatever lifecycle says.',
    );
  // Programs look for these words.
  if (body.object('mcp'))
    throw badWish('Failed to start MCP gateway: this server has none for sandboxes.', 'Leave mcp out.');
  const { length: tokens } = Object.keys(body.object('iam')?.texts('tokens') ?? {});
  if (tokens > 0) throw badWish('This server issues no identity tokens.', 'Leave iam out.');
  if ((body.list('volumeMounts') ?? []).length > 0)
    throw badWish('This server has no volumes.', 'Leave volumeMounts out.');
  const network = body.object('network');
  if (network) refuseUnsupportedNetwork(network);
}
