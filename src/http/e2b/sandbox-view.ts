// Sandboxes as the control API of E2B shows them.
import type { DataAccess } from '../../control/api/data-access.ts';
import type { Sandbox } from '../../schema/sandbox.ts';

/** The version of their agent whose features are offered: their SDKs decide by it what they try. */
export const AGENT_VERSION = '0.6.13';
/** Templates of these names need no set-up: they are what the server runs by default. */
export const BUILT_IN = ['base', 'code-interpreter-v1'];
const BASE_TEMPLATE = 'base';
/** Where the name is kept of one that was spawned from another built-in template than the first. */
export const TEMPLATE_NOTE = 'svc.e2b.template';
const CLIENT = 'svc';
/** Their schema has no smaller one. */
const LEAST_MEMORY_MB = 128;
/** Not the same for all providers, and not in the record: `metrics` has the measured size. */
const DISK_MB = 1024;

/** The answer of create and connect, which carries the tokens. */
export function startedView(sandbox: Sandbox, data: DataAccess, host: string | undefined): object {
  const { access, traffic } = data.tokensOf(sandbox.id);
  return {
    ...named(sandbox),
    envdAccessToken: access,
    trafficAccessToken: traffic,
    domain: domainOf(sandbox, host),
  };
}

/** The answer of get. */
export function detailView(sandbox: Sandbox, data: DataAccess, host: string | undefined): object {
  return {
    ...listedView(sandbox),
    envdAccessToken: data.tokensOf(sandbox.id).access,
    domain: domainOf(sandbox, host),
    lifecycle: { autoResume: false, onTimeout: 'kill' },
  };
}

/** Where ports of the sandbox are: with the port by which the caller reached us, if it used the domain. */
function domainOf({ preview_domain: domain }: Sandbox, host: string | undefined): string | null {
  if (domain === undefined) return null;
  const at = host?.toLowerCase().match(/^api\.(.+?)(:\d{1,5})?$/);
  return at?.[1] === domain ? `${domain}${at[2] ?? ''}` : domain;
}

/** An entry of a list. */
export function listedView(sandbox: Sandbox): object {
  return {
    ...named(sandbox),
    startedAt: sandbox.created_at,
    endAt: sandbox.expires_at,
    cpuCount: sandbox.vcpus,
    memoryMB: Math.max(LEAST_MEMORY_MB, sandbox.memory_mb),
    diskSizeMB: DISK_MB,
    metadata: withoutNote(sandbox.metadata),
    state: 'running',
  };
}

export function templateOf({ template, metadata }: Pick<Sandbox, 'template' | 'metadata'>): string {
  const noted = metadata[TEMPLATE_NOTE];
  return template ?? (noted !== undefined && BUILT_IN.includes(noted) ? noted : BASE_TEMPLATE);
}

function withoutNote({ [TEMPLATE_NOTE]: _, ...metadata }: Sandbox['metadata']): Sandbox['metadata'] {
  return metadata;
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
