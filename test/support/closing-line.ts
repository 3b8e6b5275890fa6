// A reporter that ends the run with what was skipped and the plain line `N passed, N failed`.
import type { Reporter, TestModule } from 'vitest/node';

export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly unknown[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const count = (state: string) => tests.filter((test) => test.result().state === state).length;
    const broken = modules.filter((module) => module.errors().length > 0).length;
    const failed = count('failed') + broken + unhandled.length;
    const skipped = tests.filter((test) => test.result().state === 'skipped');
    for (const test of skipped) console.log(`SKIPPED  ${test.fullName}`);
    console.log(
      `\n${count('passed')} passed, ${failed} failed${skipped.length > 0 ? `, ${skipped.length} skipped` : ''}`,
    );
  }
}
