// `npm test`: builds what is stale, then runs every suite with what this host has. Arguments go to vitest.
//
// With SVC_TEST_AGAIN, as `npm run verify` sets it, a few files that failed run once more, alone: a test of real engines and
// processes may fail by what else the machine does. One that passes then is named as unstable and does not fail the run.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bootstrap, root } from './bootstrap.js';

/** More than these are no accident. */
const MOST_AGAIN = 3;

bootstrap();
const folder = mkdtempSync(join(tmpdir(), 'svc-test-report-'));
const first = run(process.argv.slice(2));
const isAccident = first.failed.length > 0 && first.failed.length <= MOST_AGAIN && first.unhandled === 0;
const status = process.env.SVC_TEST_AGAIN && isAccident ? again(first) : first.status;
rmSync(folder, { recursive: true });
process.exit(status);

function again({ failed, passed_elsewhere }) {
  process.stdout.write(`\nOnce more, alone: ${failed.join(', ')}\n`);
  const second = run(failed);
  if (second.status !== 0) return second.status;
  for (const file of failed) process.stdout.write(`UNSTABLE  ${file} failed above, and passed alone\n`);
  process.stdout.write(`\n${passed_elsewhere + second.passed_elsewhere} passed, 0 failed\n`);
  return 0;
}

function run(args) {
  const report = join(folder, 'report.json');
  rmSync(report, { force: true });
  const vitest = spawnSync(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', ...args], {
    ...{ cwd: root, stdio: ['ignore', 1, 2] },
    env: { ...process.env, SVC_TEST_REPORT: report },
  });
  const none = { failed: [], unhandled: 0, passed_elsewhere: 0 };
  const said = existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')) : none;
  return { status: vitest.status ?? 1, ...said };
}
