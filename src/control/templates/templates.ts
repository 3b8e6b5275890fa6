// Templates as the edges see them (api.md part 5).
import { formatCursor, parseCursor } from '../../domain/cursor.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { Clock } from '../../domain/ports.ts';
import { unmaskedEnv } from '../../domain/template.ts';
import type { Template } from '../../schema/template.ts';
import type { TemplateStore } from '../../store/seam/templates.ts';
import type { Caller } from '../control-plane.ts';
import type { Templates } from '../plane/templates.ts';
import type { Spawner } from '../spawn/spawn.ts';
import { type TemplateRules, templateFacts } from './template-facts.ts';
import { knownTemplate, templateView, unknownTemplate } from './template-views.ts';

const PAGE = 1000;
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
  /** Who may not see the values of `env` can still change the rest. */
  const unmasked = async <T extends { env?: Record<string, string> }>(name: string, asked: T): Promise<T> => {
    if (!asked.env) return asked;
    const { env } = (await store.get(name)) ?? { env: {} };
    return { ...asked, env: unmaskedEnv(asked.env, env) };
  };
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
      const replaced = await store.replace(name, templateFacts(await unmasked(name, asked), deps), at);
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
