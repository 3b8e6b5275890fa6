// The functions of `src` that a spawn of a local sandbox passes, from its route to `provider.create`. Each entry is a file
// and the function in it; the syntax trees confirm that each one names the next.
import ts from 'typescript';
import { eachNode } from './sources.js';

/** @typedef {import('./sources.js').Source} Source */

/**
 * The end of the file's path, the function in it, and the name by which its predecessor calls it where that differs.
 *
 * @typedef {readonly [file: RegExp, name: string, called?: string]} Hop
 */

/** The newest list first; the first whose functions all exist counts, so that older commits can be measured. */
/** @type {readonly (readonly Hop[])[]} */
const PATHS = [
  [
    [/http\/routes\/sandboxes\.ts$/, 'handler'],
    [/spawn\/spawn\.ts$/, 'spawn'],
    [/spawn\/spawn\.ts$/, '#spawn'],
    [/spawn\/start\.ts$/, 'startSandbox'],
    [/runtime\/runtimes\.ts$/, 'runtimes', 'create'],
    [/unique-runtimes\.ts$/, 'soleIn', 'create'],
    [/metrics\/meter\.ts$/, 'create'],
    [/providers\/guard\.ts$/, 'guard', 'create'],
  ],
  [
    [/http\/routes\/sandboxes\.ts$/, 'handler'],
    [/control\/(?:sandboxes\/)?sandboxes\.ts$/, 'spawn'],
    [/spawn\/spawn\.ts$/, 'spawn'],
    [/spawn\/spawn\.ts$/, '#spawn'],
    [/spawn\/spawn\.ts$/, '#start'],
    [/spawn\/start\.ts$/, 'startSandbox'],
    [/spawn\/start\.ts$/, 'create'],
    [/control\/(?:runtime\/)?runtimes\.ts$/, 'runtimes', 'create'],
    [/control\/(?:runtime\/)?runtimes\.ts$/, 'ownRuntimes', 'create'],
    [/(?:sole|unique)-runtimes\.ts$/, 'soleIn', 'create'],
    [/metrics\/meter\.ts$/, 'create'],
    [/providers\/guard\.ts$/, 'guard', 'create'],
  ],
];

/**
 * The number of functions between the route and `provider.create`, or what is out of date in the newest list.
 *
 * @param {readonly Source[]} sources
 * @returns {{ hops: number, path: readonly string[] } | { problem: string }}
 */
export function spawnHops(sources) {
  /** @type {string | undefined} */
  let problem;
  for (const path of PATHS) {
    const found = problemOf(path, sources);
    if (found === undefined) return { hops: path.length, path: path.map(([, name]) => name) };
    problem ??= found;
  }
  return { problem: String(problem) };
}

/** @param {readonly Hop[]} path @param {readonly Source[]} sources */
function problemOf(path, sources) {
  for (const [index, [file, name]] of path.entries()) {
    const source = sources.find((one) => file.test(one.path));
    if (!source) return `there is no file ${file.source}`;
    const [, next, called = next] = path[index + 1] ?? [file, 'create'];
    const bodies = functionsNamed(source, name);
    if (bodies.length === 0) return `${source.path} has no function ${name}`;
    if (!bodies.some((body) => names(body, called))) return `${source.path}: ${name} does not call ${called}`;
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
