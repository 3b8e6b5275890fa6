// Templates in the database. Every method is one statement or one IMMEDIATE transaction.
import type { Database } from 'better-sqlite3';
import type { Replacement, TemplateFacts, TemplateRecord, TemplateStore } from '../seam/templates.ts';
import { templateTaken, tooManyTemplates } from '../template-failures.ts';
import { fromPairs, parse, toPairs } from './rows.ts';
import type { Work } from './work.ts';

const FACTS = [
  'description',
  'image',
  'provider',
  'memory_mb',
  'vcpus',
  'ttl',
  'network',
  'metadata',
  'env',
  'setup',
  'prewarm',
] as const satisfies readonly (keyof TemplateFacts)[];
const COLUMNS = ['name', 'version', ...FACTS, 'created_at', 'updated_at'];
const OPTIONAL = ['description', 'provider', 'network'] as const;

type FactsRow = { [K in (typeof FACTS)[number]]: string | number | null };
type TemplateRow = FactsRow & Pick<TemplateRecord, 'name' | 'version' | 'created_at' | 'updated_at'>;

export function templateStore(db: Database, work: Work): TemplateStore {
  const select = `SELECT ${COLUMNS} FROM templates`;
  const get = db.prepare<[string], TemplateRow>(`${select} WHERE name = ?`);
  const first = db.prepare<[number], TemplateRow>(`${select} ORDER BY created_at DESC, name DESC LIMIT ?`);
  const next = db.prepare<[string, string, number], TemplateRow>(
    `${select} WHERE (created_at, name) < (?, ?) ORDER BY created_at DESC, name DESC LIMIT ?`,
  );
  const remove = db.prepare('DELETE FROM templates WHERE name = ?');
  const [create, replace] = [creating(db), replacing(db)];
  return {
    create: (template, most) => work.grow(() => create.immediate(template, most)),
    get: (name) => work.run(() => get.all(name).map(fromRow)[0]),
    list: (limit, after) =>
      work.run(() => (after ? next.all(after.created_at, after.name, limit) : first.all(limit)).map(fromRow)),
    replace: (name, facts, at) => work.grow(() => replace.immediate(name, facts, at)),
    delete: (name) => work.settle(() => remove.run(name).changes > 0),
  };
}

function creating(db: Database) {
  const taken = db.prepare<[string], number>('SELECT 1 FROM templates WHERE name = ?').pluck();
  const count = db.prepare<[], number>('SELECT count(*) FROM templates').pluck();
  const insert = db.prepare(
    `INSERT INTO templates (${COLUMNS}) VALUES (${COLUMNS.map((column) => `@${column}`)})`,
  );
  return db.transaction((template: TemplateRecord, most: number): void => {
    if (taken.get(template.name)) throw templateTaken();
    if ((count.get() ?? 0) >= most) throw tooManyTemplates(most);
    insert.run({ ...template, ...toRow(template) });
  });
}

function replacing(db: Database) {
  const version = db.prepare<[string], number>('SELECT version FROM templates WHERE name = ?').pluck();
  const update = db.prepare<object, TemplateRow>(
    `UPDATE templates SET ${FACTS.map((column) => `${column} = @${column}`)},
       version = version + 1, updated_at = @updated_at WHERE name = @name RETURNING ${COLUMNS}`,
  );
  return db.transaction((...[name, facts, at]: Parameters<TemplateStore['replace']>): Replacement => {
    const present = version.get(name);
    if (present === undefined) return { kind: 'absent' };
    if (at.versions && !at.versions.includes(present)) return { kind: 'stale', version: present };
    const [row] = update.all({ ...toRow(facts), name, updated_at: at.updated_at });
    return { kind: 'replaced', template: fromRow(row as TemplateRow) };
  });
}

function toRow(facts: TemplateFacts): FactsRow {
  const {
    description = null,
    provider = null,
    network = null,
    image,
    memory_mb,
    vcpus,
    ttl,
    prewarm,
  } = facts;
  const [metadata, env, setup] = [toPairs(facts.metadata), toPairs(facts.env), JSON.stringify(facts.setup)];
  return { description, image, provider, memory_mb, vcpus, ttl, network, metadata, env, setup, prewarm };
}

function fromRow(row: TemplateRow): TemplateRecord {
  const [metadata, env] = [fromPairs(String(row.metadata)), fromPairs(String(row.env))];
  const record = { ...row, metadata, env, setup: parse(String(row.setup)) };
  for (const column of OPTIONAL)
    if (record[column] === null) delete (record as { [K in (typeof OPTIONAL)[number]]?: unknown })[column];
  return record as TemplateRecord;
}
