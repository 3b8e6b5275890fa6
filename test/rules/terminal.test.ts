// Commands write words for people through print.ts alone. The files named here pass on data that somebody asked for as it is,
// or draw a line of our own words.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { packageRoot } from '../../src/host/package-root.ts';

const RAW: Record<string, string> = {
  'src/cli/sink.ts': 'the output of a command',
  'src/cli/follow-lines.ts': 'lines that its caller has made printable, at the pace of the reader',
  'commands/audit.ts': 'CSV, for programs',
  'commands/usage/owner.ts': 'CSV, for programs',
  'src/cli/top/screen.ts': 'lines that the frame has made printable, and the cursor',
};

it('only files that pass on raw data write to an output', () => {
  const files = ['src/cli', 'commands'].flatMap((folder) =>
    readdirSync(join(packageRoot(), folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => join(folder, file)),
  );
  expect(files.length).toBeGreaterThan(100);
  const writing = files.filter((file) =>
    /process(?:\.(?:stdout|stderr)|\[name\])\.write\(|console\.|super\.log\(|ux\./.test(
      readFileSync(join(packageRoot(), file), 'utf8'),
    ),
  );
  expect(writing.sort()).toEqual(Object.keys(RAW).sort());
});
