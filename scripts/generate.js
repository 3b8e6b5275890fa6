// `npm run generate`: writes svc.yaml, man/ and its list in package.json, docs/configuration.md, docs/lint/ and
// docs/openapi.* from schemas, routes, commands and rules, docs/reliability.md from proof/results.json, and
// src/http/json-escapes.ts from the .wat beside it.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { bootstrap, root } from './bootstrap.js';

await bootstrap();
const { importBundled } = await import('./bundled.js');
const { jsonEscapes } = await import('./json-escapes.js');
const { generatedFiles } = await importBundled('src/app/generated-files.ts');
const { reliabilityPage } = await importBundled('proof/page.ts');
const { readResults } = await importBundled('proof/results.ts');
const files = [
  ...generatedFiles(readJson('oclif.manifest.json'), readJson('package.json').version),
  { path: 'docs/reliability.md', text: reliabilityPage(readResults()) },
  await jsonEscapes(root),
];
removeStalePages(files);
for (const { path, text } of files) {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}
listPages(files);
// From the API description that was just written.
execFileSync('python3', ['clients/python/tools/generate.py'], { cwd: root, stdio: 'inherit' });
console.log(`${files.length} files are current.`);

function readJson(path) {
  return JSON.parse(readFileSync(join(root, path), 'utf8'));
}

/** Folders that hold nothing but generated pages. */
function removeStalePages(current) {
  const keep = new Set(current.map(({ path }) => path));
  for (const folder of ['man', 'docs/lint']) {
    mkdirSync(join(root, folder), { recursive: true });
    for (const name of readdirSync(join(root, folder)))
      if (!keep.has(`${folder}/${name}`)) rmSync(join(root, folder, name));
  }
}

/** npm installs the pages that package.json lists, one by one. */
function listPages(current) {
  const man = current.map(({ path }) => path).filter((path) => path.startsWith('man/'));
  const text = `${JSON.stringify({ ...readJson('package.json'), man: man.sort() }, null, 2)}\n`;
  writeFileSync(join(root, 'package.json'), text);
}
