// Which checks there are, in the order they run, and which of them are asked for.
import { ServiceError } from '../../domain/errors.ts';
import type { ProviderKind } from '../../schema/provider.ts';
import type { CheckGroup } from './check.ts';
import { CONFIGURATION } from './checks/configuration.ts';
import { DATABASE } from './checks/database.ts';
import { DEFAULT_PROVIDER } from './checks/default-provider.ts';
import { E2B } from './checks/e2b.ts';
import { EGRESS } from './checks/egress.ts';
import { IMAGES } from './checks/images.ts';
import { LEFTOVERS } from './checks/leftovers.ts';
import { MACHINE } from './checks/machine.ts';
import { MICROVM } from './checks/microvm.ts';
import { POSTGRES } from './checks/postgres.ts';
import { probeGroup } from './checks/probe.ts';
import { CONTAINER, CUSTOM, HOSTED } from './checks/probed.ts';
import { SERVER } from './checks/server.ts';
import { USERSPACE } from './checks/userspace.ts';

export interface Selection {
  /** Groups or checks, such as `database` or `database.space`; all when empty. */
  only: readonly string[];
  skip: readonly string[];
  /** Runs a sandbox through each enabled provider, too. */
  probe: boolean;
}

const ALWAYS: readonly CheckGroup[] = [
  CONFIGURATION,
  MACHINE,
  DATABASE,
  POSTGRES,
  SERVER,
  E2B,
  DEFAULT_PROVIDER,
  CONTAINER,
  USERSPACE,
  IMAGES,
  MICROVM,
  EGRESS,
  HOSTED,
  CUSTOM,
  LEFTOVERS,
];

const PROBED: readonly ProviderKind[] = ['container', 'userspace', 'microvm', 'hosted', 'custom'];

/** Groups without checks are left out. Throws `bad_request` for a name that is none. */
export function groupsFor({ only, skip, probe }: Selection): CheckGroup[] {
  const all = probe ? [...ALWAYS, ...PROBED.map(probeGroup)] : ALWAYS;
  const ids = all.flatMap(({ id, checks }) => [id, ...checks.map(({ name }) => `${id}.${name}`)]);
  const unknown = [...only, ...skip].find((name) => !ids.includes(name));
  if (unknown !== undefined)
    throw new ServiceError('bad_request', 'Unknown check.', {
      remedy: `Use a group (${all.map(({ id }) => id).join(', ')}) or a check such as database.space.`,
    });
  const has = (names: readonly string[], group: string, check: string) =>
    names.includes(group) || names.includes(`${group}.${check}`);
  return all
    .map((group) => ({
      ...group,
      checks: group.checks.filter(
        ({ name }) => (only.length === 0 || has(only, group.id, name)) && !has(skip, group.id, name),
      ),
    }))
    .filter(({ checks }) => checks.length > 0);
}
