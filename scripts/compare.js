// `npm run compare -- --before FOLDER --only P12,P13`: whether rows of the speed table became slower. FOLDER is a built checkout of
// another commit. Both measure in turn, so that a machine that drifts affects both alike, and each round gives one ratio.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { bootstrap, root } from './bootstrap.js';
import { options } from './options.js';

/** Rows of the embedded database. P15-flat times the hand-over of P15; P15 by itself would add two rows that take minutes. */
const ROWS = ['P12', 'P13', 'P14', 'P15-flat'];
/** The median of fewer ratios says nothing. */
const LEAST_ROUNDS = 3;
const MINUTE_MS = 60_000;

const { before, only, rounds, minutes } = options(
  'compare',
  'Measures rows of the speed table of two commits in turn.',
  {
    before: { kind: 'text', says: 'Folder of the other commit, built.' },
    only: { kind: 'list', default: ROWS, says: 'Rows that both commits measure in the same way.' },
    rounds: { kind: 'count', default: 9, says: 'Rounds at most; each measures every row once on each side.' },
    minutes: { kind: 'count', default: 15, says: 'No round begins that would end later.' },
  },
);
if (!before) {
  process.stderr.write('--before names the folder of the other commit.\n');
  process.exit(2);
}
await bootstrap();
const { importBundled } = await import('./bundled.js');
const { figureInterval, quantile } = await importBundled('bench/stats.ts');

/** @type {Map<string, number[]>} */
const ratios = new Map();
const began = performance.now();
for (let round = 0; round < rounds; round++) {
  const spent = performance.now() - began;
  if (round >= LEAST_ROUNDS && spent + spent / round > minutes * MINUTE_MS) break;
  const isBeforeFirst = round % 2 === 0;
  const [first, second] = isBeforeFirst
    ? [measured(before), measured(root)]
    : [measured(root), measured(before)];
  const [old, current] = isBeforeFirst ? [first, second] : [second, first];
  for (const [id, value] of current) {
    const was = old.get(id);
    if (was !== undefined) ratios.set(id, [...(ratios.get(id) ?? []), value / was]);
  }
  process.stderr.write(`round ${round + 1} after ${Math.round((performance.now() - began) / 1000)} s\n`);
}
for (const [id, each] of ratios) {
  const interval = figureInterval(each, seeded(7423));
  const shown = [quantile(each, 0.5), ...interval].map((/** @type {number} */ value) => value.toFixed(3));
  process.stdout.write(
    `${id}: ${shown[0]} (${shown[1]}–${shown[2]}) of the time before, ${each.length} rounds\n`,
  );
}

/**
 * The median of each row, by its id.
 *
 * @param {string} folder
 * @returns {Map<string, number>}
 */
function measured(folder) {
  const args = [join(folder, 'bin/svc.js'), 'bench', '--only', only.join(','), '--json'];
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
