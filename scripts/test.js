// `npm test`: builds what is stale, then runs every suite with what this host has. Arguments go to vitest.
//
// As root, and without arguments, pieces of the slow suites (scripts/test-pieces.js) run side by side, each in a lane
// (scripts/test-lane.sh), and beside the fast suites: they wait more than they compute. A lane prints what a piece wrote when it
// ends. SVC_TEST_LANES sets their number.
//
// With SVC_TEST_AGAIN, as `npm run verify` sets it, a few files that failed run once more, alone: a test of real engines and
// processes may fail by what else the machine does. One that passes then is named as unstable and does not fail the run.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { bootstrap, root } from './bootstrap.js';
import { piecesOf, writeSeconds } from './test-pieces.js';

/** More failed files than these are not an accident. */
const MOST_AGAIN = 12;
const FAST = ['unit', 'rules'];
const SLOW = ['e2e', 'fault', 'contract'];
const SLOWEST = 20;
/** Suites that run a second time, over three servers behind HAProxy (test/support/servers/fleet.ts). */
const OVER_FLEET = [
  ...['actors', 'admin', 'admission', 'background', 'events', 'exec-input', 'exec-key', 'files', 'keys'],
  ...['mcp', 'ndjson', 'ports', 'previews', 'prewarm-workers', 'templates', 'usage', 'worker'],
  'worker-sessions',
];
const FLEET = { SVC_TEST_DATABASE: 'fleet' };
const PLAIN = {};
const FLEET_PART = {
  name: 'fleet',
  seconds: 400,
  args: OVER_FLEET.map((name) => `test/e2e/${name}.test.ts`),
  env: FLEET,
};
const LANES = Number(process.env.SVC_TEST_LANES) || 3;

await bootstrap();
// Outside /tmp, which a lane does not share.
const folder = mkdtempSync('/var/tmp/svc-test-report-');
const reports = await runAll(process.argv.slice(2));
const total = sum(reports);
showSlowest(total);
const status = process.env.SVC_TEST_AGAIN && isAccident(total) ? await again(total) : close(total);
rmSync(folder, { recursive: true });
process.exit(status);

/** @param {string[]} args */
async function runAll(args) {
  if (args.length > 0 || process.getuid?.() !== 0) return [await run('all', args)];
  const left = SLOW.flatMap(piecesOfSuite);
  if (process.env.SVC_TEST_REQUIRE === 'all') left.push(FLEET_PART);
  // So that the lanes end together.
  left.sort((a, b) => b.seconds - a.seconds);
  const reports = [];
  const lane = async () => {
    for (let piece = left.shift(); piece; piece = left.shift()) {
      process.stdout.write(`${piece.name} runs, ${left.length} pieces are left\n`);
      reports.push(await run(piece.name, piece.args, { lane: true, env: piece.env }));
    }
  };
  const first = async () => {
    reports.push(await run('fast', projects(FAST)));
    await lane();
  };
  await Promise.all([first(), ...Array.from({ length: LANES - 1 }, lane)]);
  // Only of runs over a database file.
  if (process.env.SVC_TEST_SECONDS === 'write')
    writeSeconds(reports.filter(({ env }) => env === PLAIN).flatMap(({ files }) => files));
  return reports;
}

/** @param {string} suite */
function piecesOfSuite(suite) {
  const pieces = piecesOf(suite);
  return pieces.map(({ files, seconds }, at) => {
    const name = pieces.length === 1 ? suite : `${suite}-${at + 1}`;
    return { name, seconds, args: [...projects([suite]), ...files], env: PLAIN };
  });
}

function projects(names) {
  return names.flatMap((name) => ['--project', name]);
}

/** What one run of vitest reports: files that failed, tests that passed and failed, and what was skipped. */
function run(name, args, { lane = false, env = PLAIN } = {}) {
  const report = join(folder, `${name}.json`);
  rmSync(report, { force: true });
  const vitest = [process.execPath, 'node_modules/vitest/vitest.mjs', 'run', ...args];
  const command = lane ? ['bash', 'scripts/test-lane.sh', ...vitest] : vitest;
  const kept = join(folder, `${name}.log`);
  const output = lane ? [openSync(kept, 'w'), openSync(kept, 'a')] : [1, 2];
  const start = Date.now();
  const child = spawn(command[0], command.slice(1), {
    cwd: root,
    stdio: ['ignore', ...output],
    env: { ...process.env, ...env, SVC_TEST_REPORT: report },
  });
  return new Promise((resolve) => {
    child.once('close', (code, signal) => {
      if (lane) process.stdout.write(readFileSync(kept));
      const none = {
        failed_files: [],
        unhandled: 1,
        passed: 0,
        failed: 1,
        failures: [`${name}: vitest ended with ${code ?? signal} and no report`],
        passed_elsewhere: 0,
        skipped: [],
        files: [],
      };
      const counts = existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')) : none;
      // What the suites over a fleet skip runs over a database file.
      if (env === FLEET) counts.skipped = [];
      resolve({ name, minutes: (Date.now() - start) / 60_000, status: code ?? 1, ...counts, env });
    });
  });
}

function sum(reports) {
  const add = (key) => reports.reduce((total, report) => total + report[key], 0);
  return {
    status: reports.find(({ status }) => status !== 0)?.status ?? 0,
    passed: add('passed'),
    failed: add('failed'),
    unhandled: add('unhandled'),
    passed_elsewhere: add('passed_elsewhere'),
    failed_files: reports.flatMap(({ failed_files }) => failed_files),
    failures: reports.flatMap(({ failures }) => failures),
    skipped: reports.flatMap(({ skipped }) => skipped),
    files: reports.flatMap(({ files }) => files),
  };
}

/** Where the time of a long run went. */
function showSlowest({ files }) {
  const slowest = files.toSorted((a, b) => b.seconds - a.seconds).slice(0, SLOWEST);
  if (files.length <= SLOWEST) return;
  const lanes = reports.map(({ name, minutes }) => `${name} ${minutes.toFixed(1)} min`);
  process.stdout.write(`\nPieces: ${lanes.join(', ')}\n`);
  process.stdout.write('\nSlowest files:\n');
  for (const { file, seconds } of slowest)
    process.stdout.write(`${String(seconds).padStart(6)} s  ${file}\n`);
}

function isAccident({ failed_files, unhandled }) {
  return failed_files.length > 0 && failed_files.length <= MOST_AGAIN && unhandled === 0;
}

async function again(first) {
  process.stdout.write(`\nOnce more, alone: ${first.failed_files.join(', ')}\n`);
  const seconds = [];
  for (const env of [PLAIN, FLEET]) {
    const files = reports.filter((report) => report.env === env).flatMap(({ failed_files }) => failed_files);
    if (files.length > 0) seconds.push(await run('again', files, { lane: process.getuid?.() === 0, env }));
  }
  const second = sum(seconds);
  if (second.status === 0)
    for (const file of first.failed_files)
      process.stdout.write(`UNSTABLE  ${file} failed above, and passed alone\n`);
  const passed = first.passed_elsewhere + second.passed;
  return close({ ...second, passed, skipped: [...first.skipped, ...second.skipped] });
}

/** Prints what was skipped, what failed and the closing line; the status to exit with. */
function close({ status, passed, failed, failures, skipped }) {
  for (const name of skipped) process.stdout.write(`SKIPPED  ${name}\n`);
  for (const line of failures) process.stdout.write(`FAILED  ${line}\n`);
  const counts = `${passed} passed, ${failed} failed`;
  process.stdout.write(`\n${counts}${skipped.length > 0 ? `, ${skipped.length} skipped` : ''}\n`);
  return status === 0 && failed > 0 ? 1 : status;
}
