#!/usr/bin/env node
// Answers --version and simple calls of `config lint` itself, so that they cost little more than starting Node. Commands that
// call a server run from their own bundle; oclif runs everything else. CommonJS (package.json beside it), because the module
// loader takes a quarter of such a start.
const { existsSync } = require('node:fs');
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
  const areWords = /^[a-z]+$/.test(topic) && /^[a-z-]+$/.test(command);
  return areWords && existsSync(manifestOf()) && !rest.includes('--local');
}

/** What oclif knows about one command of the client. */
function manifestOf() {
  return join(__dirname, `../dist/fast-path/${topic}.${command}.json`);
}

function runClient() {
  const root = dirname(__dirname);
  const { main } = require('./bundle.js').load(join(root, 'dist/fast-path/client.cjs'));
  // Otherwise V8 optimizes the response parser, which takes longer than the command itself, and Node waits for that on exit.
  require('node:v8').setFlagsFromString('--liftoff-only');
  return main(root, require('../package.json'), require(manifestOf()));
}

async function runOclif() {
  const { main } = await import('../dist/src/cli/main.js');
  await main(dirname(__dirname));
}
