// `npm run house`: the size, structure and language of the sources, as a table or with `-- --json`; `-- --at COMMIT` measures
// an older commit. `-- --words PATH…` lists each forbidden word with its sentence instead, `--names` also in identifiers.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { measure } from './house/measure.js';
import { proseOf, violationsIn, violationsOf } from './house/sentences.js';
import { filesBelow, sourceOf } from './house/sources.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const ENDINGS = ['.ts', '.js', '.c', '.h', '.md', '.sh', '.py', '.yaml'];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: 'boolean', default: false },
    at: { type: 'string' },
    words: { type: 'boolean', default: false },
    names: { type: 'boolean', default: false },
  },
});

/** Calls `use` with the package, of the commit that was asked for. @param {(folder: string) => void} use */
function atRoot(use) {
  if (values.at === undefined) return use(root);
  const folder = mkdtempSync(join(tmpdir(), 'svc-house-'));
  try {
    const archive = execFileSync('git', ['archive', values.at], { cwd: root, maxBuffer: 2 ** 30 });
    execFileSync('tar', ['-x', '-C', folder], { input: archive });
    use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @param {string} folder @param {readonly string[]} paths */
function printWords(folder, paths) {
  const found = filesBelow(folder, paths, ENDINGS)
    .flatMap((path) => violationsAt(path, readFileSync(join(folder, path), 'utf8')))
    .filter(({ kind }) => kind !== 'name' || values.names);
  if (values.json) return print(JSON.stringify(found, undefined, 2));
  for (const { path, line, kind, name, found: words, instead, text } of found)
    print(`${path}:${line} ${kind} [${name}] "${words}" → ${instead}\n    ${text}`);
  const count = (/** @type {string} */ kind) => found.filter((one) => one.kind === kind).length;
  print(`${count('string')} in strings, ${count('comment')} in comments, ${count('name')} in names`);
}

/** @param {string} path @param {string} text */
function violationsAt(path, text) {
  if (/\.[jt]s$/.test(path)) return violationsIn(sourceOf(path, text));
  return proseOf(path, text).flatMap((sentence) => violationsOf(path, sentence));
}

/** @param {ReturnType<typeof measure>} numbers */
function printNumbers(numbers) {
  if (values.json) return print(JSON.stringify(numbers, undefined, 2));
  const { size, small, control, cycles, spawn, spreads, words } = numbers;
  const ownFolder = small.filter(({ path, importer }) => folderOf(path) === folderOf(importer)).length;
  /** @type {[string, string | number][]} */
  const rows = [
    ['lines of src', size.src.lines],
    ['files of src', size.src.files],
    ['lines of commands', size.commands.lines],
    ['files of commands', size.commands.files],
    ['lines that moved from src to bench and test/support/memory-store', size.moved.lines],
    ['lines of all these', size.src.lines + size.commands.lines + size.moved.lines],
    ['files of src with at most 40 lines and one importer', small.length],
    ['  of these, importer in the same folder', ownFolder],
    ['entries at the top of src/control', control.entries],
    ['rooms of src/control (folders, files at its top)', control.rooms],
    ['arrows between rooms', control.arrows],
    ['  of these, within a cycle of rooms', control.arrowsInCycles],
    ['  pairs of rooms that import each other', control.pairs.length],
    ['cycles of files in src, types counted', cycles.length],
    ['  files in them', cycles.flat().length],
    [
      'functions from the route of a spawn to provider.create',
      'hops' in spawn ? spawn.hops : `? (${spawn.problem})`,
    ],
    ['literals that are spread (`...{ }`, `...[ ]`)', spreads.length],
    ['forbidden words in strings', words.strings],
    ['forbidden words in comments', words.comments],
    ['identifiers that carry no meaning', words.names],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  for (const [name, value] of rows) print(`${name.padEnd(width)}  ${value}`);
  if (control.pairs.length > 0)
    print(`\nPairs of src/control:\n${control.pairs.map((pair) => `  ${pair}`).join('\n')}`);
  if (cycles.length > 0)
    print(`\nCycles of src:\n${cycles.map((group) => `  ${group.length}: ${group.join(' ')}`).join('\n')}`);
}

/** @param {string} path */
const folderOf = (path) => path.slice(0, path.lastIndexOf('/'));

/** @param {string} text */
const print = (text) => process.stdout.write(`${text}\n`);

// A pager that was closed.
process.stdout.on('error', () => process.exit());
atRoot((folder) => {
  if (values.words) printWords(folder, positionals.length > 0 ? positionals : ['src', 'commands']);
  else printNumbers(measure(folder));
});
