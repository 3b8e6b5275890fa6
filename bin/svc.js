#!/usr/bin/env node
// Answers --version and simple calls of `config lint` itself, so that they cost little more than starting Node. Commands that
// call a server run from their own bundle, and `serve` goes without oclif, which would stay in its memory; oclif runs everything
// else. CommonJS (package.json beside it), because the module loader takes a quarter of such a start.
const { existsSync } = require('node:fs');
const { dirname, join } = require('node:path');
const { name, version } = require('../package.json');

const [topic, command, ...rest] = process.argv.slice(2);
const serveFlags = topic === 'serve' ? plainFlags() : undefined;
if (command === undefined && (topic === '--version' || topic === '-v'))
  process.stdout.write(`${name}/${version} ${process.platform}-${process.arch} node-${process.version}\n`);
else if (isClient()) runClient();
else if (serveFlags) runServe(serveFlags);
else if (!isLint() || !lintedQuickly()) runOclif();

function isLint() {
  return topic === 'config' && command === 'lint';
}

function lintedQuickly() {
  const root = dirname(__dirname);
  const { lintQuickly } = require('./bundle.js').load(join(root, 'dist/fast-path/main.cjs'));
  return lintQuickly(rest, root, version);
}

function isClient() {
  const areWords = /^[a-z]+$/.test(topic) && /^[a-z-]+$/.test(command);
  return areWords && existsSync(manifestOf()) && !rest.includes('--local') && process.env.DEBUG === undefined;
}

/** What oclif knows about one command of the client. */
function manifestOf() {
  return join(__dirname, `../dist/fast-path/${topic}.${command}.json`);
}

/** The flags of `serve`, where each comes once with a value of its own; undefined: oclif reads them, and says what is wrong. */
function plainFlags() {
  const flags = {};
  const args = process.argv.slice(3);
  for (let at = 0; at < args.length; at += 2) {
    const [, name] = /^--(config|host|port|provider)$/.exec(args[at]) ?? [];
    const value = args[at + 1] ?? '';
    if (name === undefined || name in flags || value === '' || value.startsWith('-')) return undefined;
    flags[name] = value;
  }
  if (flags.port === undefined) return flags;
  const port = /^(?:0|[1-9]\d{0,4})$/.test(flags.port) ? Number(flags.port) : undefined;
  return port !== undefined && port <= 65_535 ? { ...flags, port } : undefined;
}

async function runServe(flags) {
  const { main } = await import('../dist/src/cli/fast-path/serve.js');
  await main(flags, version);
}

function runClient() {
  const root = dirname(__dirname);
  const { main } = require('./bundle.js').load(join(root, 'dist/fast-path/client.cjs'));
  // Otherwise V8 optimizes the response parser, which takes longer than the command itself, and Node waits for that on exit.
  require('node:v8').setFlagsFromString('--liftoff-only');
  // Completion needs to know every command.
  const manifest = topic === 'completion' ? '../oclif.manifest.json' : manifestOf();
  return main(root, require('../package.json'), require(manifest));
}

async function runOclif() {
  const { main } = await import('../dist/src/cli/main.js');
  await main(dirname(__dirname));
}
