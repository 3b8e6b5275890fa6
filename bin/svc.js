#!/usr/bin/env node
// Answers --version and plain calls of `config lint` by itself, so that they cost little more than starting Node; commands that
// ask a server come from a bundle of their own; everything else goes to oclif. CommonJS (package.json beside it), since the
// loader of modules takes a quarter of such a start.
const { dirname, join } = require('node:path');
const { name, version } = require('../package.json');

const [topic, command, ...rest] = process.argv.slice(2);
if (command === undefined && (topic === '--version' || topic === '-v'))
  process.stdout.write(`${name}/${version} ${process.platform}-${process.arch} node-${process.version}\n`);
else if (isClient()) runClient();
else if (!isLint() || !require('../dist/fast-path/main.cjs').lintQuickly(rest, dirname(__dirname), version))
  runOclif();

function isLint() {
  return topic === 'config' && command === 'lint';
}

function isClient() {
  return command !== undefined && require('../dist/fast-path/client.json').includes(`${topic} ${command}`);
}

function runClient() {
  const root = dirname(__dirname);
  const { main } = require('./bundle.js').load(join(root, 'dist/fast-path/client.cjs'));
  // Else V8 optimizes the parser of answers, which takes longer than the command itself, and Node waits for that at its end.
  require('node:v8').setFlagsFromString('--liftoff-only');
  return main(root, require('../package.json'));
}

async function runOclif() {
  const { main } = await import('../dist/src/cli/main.js');
  await main(dirname(__dirname));
}
