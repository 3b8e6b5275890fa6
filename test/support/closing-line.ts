// A reporter that ends the run with what was skipped and the plain line `N passed, N failed`. What `scripts/test.js` needs to
// know of the run goes to the file that SVC_TEST_REPORT names.
import { writeFileSync } from 'node:fs';
import type { Reporter, TestModule } from 'vitest/node';

export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly unknown[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const failed = modules.reduce((sum, module) => sum + failures(module), unhandled.length);
    const skipped = tests.filter((test) => test.result().state === 'skipped');
    for (const test of skipped) console.log(`SKIPPED  ${test.fullName}`);
    console.log(
      `\n${passed(modules)} passed, ${failed} failed${skipped.length > 0 ? `, ${skipped.length} skipped` : ''}`,
    );
    report(modules, unhandled.length);
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

function report(modules: readonly TestModule[], unhandled: number): void {
  const file = process.env.SVC_TEST_REPORT;
  if (!file) return;
  const broken = modules.filter((module) => failures(module) > 0);
  const others = modules.filter((module) => !broken.includes(module));
  const failed = broken.map((module) => module.relativeModuleId);
  writeFileSync(file, JSON.stringify({ failed, unhandled, passed_elsewhere: passed(others) }));
}
