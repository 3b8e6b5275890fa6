// A backup or a restore as a process of its own: `argv` is the task, the file it reads, the file it writes, and the stage
// at whose beginning it is to kill itself, if any. Says `ready` first, so that it can be killed at other moments, too.
import { writeSync } from 'node:fs';
import { backupDatabase } from '../../src/ops/db/backup.ts';
import { restoreDatabase } from '../../src/ops/db/restore.ts';
import { fakeClock } from './fakes/ports.ts';

const [, , task = '', from = '', to = '', deadly = ''] = process.argv;
const onStage = (stage: string) => {
  if (stage === deadly) process.kill(process.pid, 'SIGKILL');
};
writeSync(1, 'ready\n');
if (task === 'backup')
  await backupDatabase({ database: from, output: to, force: true, onStage }, fakeClock());
else await restoreDatabase({ input: from, database: to, onStage }, fakeClock());
writeSync(1, 'done\n');
