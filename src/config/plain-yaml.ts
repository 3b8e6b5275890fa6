// A small YAML or JSON file as plain data: text, numbers, true and false, lists, maps. No aliases: such a file needs none,
// and they are how a small file becomes a large value.
import { isMap, isScalar, isSeq } from 'yaml';
import { ServiceError } from '../domain/errors.ts';
import { readYaml } from './yaml-document.ts';

const MAX_CHARACTERS = 1024 * 1024;
const MAX_DEPTH = 16;

/** Throws `bad_request` naming the first place that is wrong. `name` is the file's, for messages. */
export function readPlain(text: string, name: string): unknown {
  if (text.length > MAX_CHARACTERS) throw wrong(`${name} is over 1 MiB.`);
  const { contents, problems, at } = readYaml(text, name);
  if (problems[0]) throw wrong(problems[0].message);
  const refuse = (node: unknown, words: string) => {
    const { line, column } = at(node);
    return wrong(`${name}:${line}:${column}: ${words}.`);
  };
  const plain = (node: unknown, depth: number): unknown => {
    if (node === null || node === undefined) return null;
    if (depth > MAX_DEPTH) throw refuse(node, 'nested too deeply');
    if (isScalar(node)) return node.value;
    if (isSeq(node)) return node.items.map((item) => plain(item, depth + 1));
    if (!isMap(node)) throw refuse(node, 'aliases are not supported here');
    const map = new Map<string, unknown>();
    for (const { key, value } of node.items) {
      if (!isScalar(key) || typeof key.value !== 'string') throw refuse(key, 'a key that is not text');
      if (map.has(key.value)) throw refuse(key, 'a duplicate key');
      map.set(key.value, plain(value, depth + 1));
    }
    return Object.fromEntries(map);
  };
  return plain(contents, 0);
}

function wrong(message: string): ServiceError {
  return new ServiceError('bad_request', message);
}
