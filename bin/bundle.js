// Loads a CommonJS bundle with the V8 code cache of the build: compiling it takes a third of a short command's time. V8
// rejects a cache of another version and compiles the bundle. Such a script cannot import modules by itself.
const { readFileSync } = require('node:fs');
const { createRequire } = require('node:module');
const { dirname } = require('node:path');
const { Script } = require('node:vm');

const CACHE = '.cache';

/** The compiled script of the bundle at `path`. */
function scriptOf(path) {
  const source = `(function (exports, require, module, importModule, __filename, __dirname) {${readFileSync(path, 'utf8')}\n})`;
  return new Script(source, { filename: path, cachedData: cacheOf(path) });
}

function cacheOf(path) {
  try {
    return readFileSync(path + CACHE);
  } catch {
    return undefined;
  }
}

/** Runs the bundle at `path` and returns its exports. */
function run(script, path) {
  const bundle = { exports: {} };
  const importModule = (specifier) => import(specifier);
  script.runInThisContext()(bundle.exports, createRequire(path), bundle, importModule, path, dirname(path));
  return bundle.exports;
}

module.exports = { CACHE, run, scriptOf, load: (path) => run(scriptOf(path), path) };
