// The table of an earlier run, beside which a new one is shown: made by `svc bench --json`, or bench/results.json.
import { readFileSync, statSync } from 'node:fs';
import { ServiceError } from '../src/domain/errors.ts';

/** What was judged then, by id of the row. */
export type Before = ReadonlyMap<string, number>;

const MOST_BYTES = 4 * 1024 * 1024;

/** Throws `bad_request` for a file that cannot be read or holds no results. */
export function readBefore(file: string): Before {
  try {
    if (statSync(file).size > MOST_BYTES) throw new Error('too large');
    return judgedIn(JSON.parse(readFileSync(file, 'utf8')));
  } catch (cause) {
    throw new ServiceError('bad_request', 'The file to compare with does not contain benchmark results.', {
      cause,
      remedy: 'Create one with svc bench --json > FILE.',
    });
  }
}

/** Leaves out rows without a figure. Throws for a value that is not a table. */
function judgedIn(results: unknown): Before {
  const { rows } = results as { rows: unknown };
  if (!Array.isArray(rows)) throw new Error('no rows');
  const judged = rows.map(({ id, ratio, value }) => [String(id), ratio ?? value] as const);
  return new Map(judged.filter((entry): entry is [string, number] => typeof entry[1] === 'number'));
}
