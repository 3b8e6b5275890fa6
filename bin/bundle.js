// Loads a CommonJS bundle with the V8 code cache of the build: compiling it takes a third of a short command's time. V8
// rejects a cache of another version and compiles the bundle. Such a script cannot import modules by itself.
const { readFileSync } = require('node:fs');
const { dirname } = require('node:path');
const { Script } = require('node:vm');

const CACHE = '.cache';

/** The compiled script of the bundle at `path`, which is ASCII: decoding UTF-8 takes time. */
function scriptOf(path) {
  const source = `(function (exports, require, module, importModule, __filename, __dirname) {${readFileSync(path, 'latin1')}\n})`;
  return new Script(source, { filename: path, cachedData: cacheOf(path) });
}

function cacheOf(path) {
  try {
    return readFileSync(path + CACHE);
  } catch {
    return undefined;
  }
}

/** Packages are found from here as from the bundle; `node:module` is read for the files beside it only, since it takes time. */
function requireFrom(path) {
  return (name) => (name.startsWith('.') ? require('node:module').createRequire(path) : require)(name);
}

/** Runs the bundle at `path` and returns its exports. */
function run(script, path) {
  const bundle = { exports: {} };
  const importModule = (specifier) => import(specifier);
  script.runInThisContext()(bundle.exports, requireFrom(path), bundle, importModule, path, dirname(path));
  return bundle.exports;
}

module.exports = { CACHE, run, scriptOf, load: (path) => run(scriptOf(path), path) };
