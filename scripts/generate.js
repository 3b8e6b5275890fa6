// `npm run generate`: writes svc.yaml, man/, docs/configuration.md, docs/lint/ and docs/openapi.* from schemas, routes,
// commands and rules.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { bootstrap, root } from './bootstrap.js';

bootstrap();
const { importBundled } = await import('./bundled.js');
const { generatedFiles } = await importBundled('src/app/generated-files.ts');
const files = generatedFiles(readJson('oclif.manifest.json'), readJson('package.json').version);
removeStalePages(files);
for (const { path, text } of files) {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}
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
