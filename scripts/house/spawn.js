// The functions of `src` that a spawn of a local sandbox passes, from its route to `provider.create`. Each entry is a file
// and the function in it; the syntax trees confirm that each one names the next.
import ts from 'typescript';
import { eachNode } from './sources.js';

/** @typedef {import('./sources.js').Source} Source */

/** The first list whose functions all exist counts; older ones are for older commits. */
export const SPAWN_PATHS = [
  [
    'src/http/routes/sandboxes.ts handler',
    'src/control/sandboxes.ts spawn',
    'src/control/spawn/spawn.ts spawn',
    'src/control/spawn/spawn.ts #spawn',
    'src/control/spawn/spawn.ts #start',
    'src/control/spawn/start.ts startSandbox',
    'src/control/spawn/start.ts create',
    'src/control/runtimes.ts runtimes',
    'src/control/runtimes.ts ownRuntimes',
    'src/control/sole-runtimes.ts soleIn',
    'src/control/metrics/meter.ts create',
    'src/providers/guard.ts guard',
  ],
];

/**
 * The number of functions between the route and `provider.create`, or what is out of date in the newest list.
 *
 * @param {readonly Source[]} sources
 * @returns {{ hops: number, path: readonly string[] } | { problem: string }}
 */
export function spawnHops(sources) {
  const problems = SPAWN_PATHS.map((path) => [path, problemOf(path, sources)]);
  for (const [path, problem] of problems)
    if (problem === undefined)
      return { hops: /** @type {string[]} */ (path).length, path: /** @type {string[]} */ (path) };
  return { problem: String(problems[0]?.[1]) };
}

/** @param {readonly string[]} path @param {readonly Source[]} sources */
function problemOf(path, sources) {
  for (const [index, entry] of path.entries()) {
    const [file = '', name = ''] = entry.split(' ');
    const source = sources.find((one) => one.path === file);
    if (!source) return `${file} does not exist`;
    const next = path[index + 1]?.split(' ')[1] ?? 'create';
    // A factory's method is called by the name of the method.
    const called = ['runtimes', 'ownRuntimes', 'soleIn', 'guard'].includes(next) ? 'create' : next;
    const bodies = functionsNamed(source, name);
    if (bodies.length === 0) return `${file} has no function ${name}`;
    if (!bodies.some((body) => names(body, called))) return `${file}: ${name} does not call ${called}`;
  }
  return undefined;
}

/** @param {Source} source @param {string} wanted @returns {ts.Node[]} */
function functionsNamed({ tree }, wanted) {
  /** @type {ts.Node[]} */
  const found = [];
  eachNode(tree, (node) => {
    const isOwn =
      (ts.isFunctionDeclaration(node) ||
        ts.isMethodDeclaration(node) ||
        ts.isPropertyAssignment(node) ||
        ts.isVariableDeclaration(node)) &&
      node.name?.getText() === wanted;
    if (isOwn) found.push(node);
  });
  return found;
}

/** @param {ts.Node} body @param {string} wanted */
function names(body, wanted) {
  let isNamed = false;
  eachNode(body, (node) => {
    if ((ts.isIdentifier(node) || ts.isPrivateIdentifier(node)) && node.text === wanted) isNamed = true;
  });
  return isNamed;
}
