#!/usr/bin/env node
// Answers --version and plain calls of `config lint` by itself, so that they cost little more than starting Node; everything
// else goes to oclif. CommonJS (package.json beside it), since the loader of modules takes a quarter of such a start.
const { dirname } = require('node:path');
const { name, version } = require('../package.json');

const [topic, command, ...rest] = process.argv.slice(2);
if (command === undefined && (topic === '--version' || topic === '-v'))
  process.stdout.write(`${name}/${version} ${process.platform}-${process.arch} node-${process.version}\n`);
else if (!isLint() || !require('../dist/quick/main.cjs').lintQuickly(rest, version)) runOclif();

function isLint() {
  return topic === 'config' && command === 'lint';
}

async function runOclif() {
  const { main } = await import('../dist/src/cli/main.js');
  await main(dirname(__dirname));
}
