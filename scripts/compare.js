// `npm run compare -- --before FOLDER --only P12,P13`: whether rows of the speed table became slower. FOLDER is a built checkout of
// another commit. Both measure a group of rows in turn, so that a machine that drifts affects both alike, and each round gives one
// ratio. What is measured is in a file at once: a comparison of all rows takes hours, and may be ended at any time.
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { bootstrap, root } from './bootstrap.js';
import { options } from './options.js';

/** Rows of the embedded database. P15-flat times the hand-over of P15; P15 by itself would add two rows that take minutes. */
const ROWS = ['P12', 'P13', 'P14', 'P15-flat'];
/** The median of fewer ratios says nothing. */
const LEAST_ROUNDS = 3;
const MINUTE_MS = 60_000;
/** A row whose entire interval is above is slower. */
const SLOWER = 1.05;
const FOUND_SLOWER = 3;

const { before, only, all, rounds, minutes, results } = options(
  'compare',
  'Measures rows of the speed table of two commits in turn.',
  {
    before: { kind: 'text', says: 'Folder of the other commit, built.' },
    only: { kind: 'list', default: ROWS, says: 'Rows that both commits measure in the same way.' },
    all: { kind: 'boolean', default: false, says: 'All rows, instead of --only.' },
    rounds: { kind: 'count', default: 9, says: 'Rounds at most; each measures every row once on each side.' },
    minutes: { kind: 'count', default: 15, says: 'No round begins that would end later.' },
    results: {
      kind: 'text',
      default: '.cache/compare.json',
      says: 'File for the ratios, written as they come.',
    },
  },
);
if (!before) {
  process.stderr.write('--before names the folder of the other commit.\n');
  process.exit(2);
}
await bootstrap();
const { importBundled } = await import('./bundled.js');
const { figureInterval, quantile } = await importBundled('bench/stats.ts');
const { isWanted, listed } = await importBundled('bench/run.ts');

const groups = /** @type {{ ids: readonly string[], not_run?: string }[]} */ (listed(root))
  .filter(({ not_run }) => not_run === undefined)
  .map(({ ids }) => ids.filter((id) => isWanted(id, all ? undefined : only)))
  .filter((ids) => ids.length > 0);
/** @type {Map<string, number[]>} */
const ratios = new Map();
/** Why a row was not compared. @type {Map<string, string>} */
const failures = new Map();
const began = performance.now();
for (let round = 0; round < rounds; round++) {
  const spent = performance.now() - began;
  if (round >= LEAST_ROUNDS && spent + spent / round > minutes * MINUTE_MS) break;
  for (const ids of groups) {
    try {
      compared(ids, round % 2 === 0);
    } catch (error) {
      for (const id of ids) failures.set(id, /** @type {Error} */ (error).message.split('\n', 1)[0] ?? '');
    }
    written();
  }
  process.stderr.write(`round ${round + 1} after ${Math.round((performance.now() - began) / 1000)} s\n`);
}
const rows = [...ratios].map(([id, each]) => ({ id, each, ...judged(each) }));
for (const { id, each, median, interval, isSlower } of rows) {
  const [low, high] = interval.map((value) => value.toFixed(3));
  const verdict = isSlower ? ': slower' : '';
  process.stdout.write(
    `${id}: ${median.toFixed(3)} (${low}–${high}) of the time before, ${each.length} rounds${verdict}\n`,
  );
}
for (const [id, reason] of failures) process.stdout.write(`${id}: not compared in each round: ${reason}\n`);
process.exit(rows.some(({ isSlower }) => isSlower) ? FOUND_SLOWER : 0);

/**
 * One ratio for each of these rows.
 *
 * @param {readonly string[]} ids
 * @param {boolean} isBeforeFirst
 */
function compared(ids, isBeforeFirst) {
  const [first, second] = isBeforeFirst ? [before, root] : [root, before];
  const [one, other] = [measured(first, ids), measured(second, ids)];
  const [old, current] = isBeforeFirst ? [one, other] : [other, one];
  for (const [id, value] of current) {
    const was = old.get(id);
    if (was !== undefined) ratios.set(id, [...(ratios.get(id) ?? []), value / was]);
  }
}

/** @param {readonly number[]} each */
function judged(each) {
  const interval = /** @type {[number, number]} */ (figureInterval(each, seeded(7423)));
  const median = /** @type {number} */ (quantile(each, 0.5));
  return { median, interval, isSlower: each.length >= LEAST_ROUNDS && interval[0] > SLOWER };
}

function written() {
  const file = resolve(root, results);
  mkdirSync(dirname(file), { recursive: true });
  const content = { before, ratios: Object.fromEntries(ratios), failures: Object.fromEntries(failures) };
  writeFileSync(file, `${JSON.stringify(content, null, 2)}\n`);
}

/**
 * The median of each row, by its id.
 *
 * @param {string} folder
 * @param {readonly string[]} ids
 * @returns {Map<string, number>}
 */
function measured(folder, ids) {
  const args = [join(folder, 'bin/svc.js'), 'bench', '--only', ids.join(','), '--json'];
  const text = runBench(args, folder);
  const { rows } = /** @type {{ rows: { id: string, ours: { p50: number } }[] }} */ (JSON.parse(text));
  return new Map(rows.map(({ id, ours }) => [id, ours.p50]));
}

/** A missed bar is exit code 3, with the results. */
function runBench(/** @type {string[]} */ args, /** @type {string} */ cwd) {
  const settings = { cwd, encoding: /** @type {const} */ ('utf8'), maxBuffer: 64 * 1024 * 1024 };
  try {
    return execFileSync(process.execPath, args, { ...settings, stdio: ['ignore', 'pipe', 'ignore'] });
  } catch (error) {
    const { status, stdout } = /** @type {{ status: number, stdout: string }} */ (error);
    if (status === 3) return stdout;
    throw error;
  }
}

/** The same interval for the same figures. */
function seeded(/** @type {number} */ seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 4_294_967_296;
  };
}
