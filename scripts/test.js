// `npm test`: builds what is stale, then runs every suite with what this host has. Arguments go to vitest.
import { spawnSync } from 'node:child_process';
import { bootstrap, root } from './bootstrap.js';

bootstrap();
const vitest = spawnSync(
  process.execPath,
  ['node_modules/vitest/vitest.mjs', 'run', ...process.argv.slice(2)],
  {
    cwd: root,
    stdio: ['ignore', 1, 2],
  },
);
process.exit(vitest.status ?? 1);
