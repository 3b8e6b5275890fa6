// Templates as a plain map: the reference for what the seam means.
import { formatTemplateKey as id, type TemplateKey } from '../../../src/domain/template-key.ts';
import { refuseTooMany, templateTaken } from '../../../src/store/refusals.ts';
import type { TemplatePlace, TemplateRecord, TemplateStore } from '../../../src/store/seam/templates.ts';
import { copy } from './tables.ts';

export function memoryTemplates(): TemplateStore {
  const templates = new Map<string, TemplateRecord>();
  const reached = (key: TemplateKey) => templates.get(id(key)) ?? templates.get(key.name);
  const count = (counts: (owner_id: string | undefined) => boolean) =>
    [...templates.values()].filter(({ owner_id }) => counts(owner_id)).length;
  return {
    create: async (template, limits) => {
      const { owner_id } = template;
      if (reached(template)) throw templateTaken();
      const all = count((one) => (one === undefined) === (owner_id === undefined));
      refuseTooMany({ all, ofOwner: count((one) => one === owner_id) }, owner_id, limits);
      templates.set(id(template), copy(template));
    },
    get: async (key) => copy(reached(key)),
    list: async ({ limit, owner_id, after }) =>
      copy(
        [...templates.values()]
          .filter((one) => owner_id === undefined || one.owner_id === undefined || one.owner_id === owner_id)
          .filter((one) => !after || newest(one, after) > 0)
          .sort(newest)
          .slice(0, limit),
      ),
    prewarmed: async () => copy([...templates.values()].filter(({ prewarm }) => prewarm > 0).sort(byName)),
    replace: async (key, facts, { updated_at, versions }) => {
      const known = templates.get(id(key));
      if (!known) return { kind: 'absent' };
      const { name, owner_id, version, created_at } = known;
      if (versions && !versions.includes(version)) return { kind: 'stale', version };
      const owner = owner_id === undefined ? {} : { owner_id };
      const template = { ...facts, name, ...owner, version: version + 1, created_at, updated_at };
      templates.set(id(key), copy(template));
      return { kind: 'replaced', template };
    },
    delete: async (key) => templates.delete(id(key)),
  };
}

const compare = (a = '', b = '') => (a < b ? -1 : Number(a > b));
const byName = (a: TemplateRecord, b: TemplateRecord) =>
  compare(a.name, b.name) || compare(a.owner_id, b.owner_id);
const newest = (a: TemplatePlace, b: TemplatePlace) =>
  compare(b.created_at, a.created_at) || compare(b.name, a.name) || compare(b.owner_id, a.owner_id);
