// Opening a link: by the desktop's program, with the link as its only argument.
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { openBrowser } from '../../../src/cli/open-browser.ts';
import { temporaryFolder } from '../../support/temporary.ts';
import { until } from '../../support/until.ts';

afterEach(() => vi.unstubAllEnvs());

it('passes the link unchanged', async () => {
  const folder = temporaryFolder();
  const told = join(folder, 'told');
  writeFileSync(
    join(folder, 'xdg-open'),
    `#!/bin/sh\nprintf '%s|' "$@" > ${told}.new; mv ${told}.new ${told}\n`,
  );
  chmodSync(join(folder, 'xdg-open'), 0o755);
  vi.stubEnv('PATH', `${folder}:/bin:/usr/bin`);
  const url = 'http://80-sb-a.localhost:7423/?a=$(touch+x)&b=;reboot';
  await openBrowser(url, 'linux');
  await until('it is told', () => existsSync(told));
  expect(readFileSync(told, 'utf8')).toBe(`${url}|`);
});

it('reports a missing program and an unsupported link', async () => {
  vi.stubEnv('PATH', '/nowhere');
  await expect(openBrowser('http://x/', 'linux')).rejects.toMatchObject({ code: 'unavailable' });
  await expect(openBrowser('http://x/', 'win32')).rejects.toMatchObject({ code: 'unavailable' });
  await expect(openBrowser('file:///etc/passwd', 'linux')).rejects.toMatchObject({ code: 'bad_request' });
});
