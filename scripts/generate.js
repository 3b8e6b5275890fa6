// `npm run generate`: writes svc.yaml, man/, docs/configuration.md and docs/openapi.* from schemas, routes and commands.
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

function removeStalePages(current) {
  const keep = new Set(current.map(({ path }) => path));
  mkdirSync(join(root, 'man'), { recursive: true });
  for (const name of readdirSync(join(root, 'man')))
    if (!keep.has(`man/${name}`)) rmSync(join(root, 'man', name));
}
