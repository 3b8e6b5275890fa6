// The templates of the fake control plane: a map, and the versions that If-Match is about.
import type { Caller } from '../../../src/control/api/caller.ts';
import type { Templates } from '../../../src/control/api/templates.ts';
import { ServiceError } from '../../../src/domain/errors.ts';
import type { Sandbox } from '../../../src/schema/sandbox.ts';
import type { Template, TemplateUpdate } from '../../../src/schema/template.ts';
import { FAKE_START } from './ports.ts';

const STAMP = new Date(FAKE_START).toISOString();

type Note = (method: string, caller: Caller | undefined, ...args: unknown[]) => void;

export function fakeTemplates(
  templates: Map<string, Template>,
  note: Note,
  spawned: (request: object) => Sandbox,
): Templates {
  const must = (name: string): Template => {
    const template = templates.get(name);
    if (!template) throw new ServiceError('not_found', 'There is no such template.');
    return template;
  };
  const put = (name: string, version: number, asked: TemplateUpdate): Template => {
    const stamps = { created_at: STAMP, updated_at: STAMP };
    const template = { memory_mb: 512, vcpus: 1, ttl: '30m', prewarm: 0, ...asked, name, version, ...stamps };
    templates.set(name, template);
    return template;
  };
  return {
    async list(query, caller) {
      note('templates.list', caller, query);
      return { templates: [...templates.values()], ...(query.limit === 1 && { next_cursor: 'next' }) };
    },
    async get(name, caller) {
      note('templates.get', caller, name);
      return must(name);
    },
    async create(asked, caller) {
      note('templates.create', caller, asked);
      if (templates.has(asked.name)) throw new ServiceError('conflict', 'It exists already.');
      return put(asked.name, 1, asked);
    },
    async update(name, asked, caller, options) {
      note('templates.update', caller, name, asked, options);
      const { version } = must(name);
      if (options.versions && !options.versions.includes(version))
        throw new ServiceError('precondition_failed', 'It has another version.');
      return put(name, version + 1, asked);
    },
    async delete(name, caller) {
      note('templates.delete', caller, name);
      must(name);
      templates.delete(name);
    },
    async spawn(name, overrides, caller, options) {
      note('templates.spawn', caller, name, overrides, options);
      must(name);
      return spawned(overrides);
    },
  };
}
