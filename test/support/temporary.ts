// Folders that last as long as a test.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** An empty folder, removed when the test that is running has finished. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
