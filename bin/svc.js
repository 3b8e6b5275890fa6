#!/usr/bin/env node
// Answers --version by itself, so that it costs no more than starting Node; everything else goes to oclif.
import { readFileSync } from 'node:fs';

const [only, more] = process.argv.slice(2);
if (more === undefined && (only === '--version' || only === '-v')) {
  const { name, version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  process.stdout.write(`${name}/${version} ${process.platform}-${process.arch} node-${process.version}\n`);
} else {
  const { main } = await import('../dist/src/cli/main.js');
  await main(import.meta.url);
}
