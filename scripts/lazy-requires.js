// Lets oclif and undici read a module of theirs when it is first used, instead of all of them at once: a command uses a
// fifth of what they consist of.
import { readFileSync } from 'node:fs';

/** As TypeScript writes an import: nothing else has such a name. */
const IMPORTED = /^(?:const|var) (\w+_\d+) = ((?:__import(?:Default|Star)\()?require\("[^"]+"\)\)?);$/gm;
/** `export * as name` */
const EXPORTED = /^exports\.(\w+) = (__importStar\(require\("[^"]+"\)\));$/gm;
/** npm checks the version of Node by our own package.json; a second check takes a sixth of a command's time. */
const NODE_CHECK = /^checkNodeVersion\(\);$/m;

/** What takes a fourth of a short command's time for nothing: the search for Windows around Linux, and promises for two files. */
const REPLACED = {
  '/util/os.js': ["(await import('wsl-utils')).isWsl ? 'wsl' : ", ''],
  '/util/fs.js': [
    "await (0, promises_1.readFile)(path, 'utf8')",
    "(0, node_fs_1.readFileSync)(path, 'utf8')",
  ],
};

/** No request of ours uses HTTP/2. */
const UNDICI = {
  'dispatcher/client.js': [
    [
      "const connectH2 = require('./client-h2.js')",
      "const connectH2 = (...rest) => require('./client-h2.js')(...rest)",
    ],
  ],
};

/** What undici asks the HTTP of Node for: one number and one class. Reading that takes a twelfth of a short command's time. */
const UNDICI_OF_COMMANDS = {
  'dispatcher/client.js': [
    ...UNDICI['dispatcher/client.js'],
    ["const http = require('node:http')", 'const http = { maxHeaderSize: 16384 }'],
  ],
  'core/util.js': [
    ["const { IncomingMessage } = require('node:http')", ''],
    ['.constructor === IncomingMessage', ".constructor.name === 'IncomingMessage'"],
  ],
};

/** A plugin for esbuild. In a CommonJS bundle `importModule` comes from bin/bundle.js. */
export const lazyRequires = {
  name: 'lazy-requires',
  setup(build) {
    const isModule = build.initialOptions.format === 'esm';
    build.onLoad({ filter: /\/node_modules\/@oclif\/core\/lib\/.*\.js$/ }, ({ path }) => {
      const text = lazily(shortened(path, readFileSync(path, 'utf8')));
      return { contents: isModule ? text : text.replace(/\bimport\((?!\))/g, 'importModule('), loader: 'js' };
    });
    build.onLoad(
      { filter: /\/node_modules\/undici\/lib\/(?:dispatcher\/client|core\/util)\.js$/ },
      ({ path }) => {
        const known = Object.entries(isModule ? UNDICI : UNDICI_OF_COMMANDS);
        const [, changes] = known.find(([end]) => path.endsWith(end)) ?? ['', []];
        return { contents: replacedIn(path, readFileSync(path, 'utf8'), changes), loader: 'js' };
      },
    );
  },
};

function shortened(path, text) {
  const [, change] = Object.entries(REPLACED).find(([end]) => path.endsWith(end)) ?? [];
  return replacedIn(path, text, change ? [change] : []);
}

function replacedIn(path, text, changes) {
  return changes.reduce((all, [long, short]) => {
    const replaced = all.replace(long, short);
    if (replaced === all)
      throw new Error(`${path} differs from the form that scripts/lazy-requires.js supports.`);
    return replaced;
  }, text);
}

function lazily(text) {
  const names = [];
  const declared = text.replace(NODE_CHECK, '').replace(IMPORTED, (_, name, value) => {
    names.push(name);
    return `const ${name}$ = ${holder(value)};`;
  });
  const used = names.reduce(
    (all, name) => all.replace(new RegExp(`\\b${name}\\b(?!\\$)`, 'g'), `${name}$$.module`),
    declared,
  );
  return used.replace(
    EXPORTED,
    (_, name, value) =>
      `{ const held = ${holder(value)}; Object.defineProperty(exports, "${name}", { enumerable: true, configurable: true, get: () => held.module }); }`,
  );
}

/** Reads `value` once. */
const holder = (value) =>
  `{ get module() { const value = ${value}; Object.defineProperty(this, "module", { value }); return value; } }`;
