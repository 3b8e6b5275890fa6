// Templates as the edges see them (docs/design/api.md#templates).
import { visibleOwner } from '../../domain/access.ts';
import type { Hold } from '../../domain/byte-ledger.ts';
import { type Cursor, formatCursor, parseCursor } from '../../domain/cursor.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { Clock } from '../../domain/ports.ts';
import { unmaskedEnv } from '../../domain/template.ts';
import { formatTemplateKey, ownedKey, parseTemplateKey } from '../../domain/template-key.ts';
import type { Template, TemplateUpdate } from '../../schema/template.ts';
import type { Replacement, TemplatePlace, TemplateStore } from '../../store/seam/templates.ts';
import type { Caller } from '../api/caller.ts';
import type { Templates } from '../api/templates.ts';
import { knownTemplate, unknownTemplate } from '../records/find-template.ts';
import type { Spawner } from '../spawn/spawn.ts';
import { type TemplateRules, templateFacts } from './template-facts.ts';
import { meantBy, ownerOfNew, refuseChange } from './template-owner.ts';
import { templatePage } from './template-page.ts';
import { templateView } from './template-views.ts';

const PAGE = 1000;
/** How often an update is repeated when another one came between its read and its write. */
const ATTEMPTS = 5;
/** Each may be as large as a request. */
const LIMITS = { most: 1000, ofOwner: 100 };

export interface TemplatesDeps extends TemplateRules {
  templates: TemplateStore;
  spawner: Pick<Spawner, 'spawn'>;
  clock: Clock;
  /** Called when the templates that are prewarmed may have changed. */
  templateChanged(): void;
}

export function templates(deps: TemplatesDeps): Templates {
  const { templates: store, settings, spawner, clock, templateChanged } = deps;
  const now = () => new Date(clock.now()).toISOString();
  return {
    list: async (query, caller, hold) => listTemplates(deps, query, caller, hold),
    get: async (name, caller) =>
      templateView(await knownTemplate(store, meantBy(settings, caller, name)), caller),
    create: async (asked, caller) => {
      const key = ownedKey(asked.name, ownerOfNew(settings, caller));
      const created_at = now();
      const stamps = { created_at, updated_at: created_at };
      const template = { ...key, version: 1, ...templateFacts(asked, deps), ...stamps };
      await store.create(template, LIMITS);
      templateChanged();
      return templateView(template, caller);
    },
    update: async (name, asked, caller, { versions }) => {
      if (asked.name !== undefined && asked.name !== name) throw otherName();
      const at = { updated_at: now(), ...(versions && { versions }) };
      const replaced = await replace(deps, name, { asked, caller, at });
      if (replaced.kind === 'absent') throw unknownTemplate();
      if (replaced.kind === 'stale') throw stale(replaced.version);
      templateChanged();
      return templateView(replaced.template, caller);
    },
    delete: async (name, caller) => {
      const template = await knownTemplate(store, meantBy(settings, caller, name));
      refuseChange(settings, caller, template);
      if (!(await store.delete(template))) throw unknownTemplate();
      templateChanged();
    },
    spawn: (template, overrides, caller, { idempotencyKey: key }, signal) =>
      spawner.spawn(
        { ...overrides, template },
        caller,
        { key, path: `/templates/${template}/spawn` },
        signal,
      ),
  };
}

interface Change {
  asked: TemplateUpdate;
  caller: Caller;
  at: { updated_at: string; versions?: readonly number[] };
}

/**
 * A caller that may not see the values of `env` can still change the rest: a value that comes back masked keeps its
 * current value.
 */
async function replace(
  deps: TemplatesDeps,
  name: string,
  { asked, caller, at }: Change,
): Promise<Replacement> {
  const { templates: store, settings } = deps;
  for (let left = ATTEMPTS; ; left--) {
    const kept = await store.get(meantBy(settings, caller, name));
    if (kept) refuseChange(settings, caller, kept);
    const { env = {} } = kept ?? {};
    const facts = templateFacts({ ...asked, ...(asked.env && { env: unmaskedEnv(asked.env, env) }) }, deps);
    if (!kept) return { kind: 'absent' };
    const isWanted = at.versions?.includes(kept.version) ?? true;
    const replaced = await store.replace(kept, facts, {
      ...at,
      ...(isWanted && { versions: [kept.version] }),
    });
    if (replaced.kind !== 'stale' || !isWanted || left === 0) return replaced;
  }
}

async function listTemplates(
  { templates: store, settings }: TemplatesDeps,
  { limit = PAGE, cursor }: { limit?: number; cursor?: string },
  caller: Caller,
  hold: Hold,
): Promise<{ templates: Template[]; next_cursor?: string }> {
  const owner_id = visibleOwner(settings, caller);
  const after = cursor === undefined ? undefined : placeOf(parseCursor(cursor));
  const filter = {
    limit: Math.min(limit, PAGE),
    ...(owner_id !== undefined && { owner_id }),
    ...(after && { after }),
  };
  const { found, more } = await templatePage(store, filter, hold);
  const last = found.at(-1);
  return {
    templates: found.map((template) => templateView(template, caller)),
    ...(last && more && { next_cursor: formatCursor({ ...last, id: formatTemplateKey(last) }) }),
  };
}

const placeOf = ({ created_at, id }: Cursor): TemplatePlace => ({ created_at, ...parseTemplateKey(id) });

function otherName(): ServiceError {
  return new ServiceError('bad_request', 'name is not the name in the path.', {
    remedy: 'A template cannot be renamed. Leave name out.',
  });
}

function stale(version: number): ServiceError {
  return new ServiceError('precondition_failed', 'The template has changed since this version.', {
    remedy: 'Get the current template and repeat the change.',
    details: { version },
  });
}
