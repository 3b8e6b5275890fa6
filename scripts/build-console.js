// Builds the console into dist/console/: scripts and styles with a hash in their names, each also compressed, and the manifest by
// which the server finds them. Fails when a part is over its budget (console/README.md).
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { build } from 'esbuild';

const KIB = 1024;
/** Bytes as sent with gzip, of all with brotli. */
export const BUDGETS = { first: 60 * KIB, screen: 12 * KIB, terminal: 105 * KIB, all: 400 * KIB };

const TYPES = { js: 'text/javascript; charset=utf-8', css: 'text/css; charset=utf-8' };

/**
 * @param {string} root
 * Returns the sizes in bytes: of the first load, of the largest screen, of the terminal, and of all. */
export async function buildConsole(root) {
  const outdir = join(root, 'dist/console');
  rmSync(outdir, { recursive: true, force: true });
  mkdirSync(outdir, { recursive: true });
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: { main: 'console/src/main.tsx', style: 'console/src/style/style.css' },
    outdir,
    bundle: true,
    splitting: true,
    format: 'esm',
    minify: true,
    metafile: true,
    legalComments: 'external',
    target: ['chrome111', 'firefox115', 'safari16.4'],
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    tsconfigRaw: {},
    logLevel: 'warning',
  });
  keepLicences(outdir);
  const files = {};
  const sizes = {};
  for (const name of readdirSync(outdir).filter((each) => /\.(?:js|css)$/.test(each))) {
    const [facts, size] = compressed(join(outdir, name));
    files[name] = facts;
    sizes[name] = size;
  }
  const outputs = Object.entries(metafile.outputs);
  const named = (entry) => basename(outputs.find(([, { entryPoint }]) => entryPoint === entry)?.[0] ?? '');
  const [entry, style] = [named('console/src/main.tsx'), named('console/src/style/style.css')];
  const preload = importedBy(metafile, `dist/console/${entry}`);
  writeFileSync(join(outdir, 'manifest.json'), JSON.stringify({ entry, style, preload, files }));
  return judged(sizes, { entry, style, preload });
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  for (const [name, bytes] of Object.entries(
    await buildConsole(fileURLToPath(new URL('..', import.meta.url))),
  ))
    console.log(`${name.padEnd(10)}${String(bytes).padStart(9)} of ${BUDGETS[name]} bytes`);

function compressed(path) {
  const bytes = readFileSync(path);
  const br = brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } });
  const gzip = gzipSync(bytes, { level: 9 });
  writeFileSync(`${path}.br`, br);
  writeFileSync(`${path}.gz`, gzip);
  const type = TYPES[/** @type {'js' | 'css'} */ (path.slice(path.lastIndexOf('.') + 1))];
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  return [
    { type, sha256, encodings: ['br', 'gzip'] },
    { br: br.length, gzip: gzip.length },
  ];
}

/** Scripts that the first one imports, and those that they import, but not what it loads later. */
function importedBy({ outputs }, first) {
  const found = new Set();
  const visit = (path) => {
    for (const { path: next, kind } of outputs[path]?.imports ?? [])
      if (kind === 'import-statement' && !found.has(next)) {
        found.add(next);
        visit(next);
      }
  };
  visit(first);
  return [...found].map((path) => basename(path));
}

/** One file with the licences of everything inside. */
function keepLicences(outdir) {
  const names = readdirSync(outdir).filter((name) => name.endsWith('.LEGAL.txt'));
  const packages = ['preact', '@preact/signals', '@preact/signals-core', '@xterm/xterm', '@xterm/addon-fit'];
  const texts = packages.map((name) => {
    const folder = join(outdir, '../../node_modules', name);
    return `${name}\n\n${readFileSync(join(folder, 'LICENSE'), 'utf8')}`;
  });
  for (const name of names) rmSync(join(outdir, name));
  writeFileSync(join(outdir, 'LICENSES.txt'), texts.join('\n\n'));
}

function judged(sizes, { entry, style, preload }) {
  const initial = new Set([entry, style, ...preload]);
  const total = (names, kind) => names.reduce((sum, name) => sum + sizes[name][kind], 0);
  const isTerminal = (name) => /^(?:xterm|terminal)/.test(name);
  const later = Object.keys(sizes).filter((name) => !initial.has(name));
  const result = {
    first: total([...initial], 'gzip'),
    screen: Math.max(0, ...later.filter((name) => !isTerminal(name)).map((name) => sizes[name].gzip)),
    terminal: total(later.filter(isTerminal), 'gzip'),
    all: total(Object.keys(sizes), 'br'),
  };
  const over = Object.keys(BUDGETS).filter((name) => result[name] > BUDGETS[name]);
  if (over.length > 0)
    throw new Error(
      `The console is over its budget: ${over.map((name) => `${name} ${result[name]}`).join(', ')}`,
    );
  return result;
}
