// promtool, as Debian's package prometheus brings it: the strict reader of what we expose and deploy.
import { spawnSync } from 'node:child_process';

export function promtool(args: readonly string[], input = ''): { code: number | null; output: string } {
  const { status, stdout, stderr, error } = spawnSync('promtool', args, { input, encoding: 'utf8' });
  if (error) throw error;
  return { code: status, output: stdout + stderr };
}
