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

const UNDICI_H2 = "const connectH2 = require('./client-h2.js')";

/** A plugin for esbuild. In a CommonJS bundle `importModule` comes from bin/bundle.js. */
export const lazyRequires = {
  name: 'lazy-requires',
  setup(build) {
    const isModule = build.initialOptions.format === 'esm';
    build.onLoad({ filter: /\/node_modules\/@oclif\/core\/lib\/.*\.js$/ }, ({ path }) => {
      const text = lazily(shortened(path, readFileSync(path, 'utf8')));
      return { contents: isModule ? text : text.replace(/\bimport\((?!\))/g, 'importModule('), loader: 'js' };
    });
    // No request of ours uses HTTP/2.
    build.onLoad({ filter: /\/node_modules\/undici\/lib\/dispatcher\/client\.js$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8');
      if (!text.includes(UNDICI_H2))
        throw new Error(`${path} differs from the form that scripts/lazy-requires.js supports.`);
      const contents = text.replace(
        UNDICI_H2,
        "const connectH2 = (...rest) => require('./client-h2.js')(...rest)",
      );
      return { contents, loader: 'js' };
    });
  },
};

function shortened(path, text) {
  const [, [long, short]] = Object.entries(REPLACED).find(([end]) => path.endsWith(end)) ?? ['', ['', '']];
  if (!text.includes(long))
    throw new Error(`${path} differs from the form that scripts/lazy-requires.js supports.`);
  return text.replace(long, short);
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
