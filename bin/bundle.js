// Reads a CommonJS bundle with what V8 made of it when the package was built: compiling it is a third of a short command's
// time. V8 refuses what another version made; the bundle is compiled then, and does the same. A script that comes so cannot
// import modules by itself.
const { readFileSync } = require('node:fs');
const { createRequire } = require('node:module');
const { dirname } = require('node:path');
const { Script } = require('node:vm');

const CACHE = '.cache';

/** The script of the bundle at `path`, not yet run. */
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

/** What the bundle at `path` exports. */
function run(script, path) {
  const bundle = { exports: {} };
  const importModule = (specifier) => import(specifier);
  script.runInThisContext()(bundle.exports, createRequire(path), bundle, importModule, path, dirname(path));
  return bundle.exports;
}

module.exports = { CACHE, run, scriptOf, load: (path) => run(scriptOf(path), path) };
