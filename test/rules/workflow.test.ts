// The workflow of public CI: valid, for every supported line of Node, with official actions only.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { packageRoot } from '../support/servers/server.ts';

interface Workflow {
  on: Record<string, unknown>;
  permissions: Record<string, string>;
  jobs: Record<
    string,
    { strategy: { matrix: { node: number[] } }; steps: { uses?: string; run?: string }[] }
  >;
}

const read = (path: string) => readFileSync(join(packageRoot, path), 'utf8');
const workflow = parse(read('.github/workflows/ci.yml')) as Workflow;
const steps = Object.values(workflow.jobs).flatMap((job) => job.steps);

describe('the workflow of CI', () => {
  it('runs for pushes and pull requests with read access only', () => {
    expect(Object.keys(workflow.on).sort()).toEqual(['pull_request', 'push']);
    expect(workflow.permissions).toEqual({ contents: 'read' });
  });

  it('verifies on Node 20, 22 and 24', () => {
    expect(workflow.jobs.verify?.strategy.matrix.node).toEqual([20, 22, 24]);
    expect(steps.map(({ run }) => run)).toContain('npm run verify');
  });

  it('uses official actions at a fixed major version', () => {
    for (const { uses } of steps.filter((step) => step.uses)) expect(uses).toMatch(/^actions\/[a-z-]+@v\d+$/);
  });

  it('runs scripts that exist', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const names = steps.flatMap(({ run = '' }) =>
      [...run.matchAll(/npm run ([\w:]+)/g)].map(([, name]) => name),
    );
    expect(Object.keys(scripts)).toEqual(expect.arrayContaining(names));
  });
});
