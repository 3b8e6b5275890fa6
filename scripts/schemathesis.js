// `npm run schemathesis -- --examples 200 --seed 7`: a longer run of test/e2e/schemathesis.test.ts. Builds what is stale.
import { spawnSync } from 'node:child_process';
import { bootstrap, root } from './bootstrap.js';
import { options } from './options.js';

const { examples, seed, only } = options(
  'schemathesis',
  'Holds the API description against a running server, by schemathesis.',
  {
    examples: {
      kind: 'count',
      default: 100,
      says: 'Made-up requests for each operation, beside the fixed ones.',
    },
    seed: { kind: 'count', default: 1, says: 'The same seed makes the same requests.' },
    only: { kind: 'text', default: '', says: 'Operations whose path matches this pattern; all if empty.' },
  },
);
await bootstrap();
const vitest = ['node_modules/vitest/vitest.mjs', 'run', 'test/e2e/schemathesis.test.ts'];
const { status } = spawnSync(process.execPath, vitest, {
  cwd: root,
  stdio: 'inherit',
  env: {
    ...process.env,
    SVC_TEST_REQUIRE: 'schemathesis',
    SVC_SCHEMATHESIS_EXAMPLES: String(examples),
    SVC_SCHEMATHESIS_SEED: String(seed),
    SVC_SCHEMATHESIS_ONLY: only,
  },
});
process.exit(status ?? 1);
