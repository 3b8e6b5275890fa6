// Folders that last as long as a test.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { removeFolder } from './remove.ts';

/** An empty folder, removed when the test that is running has finished. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-test-'));
  onTestFinished(() => removeFolder(folder));
  return folder;
}
