// Previews: links to ports of a sandbox, and connections to them. The token of a link, or a public server, admits a
// visitor; ownership is checked only where a link is created.
import { asServiceError, ServiceError } from '../../domain/errors.ts';
import { portWish } from '../../domain/port-terms.ts';
import type { Clock } from '../../domain/ports.ts';
import { PREVIEW_TOKEN, type PreviewTarget, previewName } from '../../domain/preview.ts';
import { previewKey, previewTokenEnd, signPreview } from '../../domain/preview-token.ts';
import { lifeMs } from '../../domain/ttl.ts';
import { LOCAL_WORKER } from '../../domain/worker-id.ts';
import type { ProviderSet } from '../../providers/provider.ts';
import type { Config } from '../../schema/config.ts';
import type { SandboxRecord, Store } from '../../store/store.ts';
import type { Caller } from '../api/caller.ts';
import type { OpenPort, Previews } from '../api/previews.ts';
import type { Runtimes } from '../runtime/runtimes.ts';
import { securedTunnel } from './guest-tls.ts';
import { listeningPorts } from './ports.ts';
import type { SandboxAccess } from './session-access.ts';

const DEFAULT_TTL_MS = 3_600_000;

/** A visitor of the gateway, admitted by the link that the owner of the sandbox created. */
const VISITOR: Caller = { role: 'admin', actor: 'system:preview', credential: 'preview', request_id: '' };

export interface PreviewsDeps {
  server: Config['server'];
  store: Pick<Store, 'instance'>;
  runtimes: Pick<Runtimes, 'capabilities'>;
  access: SandboxAccess;
  clock: Clock;
}

export function previews(deps: PreviewsDeps): Previews {
  const { server, store, clock, access } = deps;
  const { preview_domain: domain, preview_access, preview_signing_key } = server;
  const key = previewKey(preview_signing_key, store.instance.key);
  const isSigned = preview_access === 'signed';
  return {
    async link(id, { port, ttl }, caller, seen) {
      if (domain === '')
        throw new ServiceError('not_implemented', 'This server has no previews.', {
          remedy: 'Set server.preview_domain, for example to localhost.',
        });
      const row = await access.find(id, caller);
      await requireConnect(deps, row);
      if (!isSigned && ttl !== undefined)
        throw new ServiceError('bad_request', 'Previews are public here: links end with their sandbox.', {
          remedy: 'Leave ttl out, or set server.preview_access to signed.',
        });
      const target = { sandbox_id: row.id, port };
      const end = isSigned ? endOf(row, ttl, clock.now()) : Date.parse(row.expires_at);
      const query = isSigned ? `?${PREVIEW_TOKEN}=${signPreview(key, target, end)}` : '';
      const origin = originOf(server.preview_scheme, previewName(target, domain), seen);
      return { url: `${origin}/${query}`, expires_at: new Date(end).toISOString() };
    },
    listening: (id, caller, signal) =>
      access.explainFailure(id, async () => {
        const row = await access.find(id, caller);
        await requireConnect(deps, row);
        return listeningPorts(access, row, signal);
      }),
    endOfToken: (target, token) => previewTokenEnd(key, target, token, clock.now()),
    open: async (target, signal, caller) =>
      (
        await (caller
          ? openPort(deps, target, { signal, caller, isAdmitted: true })
          : openPort(deps, target, { signal, caller: VISITOR, isAdmitted: true }).catch(refuse))
      ).tunnel,
    visit: (target, signal, { caller, isAdmitted }) =>
      caller
        ? openPort(deps, target, { signal, caller, isAdmitted: true })
        : openPort(deps, target, { signal, caller: VISITOR, isAdmitted }).catch(refuse),
  };
}

/** In full seconds, as tokens are; never after the sandbox. */
function endOf({ expires_at }: SandboxRecord, ttl: string | undefined, now: number): number {
  const life = lifeMs(ttl, DEFAULT_TTL_MS, { max_sandboxes: 0, maxTtlMs: 0, maxExecTimeoutMs: 0 });
  const end = Math.min(now + life, Date.parse(expires_at));
  return Math.floor(end / 1000) * 1000;
}

/** The origin by which the caller reached the server. A scheme in the configuration means a proxy on its default port. */
function originOf(
  scheme: Config['server']['preview_scheme'],
  name: string,
  seen: { scheme: 'http' | 'https'; port: string },
): string {
  if (scheme !== 'auto') return `${scheme}://${name}`;
  return `${seen.scheme}://${name}${seen.port === '' ? '' : `:${seen.port}`}`;
}

async function openPort(
  deps: PreviewsDeps,
  target: PreviewTarget,
  { signal, caller, isAdmitted }: { signal: AbortSignal; caller: Caller; isAdmitted: boolean },
): Promise<OpenPort> {
  const { access, clock } = deps;
  const row = await access.find(target.sandbox_id, caller);
  const { isPrivate, host, https } = portWish(row.metadata);
  if (isPrivate && !isAdmitted) throw isSecured();
  await requireConnect(deps, row);
  const held = await access.open(row, signal);
  try {
    const tunnel = await held.io.connect(target.port, signal);
    tunnel.once('close', () => held.release());
    const isPlain = !https.includes(target.port);
    return {
      tunnel: isPlain ? tunnel : await securedTunnel(tunnel, clock),
      host: host?.replace(/\$\{PORT\}/g, String(target.port)),
    };
  } catch (error) {
    // A port without a listener says nothing about the sandbox, so its liveness is not checked.
    held.release(asServiceError(error).status === 502 ? undefined : error);
    throw error;
  }
}

/** In words that programs for E2B know. */
function isSecured(): ServiceError {
  return new ServiceError(
    'forbidden',
    "Sandbox is secured with traffic access token. Token header 'e2b-traffic-access-token' is missing",
  );
}

/** Whether the ports of such a sandbox can be reached, according to the last heartbeat of its worker. */
export function hasPreviews(
  { all }: Pick<ProviderSet, 'all'>,
  { provider, worker_id }: Pick<SandboxRecord, 'provider' | 'worker_id'>,
  workerCan: (worker_id: string, provider: string, capability: string) => boolean,
): boolean {
  if (worker_id !== LOCAL_WORKER) return workerCan(worker_id, provider, 'connect');
  return all.some(({ kind, capabilities }) => kind === provider && capabilities.includes('connect'));
}

async function requireConnect({ runtimes }: PreviewsDeps, row: SandboxRecord): Promise<void> {
  if ((await runtimes.capabilities(row)).includes('connect')) return;
  throw new ServiceError(
    'not_implemented',
    'The ports of this sandbox cannot be reached: it has no network of its own.',
    {
      remedy: 'Spawn it with a provider that lists the capability connect.',
    },
  );
}

/** Answers 502 where the visitor can repair nothing; an ended sandbox looks as if it had never existed. */
function refuse(error: unknown): never {
  const { code, message, remedy } = asServiceError(error);
  if (code !== 'not_found' && code !== 'conflict' && code !== 'unavailable') throw error;
  const isMissing = code === 'not_found';
  throw new ServiceError('unavailable', isMissing ? 'There is no such sandbox, or it has ended.' : message, {
    status: 502,
    cause: error,
    ...(!isMissing && remedy !== undefined && { remedy }),
  });
}
