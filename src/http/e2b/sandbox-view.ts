// Sandboxes as the control API of E2B shows them.
import type { DataAccess } from '../../control/api/data-access.ts';
import { parseListen } from '../../domain/listen-address.ts';
import { NOTE_PREFIX, portWish } from '../../domain/port-terms.ts';
import type { Sandbox } from '../../schema/sandbox.ts';
import type { ControlCall } from './control-call.ts';

/** The version of their agent whose features are offered: their SDKs decide by it what they try. */
export const AGENT_VERSION = '0.6.13';
/** Templates of these names need no set-up: they are what the server runs by default. */
export const BUILT_IN = ['base', 'code-interpreter-v1'];
const BASE_TEMPLATE = 'base';
/** Where the name is kept of one that was spawned from another built-in template than the first. */
export const TEMPLATE_NOTE = `${NOTE_PREFIX}template`;
const CLIENT = 'svc';
/** Their schema has no smaller one. */
const LEAST_MEMORY_MB = 128;
/** Not the same for all providers, and not in the record: `metrics` has the measured size. */
const DISK_MB = 1024;

/** The answer of create and connect, which carries the tokens. */
export function startedView(sandbox: Sandbox, data: DataAccess, asked: Asked): object {
  const { access, traffic } = data.tokensOf(sandbox.id);
  return {
    ...named(sandbox),
    envdAccessToken: access,
    trafficAccessToken: traffic,
    domain: domainOf(sandbox, asked),
  };
}

/** The answer of get. */
export function detailView(sandbox: Sandbox, data: DataAccess, asked: Asked): object {
  return {
    ...listedView(sandbox),
    envdAccessToken: data.tokensOf(sandbox.id).access,
    domain: domainOf(sandbox, asked),
    network: networkOf(sandbox),
    lifecycle: { autoResume: false, onTimeout: 'kill' },
  };
}

/** How the caller reached us. */
type Asked = Pick<ControlCall, 'host' | 'settings'>;

/** Where ports of the sandbox are: by the port of the caller, if it used the domain, else by that of the listener with TLS. */
function domainOf({ preview_domain: domain }: Sandbox, { host, settings: { listen } }: Asked): string | null {
  if (domain === undefined) return null;
  const at = host?.toLowerCase().match(/^api\.(.+?)(:\d{1,5})?$/);
  if (at?.[1] === domain) return `${domain}${at[2] ?? ''}`;
  return listen === '' ? domain : withPort(domain, parseListen(listen).port);
}

const HTTPS_PORT = 443;
const withPort = (domain: string, port: number) => (port === HTTPS_PORT ? domain : `${domain}:${port}`);

/** An entry of a list. */
export function listedView(sandbox: Sandbox): object {
  return {
    ...named(sandbox),
    startedAt: sandbox.created_at,
    endAt: sandbox.expires_at,
    cpuCount: sandbox.vcpus,
    memoryMB: Math.max(LEAST_MEMORY_MB, sandbox.memory_mb),
    diskSizeMB: DISK_MB,
    metadata: withoutNotes(sandbox.metadata),
    state: 'running',
  };
}

export function templateOf({ template, metadata }: Pick<Sandbox, 'template' | 'metadata'>): string {
  const noted = metadata[TEMPLATE_NOTE];
  return template ?? (noted !== undefined && BUILT_IN.includes(noted) ? noted : BASE_TEMPLATE);
}

function withoutNotes(metadata: Sandbox['metadata']): Sandbox['metadata'] {
  return Object.fromEntries(Object.entries(metadata).filter(([name]) => !name.startsWith(NOTE_PREFIX)));
}

function networkOf({ metadata }: Sandbox): object {
  const { isPrivate, host, https } = portWish(metadata);
  return {
    allowPublicTraffic: !isPrivate,
    ...(host !== undefined && { maskRequestHost: host }),
    ...(https.length > 0 && { httpsPorts: https }),
  };
}

function named(sandbox: Sandbox) {
  const templateID = templateOf(sandbox);
  return {
    sandboxID: sandbox.id,
    templateID,
    alias: templateID,
    clientID: CLIENT,
    envdVersion: AGENT_VERSION,
  };
}
