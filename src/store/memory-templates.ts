// Templates as a plain map: the reference for what the seam means.
import type { TemplateRecord, TemplateStore } from './seam/templates.ts';
import { templateTaken, tooManyTemplates } from './template-failures.ts';

export function memoryTemplates(): TemplateStore {
  const templates = new Map<string, TemplateRecord>();
  return {
    create: async (template, most) => {
      if (templates.has(template.name)) throw templateTaken();
      if (templates.size >= most) throw tooManyTemplates(most);
      templates.set(template.name, structuredClone(template));
    },
    get: async (name) => structuredClone(templates.get(name)),
    list: async (limit, after) =>
      structuredClone(
        [...templates.values()]
          .filter((one) => !after || newest(one, after) > 0)
          .sort(newest)
          .slice(0, limit),
      ),
    replace: async (name, facts, { updated_at, versions }) => {
      const known = templates.get(name);
      if (!known) return { kind: 'absent' };
      const { version, created_at } = known;
      if (versions && !versions.includes(version)) return { kind: 'stale', version };
      const template = { ...facts, name, version: version + 1, created_at, updated_at };
      templates.set(name, structuredClone(template));
      return { kind: 'replaced', template };
    },
    delete: async (name) => templates.delete(name),
  };
}

type Place = Pick<TemplateRecord, 'created_at' | 'name'>;
const compare = (a: string, b: string) => (a < b ? -1 : Number(a > b));
const newest = (a: Place, b: Place) => compare(b.created_at, a.created_at) || compare(b.name, a.name);
