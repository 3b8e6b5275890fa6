// Runs one piece of JavaScript after the other in one scope, as the prompt of Node does: declarations stay, await works at the top.
const fs = require('node:fs');
const readline = require('node:readline');
const repl = require('node:repl');
const { Duplex } = require('node:stream');
const { inspect } = require('node:util');

const silent = new Duplex({ read() {}, write: (_piece, _coding, done) => done() });
const globals = Object.getOwnPropertyDescriptors(globalThis);
const prompt = repl.start({ prompt: '', input: silent, output: silent, terminal: false, useGlobal: true });
prompt.removeAllListeners('SIGINT');
// The prompt makes the modules of Node global, which code that imports them by these names cannot declare again.
for (const name of Object.keys(Object.getOwnPropertyDescriptors(globalThis)))
  if (globals[name]) Object.defineProperty(globalThis, name, globals[name]);
  else delete globalThis[name];
globalThis.require ??= require;
// What is thrown goes to the domain of the prompt, also later.
let failed = report;
prompt._domain.removeAllListeners('error');
prompt._domain.on('error', (error) => failed(error));
const event = (line) => fs.writeSync(4, `${JSON.stringify(line)}\n`);
const mark = `\0${process.env.SVC_MARK}\0`;
delete process.env.SVC_MARK;

// As shells do: the folder by the name that was asked for, also where that is a link.
const realFolder = process.cwd;
process.cwd = () => {
  const named = process.env.PWD ?? '';
  try {
    const [a, b] = [fs.statSync(named), fs.statSync('.')];
    if (a.ino === b.ino && a.dev === b.dev) return named;
  } catch {}
  return realFolder();
};

/** The prompt knows only the import that is a function. */
const withoutStaticImports = (code) =>
  code
    .replace(/^\s*import\s+(['"][^'"]+['"])\s*;?\s*$/gm, 'await import($1);')
    .replace(/^\s*import\s+\*\s+as\s+(\w+)\s+from\s+(['"][^'"]+['"])\s*;?\s*$/gm, 'const $1 = await import($2);')
    .replace(
      /^\s*import\s+(\w+)\s+from\s+(['"][^'"]+['"])\s*;?\s*$/gm,
      'const { default: $1 } = await import($2);',
    )
    .replace(
      /^\s*import\s+\{([^}]*)\}\s+from\s+(['"][^'"]+['"])\s*;?\s*$/gm,
      (_all, names, from) => `const {${names.replace(/\bas\b/g, ':')}} = await import(${from});`,
    );

const evaluate = (code) =>
  new Promise((resolve, reject) => {
    const done = (error, value) => (error ? reject(error) : resolve(value));
    failed = reject;
    const asOne = /^\s*\{[\s\S]*\}\s*;?\s*$/.test(code) ? code : `${code}\n`;
    prompt.eval(asOne, prompt.context, 'cell', done);
  });

async function run({ code, environment }) {
  const before = Object.keys(environment).map((name) => [name, process.env[name]]);
  Object.assign(process.env, environment);
  try {
    const value = await evaluate(withoutStaticImports(code));
    if (value !== undefined) event(resultOf(value));
  } catch (error) {
    const { name = 'Error', message = String(error), stack = '' } = error ?? {};
    event({ type: 'error', name: String(name), value: String(message), traceback: String(stack) });
  }
  failed = report;
  for (const [name, value] of before)
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  await Promise.all([process.stdout, process.stderr].map((out) => new Promise((done) => out.write(mark, done))));
  event({ type: 'end' });
}

function resultOf(value) {
  const text = typeof value === 'string' ? value : inspect(value);
  const isData = typeof value === 'object' && value !== null;
  return { type: 'result', is_main_result: true, text, ...(isData && { json: plain(value) }) };
}

function plain(value) {
  try {
    return JSON.parse(JSON.stringify(value)) ?? undefined;
  } catch {
    return undefined;
  }
}

function report(error) {
  fs.writeSync(2, `${error?.stack ?? error}\n`);
}

process.on('uncaughtException', report);
process.on('SIGINT', () => {});
let last = Promise.resolve();
readline.createInterface({ input: fs.createReadStream(null, { fd: 3 }) }).on('line', (line) => {
  last = last.then(() => run(JSON.parse(line)));
});
