// Templates as the edges see them (docs/design/api.md#templates).
import { isKeptApart, requireOwner, visibleOwner } from '../../domain/access.ts';
import type { Hold } from '../../domain/byte-ledger.ts';
import { type Cursor, formatCursor, parseCursor } from '../../domain/cursor.ts';
import { shownPolicy } from '../../domain/egress/policy-view.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { Clock } from '../../domain/ports.ts';
import { maskedEnv, unmaskedEnv } from '../../domain/template.ts';
import {
  formatTemplateKey,
  ownedKey,
  parseTemplateKey,
  type TemplateKey,
} from '../../domain/template-key.ts';
import type { EgressPolicy } from '../../schema/egress.ts';
import type { Template, TemplateUpdate } from '../../schema/template.ts';
import type {
  Replacement,
  TemplateFacts,
  TemplatePlace,
  TemplateRecord,
  TemplateStore,
} from '../../store/seam/templates.ts';
import type { Caller } from '../api/caller.ts';
import type { Templates } from '../api/templates.ts';
import type { Publisher } from '../records/publish.ts';
import type { Settings } from '../records/settings.ts';
import type { Spawner } from '../spawn/spawn.ts';
import { knownTemplate, unknownTemplate } from '../spawn/template-request.ts';
import { refuseUnknownProvider, type TemplateRules, templateFacts } from './template-facts.ts';
import { templatePage } from './template-page.ts';

const PAGE = 1000;
/** How often an update is repeated when another one came between its read and its write. */
const ATTEMPTS = 5;
/** Each may be as large as a request. */
const LIMITS = { most: 1000, ofOwner: 100 };

export interface TemplatesDeps extends TemplateRules {
  templates: TemplateStore;
  /** Seals the values of a policy; credentials that it names must serve the owner of `user`, if there is one. */
  credentials: { sealed(policy: EgressPolicy, user?: { owner_id: string }): Promise<EgressPolicy> };
  spawner: Pick<Spawner, 'spawn'>;
  publisher: Pick<Publisher, 'note'>;
  clock: Clock;
  /** Called when the templates that are prewarmed may have changed. */
  templateChanged(name: string): void;
  /** Reads which sandboxes are ready; the function counts those of a template by worker. */
  readyNow(): Promise<ReadyOf>;
}

type ReadyOf = (template: TemplateKey) => Record<string, number>;

export function templates(deps: TemplatesDeps): Templates {
  const { templates: store, settings, spawner, clock, templateChanged } = deps;
  const now = () => new Date(clock.now()).toISOString();
  const changed = (how: 'created' | 'updated' | 'deleted', template: TemplateRecord, { actor }: Caller) => {
    const { name, owner_id, version } = template;
    deps.publisher.note(
      `template.${how}`,
      owner_id === undefined ? {} : { owner_id },
      { name, version },
      actor,
    );
    templateChanged(name);
  };
  return {
    list: async (query, caller, hold) => listTemplates(deps, query, caller, hold),
    get: async (name, caller) => {
      const template = await knownTemplate(store, meantBy(settings, caller, name));
      const [view] = await readViews(deps, [template], caller);
      return view as Template;
    },
    create: async (request, caller) => {
      await refuseUnknownProvider(request, deps);
      const key = ownedKey(request.name, ownerOfNew(settings, caller));
      const created_at = now();
      const stamps = { created_at, updated_at: created_at };
      const facts = await sealedFacts(deps, templateFacts(request, deps), key.owner_id);
      const template = { ...key, version: 1, ...facts, ...stamps };
      await store.create(template, LIMITS);
      changed('created', template, caller);
      return templateView(template, caller);
    },
    update: async (name, request, caller, { versions }) => {
      if (request.name !== undefined && request.name !== name)
        throw new ServiceError('bad_request', 'name is not the name in the path.', {
          remedy: 'A template cannot be renamed. Leave name out.',
        });
      const at = { updated_at: now(), ...(versions && { versions }) };
      const replaced = await replace(deps, name, { request, caller, at });
      if (replaced.kind === 'absent') throw unknownTemplate();
      if (replaced.kind === 'stale')
        throw new ServiceError('precondition_failed', 'The template has changed since this version.', {
          remedy: 'Get the current template and repeat the change.',
          details: { version: replaced.version },
        });
      changed('updated', replaced.template, caller);
      return templateView(replaced.template, caller);
    },
    delete: async (name, caller) => {
      const template = await knownTemplate(store, meantBy(settings, caller, name));
      refuseChange(settings, caller, template);
      if (!(await store.delete(template))) throw unknownTemplate();
      changed('deleted', template, caller);
    },
    spawn: (template, overrides, caller, options, signal) => {
      const path = `/templates/${template}/spawn`;
      return spawner.spawn({ ...overrides, template }, caller, { ...options, path }, signal);
    },
  };
}

interface Change {
  request: TemplateUpdate;
  caller: Caller;
  at: { updated_at: string; versions?: readonly number[] };
}

/** A value of `env` that comes back masked keeps its current value: not every caller may see it. */
async function replace(
  deps: TemplatesDeps,
  name: string,
  { request, caller, at }: Change,
): Promise<Replacement> {
  const { templates: store, settings } = deps;
  await refuseUnknownProvider(request, deps);
  for (let left = ATTEMPTS; ; left--) {
    const kept = await store.get(meantBy(settings, caller, name));
    if (kept) refuseChange(settings, caller, kept);
    const { env = {} } = kept ?? {};
    const facts = templateFacts(
      { ...request, ...(request.env && { env: unmaskedEnv(request.env, env) }) },
      deps,
    );
    if (!kept) return { kind: 'absent' };
    const sealed = await sealedFacts(deps, facts, kept.owner_id);
    const isWanted = at.versions?.includes(kept.version) ?? true;
    const replaced = await store.replace(kept, sealed, {
      ...at,
      ...(isWanted && { versions: [kept.version] }),
    });
    if (replaced.kind !== 'stale' || !isWanted || left === 0) return replaced;
  }
}

/** A shared template may name a credential that serves somebody else: each spawn asks for itself. */
async function sealedFacts(
  { credentials }: TemplatesDeps,
  facts: TemplateFacts,
  owner_id: string | undefined,
): Promise<TemplateFacts> {
  const { egress } = facts;
  const user = owner_id === undefined ? undefined : { owner_id };
  return egress?.credentials ? { ...facts, egress: await credentials.sealed(egress, user) } : facts;
}

async function listTemplates(
  deps: TemplatesDeps,
  { limit = PAGE, cursor }: { limit?: number; cursor?: string },
  caller: Caller,
  hold: Hold,
): Promise<{ templates: Template[]; next_cursor?: string }> {
  const { templates: store, settings } = deps;
  const owner_id = visibleOwner(settings, caller);
  const after = cursor === undefined ? undefined : positionOf(parseCursor(cursor));
  const filter = {
    limit: Math.min(limit, PAGE),
    ...(owner_id !== undefined && { owner_id }),
    ...(after && { after }),
  };
  const { found, more } = await templatePage(store, filter, hold);
  const last = found.at(-1);
  return {
    templates: await readViews(deps, found, caller),
    ...(last && more && { next_cursor: formatCursor({ ...last, id: formatTemplateKey(last) }) }),
  };
}

const positionOf = ({ created_at, id }: Cursor): TemplatePlace => ({ created_at, ...parseTemplateKey(id) });

type OwnerRules = Pick<Settings, 'enforce_owner'>;

/**
 * The owner of a new template: that of an owner's key, and with owner enforcement of every caller; undefined: it is
 * shared. Throws `bad_request` as `requireOwner` does.
 */
export function ownerOfNew(rules: OwnerRules, caller: Caller): string | undefined {
  requireOwner(rules, caller);
  return rules.enforce_owner || caller.bound ? caller.owner : undefined;
}

/** The template that `caller` means by `name`. Throws `bad_request` as `requireOwner` does. */
export function meantBy(rules: OwnerRules, caller: Caller, name: string): TemplateKey {
  requireOwner(rules, caller);
  return ownedKey(name, caller.owner);
}

/** Throws `forbidden` for a shared template unless `caller` is an administrator. */
export function refuseChange(rules: OwnerRules, caller: Caller, { owner_id }: TemplateKey): void {
  if (!isKeptApart(rules, caller) || owner_id !== undefined) return;
  throw new ServiceError('forbidden', 'All owners share this template.', {
    remedy: 'Only administrators can change it. Create your own template under another name.',
  });
}

/** Admin keys also see how many ready sandboxes each worker has. */
async function readViews(
  { readyNow }: TemplatesDeps,
  all: readonly TemplateRecord[],
  caller: Caller,
): Promise<Template[]> {
  const hasReady = ({ prewarm }: TemplateRecord) => prewarm > 0 && caller.role === 'admin';
  const readyOf = all.some(hasReady) ? await readyNow() : undefined;
  return all.map((template) => ({
    ...templateView(template, caller),
    ...(readyOf && hasReady(template) && { ready: readyOf(template) }),
  }));
}

/** Empty maps and lists are left out; values of `env` are for admin keys. */
export function templateView(template: TemplateRecord, { role }: Caller): Template {
  const { metadata, env, setup, worker_labels, egress, ...rest } = template;
  return {
    ...rest,
    ...(egress && { egress: shownPolicy(egress) }),
    ...(Object.keys(worker_labels).length > 0 && { worker_labels }),
    ...(Object.keys(metadata).length > 0 && { metadata }),
    ...(Object.keys(env).length > 0 && { env: role === 'admin' ? env : maskedEnv(env) }),
    ...(setup.length > 0 && { setup }),
  };
}
