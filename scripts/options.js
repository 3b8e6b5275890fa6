// Options of the programs that people run by hand (`npm run bench|soak|fuzz|proof`). `--help` lists them; a wrong option ends
// the program with one line before anything is built.
import { parseArgs } from 'node:util';

/** Exit status for wrong usage, as of the command line itself. */
const USAGE = 2;

/**
 * The values of `table` by name: a boolean, a number, text, or a list, as the kind of each says. `--no-NAME` denies a
 * boolean. Ends the process with the help when it is asked for, and with status 2 when an option is unknown or wrong.
 *
 * @param {string} name what stands after `npm run`
 * @param {string} summary one sentence
 * @param {Record<string, {
 *   kind: 'boolean' | 'count' | 'text' | 'list', default?: unknown, of?: readonly string[], says: string }>} table
 *   `count` is a number above 0; `of` lists the choices of a text or of the members of a list
 * @returns {Record<string, any>}
 */
export function options(name, summary, table) {
  const help = { kind: 'boolean', default: false, says: 'Show this.' };
  const known = { ...table, help };
  try {
    const given = readArguments(known);
    if (given.help) end(helpText(name, summary, known), 0);
    return Object.fromEntries(
      Object.entries(table).map(([option, spec]) => [option, read(option, spec, given[option])]),
    );
  } catch (error) {
    const { message } = /** @type {Error} */ (error);
    return end(`${message}\nnpm run ${name} -- --help lists the options.`, USAGE);
  }
}

/** @returns {Record<string, any>} */
function readArguments(known) {
  const specs = Object.entries(known).map(([option, { kind }]) => [
    option,
    { type: kind === 'boolean' ? 'boolean' : 'string' },
  ]);
  return parseArgs({ options: Object.fromEntries(specs), allowNegative: true }).values;
}

/**
 * @param {string} option
 * @param {{ kind: string, default?: unknown, of?: readonly string[] }} spec
 * @param {any} text
 */
function read(option, spec, text) {
  const { kind, default: otherwise, of } = spec;
  if (text === undefined || kind === 'boolean') return text ?? otherwise;
  if (kind === 'count') return countOf(option, text);
  const members = kind === 'list' ? text.split(',').map((member) => member.trim()) : [text];
  const strange = members.find((member) => of && !of.includes(member));
  if (strange !== undefined) throw new Error(`--${option} is one of ${of?.join(', ')}; not "${strange}".`);
  return kind === 'list' ? members : text;
}

function countOf(option, text) {
  const count = Number(text);
  if (count > 0 && Number.isFinite(count)) return count;
  throw new Error(`--${option} is a number above 0, not "${text}".`);
}

function helpText(name, summary, table) {
  const lines = Object.entries(table).map(
    ([option, spec]) => `  ${shown(option, spec).padEnd(20)} ${spec.says}${choices(spec)}`,
  );
  return `${summary}\n\n  npm run ${name} -- [options]\n\n${lines.join('\n')}`;
}

function shown(option, { kind, default: otherwise }) {
  if (kind === 'boolean') return otherwise ? `--no-${option}` : `--${option}`;
  return `--${option} <${kind}>`;
}

function choices({ kind, default: otherwise, of }) {
  const all = of ? ` Of: ${of.join(', ')}.` : '';
  if (kind === 'boolean' || otherwise === undefined) return all;
  return `${all} Otherwise ${otherwise === of || otherwise.length === 0 ? 'all' : otherwise}.`;
}

/** @returns {never} */
function end(text, status) {
  (status === 0 ? process.stdout : process.stderr).write(`${text}\n`);
  process.exit(status);
}
