// Rules for one column in SQL. A rule never fails on what it meets, and looks at the size of a value before the value:
// a row may hold a gigabyte. Lengths are in characters, of at most four bytes each.
import { MAX_DURATION_MS } from '../../domain/duration.ts';
import { OWNER_PATTERN } from '../../domain/owner.ts';

export interface Rule {
  /** An expression that is true for valid values; `REGEXP` is Unicode-aware JavaScript. */
  sql(column: string): string;
  /** The problem if it is not true, to follow the column's name. */
  words: string;
}

/** The maximum size of a label or variable in bytes, since no request can be larger. */
const MOST_JSON_BYTES = 64 * 1024 * 1024;
/** Values for which `fits` holds. */
const MOST_NAME_BYTES = 4096;

const quoted = (value: string) => `'${value.replaceAll("'", "''")}'`;
/** Guarantees this order, which SQLite does not promise for AND. */
const all = (...conditions: string[]) =>
  conditions.reduceRight((rest, condition) => `iif(${condition}, ${rest}, 0)`, '1');

export const text = (most: number, least = 0): Rule => ({
  sql: (column) => all(`octet_length(${column}) BETWEEN ${least} AND ${4 * most}`),
  words: `does not have ${least} to ${most} characters`,
});

export const fits = (pattern: string, words: string): Rule => ({
  sql: (column) =>
    all(`octet_length(${column}) <= ${MOST_NAME_BYTES}`, `${column} REGEXP ${quoted(pattern)}`),
  words,
});

export const owner = fits(OWNER_PATTERN, 'is not the name of an owner');

export const count = (least: number, most = Number.MAX_SAFE_INTEGER): Rule => ({
  sql: (column) => `${column} BETWEEN ${least} AND ${most}`,
  words: most < Number.MAX_SAFE_INTEGER ? `is not from ${least} to ${most}` : `is not ${least} or more`,
});

export const oneOf = (values: readonly string[]): Rule => ({
  sql: (column) => `${column} IN (${values.map(quoted)})`,
  words: `is not one of ${values.join(', ')}`,
});

export const optional = ({ sql, words }: Rule): Rule => ({
  sql: (column) => `(${column} IS NULL OR ${sql(column)})`,
  words,
});

/** Or the SQL literal. */
export const either = (literal: string, { sql, words }: Rule): Rule => ({
  sql: (column) => `(${column} = ${literal} OR ${sql(column)})`,
  words,
});

const DATE = '[0-9][0-9][0-9][0-9]-[01][0-9]-[0-3][0-9]';
/** As Date writes it. */
export const stamp: Rule = {
  sql: (column) =>
    all(
      `octet_length(${column}) = 24`,
      `${column} GLOB '${DATE}T[0-2][0-9]:[0-5][0-9]:[0-5][0-9].[0-9][0-9][0-9]Z'`,
      `julianday(${column}) IS NOT NULL`,
    ),
  words: 'is not a time such as 2026-01-31T12:00:00.000Z',
};

/** As `parseDuration`. A cast reads the digits that come first. */
export const duration: Rule = {
  sql: (column) => {
    const [h, m, s] = ['h', 'm', 's'].map((unit) => `instr(${column}, '${unit}')`);
    const part = (at: string, from: string) =>
      `iif(${at}, CAST(substr(${column}, ${from} + 1) AS INTEGER), 0)`;
    const seconds = `${part(h!, '0')} * 3600 + ${part(m!, h!)} * 60 + ${part(s!, `max(${h}, ${m})`)}`;
    return all(
      `octet_length(${column}) BETWEEN 1 AND 64`,
      `${column} REGEXP '^(\\d{1,9}h)?(\\d{1,9}m)?(\\d{1,9}s)?$'`,
      `${seconds} <= ${MAX_DURATION_MS / 1000}`,
    );
  },
  words: 'is not a duration such as 1h30m, of at most 8760h',
};

const isJson = (column: string, type: string, bytes: number) => [
  `octet_length(${column}) <= ${bytes}`,
  `json_valid(${column})`,
  `json_type(${column}) = '${type}'`,
];

export const jsonObject = (mostBytes: number): Rule => ({
  sql: (column) => all(...isJson(column, 'object', mostBytes)),
  words: `is not a JSON object of at most ${mostBytes} bytes`,
});

const eachIs = (column: string, condition: string) =>
  `NOT EXISTS (SELECT 1 FROM json_each(${column}) AS entry WHERE NOT ${condition})`;

/** A JSON array of texts. */
export const names = (most: number, mostOfEach: number): Rule => ({
  sql: (column) =>
    all(
      ...isJson(column, 'array', MOST_JSON_BYTES),
      `json_array_length(${column}) <= ${most}`,
      eachIs(column, all(`entry.type = 'text'`, `octet_length(entry.value) <= ${4 * mostOfEach}`)),
    ),
  words: `is not a JSON array of at most ${most} texts of at most ${mostOfEach} characters`,
});

export interface PairBounds {
  /** Pattern of the keys. */
  key: string;
  mostOfValue: number;
  most: number;
}

/** A map as it is stored (rows.ts): a JSON array of [key, value]. */
export const pairs = ({ key, mostOfValue, most }: PairBounds): Rule => ({
  sql: (column) => {
    const pair = all(
      `entry.type = 'array'`,
      `json_array_length(entry.value) = 2`,
      `json_type(entry.value, '$[0]') = 'text'`,
      `json_type(entry.value, '$[1]') = 'text'`,
      `octet_length(entry.value ->> 0) <= ${MOST_NAME_BYTES}`,
      `(entry.value ->> 0) REGEXP ${quoted(key)}`,
      `octet_length(entry.value ->> 1) <= ${4 * mostOfValue}`,
    );
    return all(
      ...isJson(column, 'array', MOST_JSON_BYTES),
      `json_array_length(${column}) <= ${most}`,
      eachIs(column, pair),
    );
  },
  words: `is not a map of at most ${most} texts of at most ${mostOfValue} characters under valid names`,
});
