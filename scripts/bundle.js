// How every bundle of the package is made: modules for the oldest Node that is supported, chunks shared between entry
// points. Other packages are left outside, but for those that consist of hundreds of small files: reading these took most
// of a command's time.
import { readFileSync } from 'node:fs';

const INSIDE = ['@oclif/core', 'ajv', 'chalk', 'fastest-levenshtein', 'string-width', 'typebox', 'yaml'];
/** What oclif asks for when it runs TypeScript or writes templates, which is never. */
const NEVER = ['ejs', 'ts-node', 'tsx', 'typescript'];
const { dependencies } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));

/** @satisfies {import('esbuild').BuildOptions} */
export const BUNDLE = {
  bundle: true,
  splitting: true,
  external: [...Object.keys(dependencies).filter((name) => !INSIDE.includes(name)), ...NEVER].flatMap(
    (name) => [name, `${name}/*`],
  ),
  platform: 'node',
  format: 'esm',
  target: 'node20',
  // What is inside and CommonJS may ask for Node's own modules.
  banner: {
    js: "import{createRequire as svcRequire}from'node:module';const require=svcRequire(import.meta.url);",
  },
  minifySyntax: true,
  minifyWhitespace: true,
  sourcemap: 'linked',
  sourcesContent: false,
  logLevel: 'warning',
};
