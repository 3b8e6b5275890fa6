// One project a suite; slow suites run their files one after another, since they share the host.
import { defineConfig } from 'vitest/config';

/** Tests that need what a variable names; a run without the variable does not have them. */
const unnamed = process.env.SVC_TEST_PREVIOUS ? [] : ['test/e2e/previous-version.test.ts'];

const suite = (name: string, options: object = {}) => ({
  test: {
    name,
    include: [`test/${name}/**/*.test.ts`],
    exclude: unnamed,
    setupFiles: ['test/support/setup.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    ...options,
  },
});

export default defineConfig({
  test: {
    projects: [
      suite('unit'),
      suite('rules', { testTimeout: 120_000 }),
      suite('contract', { fileParallelism: false, testTimeout: 120_000 }),
      suite('e2e', { fileParallelism: false, testTimeout: 300_000, hookTimeout: 120_000 }),
      suite('fault', { fileParallelism: false, testTimeout: 300_000, hookTimeout: 120_000 }),
    ],
    pool: 'forks',
    maxWorkers: 2,
    reporters: ['default', './test/support/closing-line.ts'],
  },
});
