// A reporter that counts. `scripts/test.js`, which may run vitest several times, names a file for the counts in
// SVC_TEST_REPORT and prints the closing line itself; alone, vitest's run ends with what was skipped and that line.
import { writeFileSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';
import type { Reporter, TestModule } from 'vitest/node';

const MOST_OF_MESSAGE = 300;

export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly unknown[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const failed = modules.reduce((sum, module) => sum + failures(module), unhandled.length);
    const skipped = tests.filter((test) => test.result().state === 'skipped').map((test) => test.fullName);
    const file = process.env.SVC_TEST_REPORT;
    if (file) report(file, { modules, unhandled, failed, skipped });
    if (file) return;
    for (const name of skipped) console.log(`SKIPPED  ${name}`);
    const counts = `${passed(modules)} passed, ${failed} failed`;
    console.log(`\n${counts}${skipped.length > 0 ? `, ${skipped.length} skipped` : ''}`);
  }
}

function passed(modules: readonly TestModule[]): number {
  const tests = modules.flatMap((module) => [...module.children.allTests('passed')]);
  return tests.length;
}

/** Tests that failed; and files and groups of tests that failed by themselves, as by what comes before or after their tests. */
function failures(module: TestModule): number {
  const groups = [module, ...module.children.allSuites()].filter((group) => group.errors().length > 0);
  return [...module.children.allTests('failed')].length + groups.length;
}

interface Counts {
  modules: readonly TestModule[];
  /** Errors outside any test. */
  unhandled: readonly unknown[];
  failed: number;
  skipped: readonly string[];
}

/** A line for each failure: its file, its name, and how its message begins. */
function described(modules: readonly TestModule[], unhandled: readonly unknown[]): string[] {
  const lines = modules.flatMap((module) => [
    ...[module, ...module.children.allSuites()].flatMap((group) =>
      group.errors().map((error) => `${module.relativeModuleId}: ${beginning(error)}`),
    ),
    ...[...module.children.allTests('failed')].map(
      (test) => `${module.relativeModuleId} > ${test.fullName}: ${beginning(test.result().errors?.[0])}`,
    ),
  ]);
  return [...lines, ...unhandled.map((error) => `outside the tests: ${beginning(error)}`)];
}

function beginning(error: unknown): string {
  const text = stripVTControlCharacters(
    String((error as { message?: unknown } | undefined)?.message ?? error),
  );
  return text.replace(/\s+/g, ' ').slice(0, MOST_OF_MESSAGE);
}

function report(file: string, { modules, unhandled, failed, skipped }: Counts): void {
  const broken = modules.filter((module) => failures(module) > 0);
  const others = modules.filter((module) => !broken.includes(module));
  const counts = {
    passed: passed(modules),
    passed_elsewhere: passed(others),
    failed,
    failures: described(modules, unhandled),
    unhandled: unhandled.length,
    skipped,
  };
  const files = modules.map((module) => ({
    file: module.relativeModuleId,
    seconds: Math.round(module.diagnostic().duration / 1000),
  }));
  const failed_files = broken.map((module) => module.relativeModuleId);
  writeFileSync(file, JSON.stringify({ ...counts, failed_files, files }));
}
