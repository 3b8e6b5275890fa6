// What `svc doctor` reads of the records of a PostgreSQL database, as store/sqlite/offline-reads.ts does of a file. Every
// function returns nothing for a database that no server has used yet.
import type { KeyScope } from '../../schema/key-words.ts';
import type { KnownRuntimes, TemplateImage, ValidKey } from '../offline-records.ts';
import { parse } from '../rows.ts';
import type { PostgresExam } from './examine.ts';

const isUnused = async (exam: PostgresExam) => (await exam.schema()).version === 0;

export async function readKnownRuntimes(exam: PostgresExam): Promise<KnownRuntimes | undefined> {
  if (await isUnused(exam)) return undefined;
  const [instance] = await exam.ask<KnownRuntimes['instance']>('SELECT id, key FROM instance');
  const rows = await exam.ask<{ name: string; expires_at: string | null }>(
    `SELECT id || '.' || epoch AS name, expires_at FROM sandboxes WHERE state NOT IN ('destroyed', 'error')
      UNION ALL SELECT id || '.' || epoch, NULL FROM warm_sandboxes`,
  );
  const ends = rows.flatMap(({ name, expires_at }) =>
    expires_at === null ? [] : [[name, expires_at] as const],
  );
  return instance && { instance, names: new Set(rows.map(({ name }) => name)), expires_at: new Map(ends) };
}

export async function readSharedSecrets(exam: PostgresExam): Promise<string[]> {
  if (await isUnused(exam)) return [];
  const rows = await exam.ask<{ name: string }>(
    "SELECT name FROM templates WHERE env <> '[]' AND owner_id = '' ORDER BY name",
  );
  return rows.map(({ name }) => name);
}

export async function readTemplateImages(exam: PostgresExam): Promise<TemplateImage[]> {
  if (await isUnused(exam)) return [];
  return exam.ask<TemplateImage>('SELECT name, image, provider FROM templates ORDER BY name');
}

/** `now` in ms since 1970. */
export async function readValidKeys(exam: PostgresExam, now: number): Promise<ValidKey[]> {
  if (await isUnused(exam)) return [];
  const rows = await exam.ask<Omit<ValidKey, 'scopes'> & { scopes: string }>(
    `SELECT name, scopes, created_at, expires_at, last_used_at FROM keys
      WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $1) ORDER BY name`,
    [new Date(now).toISOString()],
  );
  return rows.map((row) => ({ ...row, scopes: parse(row.scopes) as KeyScope[] }));
}
