// The numbers of the house: size, structure and language of `src` and `commands`.
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { cyclicGroups } from './graph.js';
import { violationsIn } from './sentences.js';
import { eachNode, importsOf, lineOf, sourcesBelow } from './sources.js';
import { spawnHops } from './spawn.js';

/** @typedef {import('./sources.js').Source} Source */

const SMALL_LINES = 40;

/** @param {string} root the package, of this or another commit */
export function measure(root) {
  const all = sourcesBelow(root, 'src', 'commands', 'bench', 'test/support/memory-store');
  const sources = all.filter(({ path }) => /^(?:src|commands)\//.test(path));
  const imports = new Map(sources.map((source) => [source.path, importsOf(source)]));
  const inside = new Map([...imports].filter(([path]) => path.startsWith('src/')));
  const violations = sources.flatMap(violationsIn);
  const count = (/** @type {string} */ kind) => violations.filter((one) => one.kind === kind).length;
  return {
    size: sizeOf(all),
    small: smallFiles(sources, imports),
    control: { entries: entriesOf(join(root, 'src/control')), ...controlRooms(imports) },
    cycles: cyclicGroups(inside),
    spawn: spawnHops(sources),
    spreads: spreadsOf(sources),
    words: { strings: count('string'), comments: count('comment'), names: count('name') },
  };
}

/** @param {Source} source */
const linesIn = ({ text }) => text.trimEnd().split('\n').length;

/** @param {readonly Source[]} sources */
function sizeOf(sources) {
  const of = (/** @type {string[]} */ ...folders) => {
    const own = sources.filter(({ path }) => folders.some((folder) => path.startsWith(`${folder}/`)));
    return { files: own.length, lines: own.reduce((sum, source) => sum + linesIn(source), 0) };
  };
  return { src: of('src'), commands: of('commands'), moved: of('bench', 'test/support/memory-store') };
}

/** Files of at most 40 lines with one importer. @param {readonly Source[]} sources @param {Map<string, string[]>} imports */
function smallFiles(sources, imports) {
  return sources
    .filter((source) => source.path.startsWith('src/') && linesIn(source) <= SMALL_LINES)
    .map(({ path }) => ({
      path,
      importers: [...imports].filter(([, targets]) => targets.includes(path)).map(([importer]) => importer),
    }))
    .filter(({ importers }) => importers.length === 1)
    .map(({ path, importers: [importer = ''] }) => ({ path, importer }));
}

/** @param {string} folder */
const entriesOf = (folder) => (existsSync(folder) ? readdirSync(folder).length : 0);

/**
 * Rooms are the folders of `control/` and the files at its top; an arrow is an import from one room into another, types
 * included. An arrow runs back when both of its rooms are in one cyclic group.
 *
 * @param {Map<string, string[]>} imports
 */
function controlRooms(imports) {
  const roomOf = (/** @type {string} */ path) => /^src\/control\/([^/]+)/.exec(path)?.[1];
  /** @type {Map<string, string[]>} */
  const rooms = new Map();
  for (const [path, targets] of imports) {
    const room = roomOf(path);
    if (room === undefined) continue;
    const others = targets.flatMap((target) => roomOf(target) ?? []).filter((other) => other !== room);
    rooms.set(room, [...new Set([...(rooms.get(room) ?? []), ...others])]);
  }
  const arrows = [...rooms].flatMap(([from, targets]) =>
    targets.map((to) => /** @type {const} */ ([from, to])),
  );
  const groups = cyclicGroups(rooms);
  const inCycles = arrows.filter(([from, to]) =>
    groups.some((group) => group.includes(from) && group.includes(to)),
  );
  const pairs = arrows
    .filter(([from, to]) => from < to && rooms.get(to)?.includes(from))
    .map(([from, to]) => `${from} ↔ ${to}`);
  return { rooms: rooms.size, arrows: arrows.length, arrowsInCycles: inCycles.length, pairs, groups };
}

/** Literals that are spread where they stand. @param {readonly Source[]} sources */
export function spreadsOf(sources) {
  return sources.flatMap((source) => {
    /** @type {string[]} */
    const found = [];
    eachNode(source.tree, (node) => {
      const isSpread =
        (ts.isSpreadAssignment(node) && ts.isObjectLiteralExpression(node.expression)) ||
        (ts.isSpreadElement(node) && ts.isArrayLiteralExpression(node.expression));
      if (isSpread) found.push(`${source.path}:${lineOf(source, node)}`);
    });
    return found;
  });
}
