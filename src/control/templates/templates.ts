// Templates as the edges see them (api.md part 5).
import { formatCursor, parseCursor } from '../../domain/cursor.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { Clock } from '../../domain/ports.ts';
import { unmaskedEnv } from '../../domain/template.ts';
import type { Template, TemplateUpdate } from '../../schema/template.ts';
import type { Replacement, TemplateStore } from '../../store/seam/templates.ts';
import type { Caller } from '../control-plane.ts';
import type { Templates } from '../plane/templates.ts';
import type { Spawner } from '../spawn/spawn.ts';
import { type TemplateRules, templateFacts } from './template-facts.ts';
import { knownTemplate, templateView, unknownTemplate } from './template-views.ts';

const PAGE = 1000;
/** An update is made again when another one came between its reading and its writing. */
const ATTEMPTS = 5;
/** Templates at most: each may be as large as a request. */
const MOST_TEMPLATES = 1000;

export interface TemplatesDeps extends TemplateRules {
  templates: TemplateStore;
  spawner: Pick<Spawner, 'spawn'>;
  clock: Clock;
  /** What there is to keep ready may have changed. */
  templateChanged(): void;
}

export function templates(deps: TemplatesDeps): Templates {
  const { templates: store, spawner, clock, templateChanged } = deps;
  const now = () => new Date(clock.now()).toISOString();
  return {
    list: (query, caller) => listTemplates(store, query, caller),
    get: async (name, caller) => templateView(await knownTemplate(store, name), caller),
    create: async (asked, caller) => {
      const { name } = asked;
      const created_at = now();
      const stamps = { created_at, updated_at: created_at };
      const template = { name, version: 1, ...templateFacts(asked, deps), ...stamps };
      await store.create(template, MOST_TEMPLATES);
      templateChanged();
      return templateView(template, caller);
    },
    update: async (name, asked, caller, { versions }) => {
      if (asked.name !== undefined && asked.name !== name) throw otherName();
      const at = { updated_at: now(), ...(versions && { versions }) };
      const replaced = await replace(deps, name, asked, at);
      if (replaced.kind === 'absent') throw unknownTemplate();
      if (replaced.kind === 'stale') throw stale(replaced.version);
      templateChanged();
      return templateView(replaced.template, caller);
    },
    delete: async (name) => {
      if (!(await store.delete(name))) throw unknownTemplate();
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

/** Who may not see the values of `env` can still change the rest: one that comes back masked stays what it is by then. */
async function replace(
  deps: TemplatesDeps,
  name: string,
  asked: TemplateUpdate,
  at: { updated_at: string; versions?: readonly number[] },
): Promise<Replacement> {
  const { templates: store } = deps;
  for (let left = ATTEMPTS; ; left--) {
    const kept = await store.get(name);
    const { version, env = {} } = kept ?? {};
    const facts = templateFacts({ ...asked, ...(asked.env && { env: unmaskedEnv(asked.env, env) }) }, deps);
    const isWanted = version !== undefined && (at.versions?.includes(version) ?? true);
    const replaced = await store.replace(name, facts, { ...at, ...(isWanted && { versions: [version] }) });
    if (replaced.kind !== 'stale' || !isWanted || left === 0) return replaced;
  }
}

async function listTemplates(
  store: TemplateStore,
  { limit = PAGE, cursor }: { limit?: number; cursor?: string },
  caller: Caller,
): Promise<{ templates: Template[]; next_cursor?: string }> {
  const after = cursor === undefined ? undefined : parseCursor(cursor);
  const most = Math.min(limit, PAGE);
  // One more than asked for tells whether there is a next page.
  const found = await store.list(most + 1, after && { created_at: after.created_at, name: after.id });
  const shown = found.slice(0, most);
  const last = shown.at(-1);
  return {
    templates: shown.map((template) => templateView(template, caller)),
    ...(last && found.length > most && { next_cursor: formatCursor({ ...last, id: last.name }) }),
  };
}

function otherName(): ServiceError {
  return new ServiceError('bad_request', 'name is not the name in the path.', {
    remedy: 'A template keeps its name: leave it out.',
  });
}

function stale(version: number): ServiceError {
  return new ServiceError('precondition_failed', 'The template has another version by now.', {
    remedy: 'Get it again and repeat the change on what it is.',
    details: { version },
  });
}
