// Creating a sandbox by E2B's request: from its fields to ours. What cannot be done is refused with a reason; what is unknown is
// ignored, since their SDKs add fields every month.
import type { ControlPlane } from '../../control/api/control-plane.ts';
import { asServiceError, ServiceError } from '../../domain/errors.ts';
import { type Sandbox, SpawnRequest } from '../../schema/sandbox.ts';
import { validator } from '../../schema/validator.ts';
import { badWish } from './answers.ts';
import type { ControlCall } from './control-call.ts';
import type { Fields } from './read-body.ts';
import { BUILT_IN, TEMPLATE_NOTE } from './sandbox-view.ts';

const ALL_TRAFFIC = ['0.0.0.0/0', '::/0'];
const check = validator(SpawnRequest, 'The request');

/** Throws `not_found` for an unknown template, `bad_request` for what cannot be done. */
export async function createSandbox(
  { body, caller, signal, idempotencyKey }: ControlCall,
  control: ControlPlane,
  defaultSeconds: number,
): Promise<Sandbox> {
  refuseUnsupported(body);
  const template = templateName(body.text('templateID') ?? '');
  const isStored = await isOwn(template, control, { caller });
  const note = isStored || template === BUILT_IN[0] ? {} : { [TEMPLATE_NOTE]: template };
  const metadata = { ...body.texts('metadata'), ...note };
  const env = body.texts('envVars');
  const seconds = body.number('timeout') ?? defaultSeconds;
  const request: SpawnRequest = {
    metadata,
    ...(env && { env }),
    ...(isCutOff(body) && { network: 'none' as const }),
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

function refuseUnsupported(body: Fields): void {
  if (body.flag('autoPause') === true || body.object('autoResume')?.flag('enabled') === true)
    throw badWish(
      'This server does not pause sandboxes.',
      'Leave lifecycle out: sandboxes end at their timeout.',
    );
  if (body.object('mcp')) throw badWish('This server has no MCP gateway for sandboxes.', 'Leave mcp out.');
  const { length: tokens } = Object.keys(body.object('iam')?.texts('tokens') ?? {});
  if (tokens > 0) throw badWish('This server issues no identity tokens.', 'Leave iam out.');
  if ((body.list('volumeMounts') ?? []).length > 0)
    throw badWish('This server has no volumes.', 'Leave volumeMounts out.');
  const network = body.object('network');
  if (network) refuseNetwork(network);
}

function refuseNetwork(network: Fields): void {
  const refuse = (name: string, remedy: string) =>
    badWish(`network.${name} is not supported by this server.`, remedy);
  if (network.flag('allowPublicTraffic') === false)
    throw refuse(
      'allowPublicTraffic',
      'Set server.preview_access to signed to protect the ports of all sandboxes.',
    );
  for (const name of ['maskRequestHost', 'egressProxy', 'dnsServers', 'rules', 'httpsPorts'])
    if (isSaid(network, name)) throw refuse(name, 'Leave it out.');
  const denied = network.list('denyOut') ?? [];
  const onlyAll = denied.every((target) => ALL_TRAFFIC.includes(String(target)));
  if ((network.list('allowOut') ?? []).length > 0 || !onlyAll)
    throw badWish(
      'Rules for single targets are not supported by this interface.',
      'Deny all traffic, or spawn with an egress policy (docs/network.md).',
    );
}

function isSaid(fields: Fields, name: string): boolean {
  const said = [() => fields.text(name), () => fields.list(name), () => fields.object(name)].map((read) => {
    try {
      return read();
    } catch {
      return undefined;
    }
  });
  return said.some((value) => value !== undefined && !(Array.isArray(value) && value.length === 0));
}

function isCutOff(body: Fields): boolean {
  const denied = body.object('network')?.list('denyOut') ?? [];
  return body.flag('allow_internet_access') === false || denied.length > 0;
}
