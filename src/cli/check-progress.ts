// Runs groups of checks one after another and shows their progress on a terminal. The progress disappears before the report
// is printed.
import type { CheckResult } from '../schema/doctor.ts';

export interface CheckGroupToRun {
  title: string;
  checks: readonly { title: string; run(): Promise<CheckResult> }[];
}

/** Silent unless `isTerminal`. */
export async function runChecks(groups: readonly CheckGroupToRun[], isTerminal: boolean): Promise<void> {
  if (isTerminal) return withTree(groups);
  for (const { checks } of groups) for (const check of checks) await check.run();
}

async function withTree(groups: readonly CheckGroupToRun[]): Promise<void> {
  const { Listr } = await import('listr2');
  const options = { concurrent: false, exitOnError: false } as const;
  const tree = groups.map(({ title, checks }) => ({
    title,
    task: (_: unknown, task: { newListr: (tasks: object[], options: object) => unknown }) =>
      task.newListr(
        checks.map((check) => ({
          title: check.title,
          task: (_: unknown, own: CheckTask) => shown(check, own),
        })),
        options,
      ),
  }));
  await new Listr(tree as never, {
    ...options,
    // The command itself handles Ctrl-C.
    registerSignalListeners: false,
    rendererOptions: {
      clearOutput: true,
      collapseSubtasks: false,
      showErrorMessage: false,
      collapseErrors: false,
    },
    // Shows nothing without a terminal.
    fallbackRenderer: 'silent',
  }).run();
}

interface CheckTask {
  title: string;
  skip(message: string): unknown;
}

/** Throws to mark the task as failed; listr swallows the error. */
async function shown(check: CheckGroupToRun['checks'][number], task: CheckTask): Promise<void> {
  const { verdict, message, ms } = await check.run();
  const words = `${check.title}: ${message} (${ms.toFixed(1)} ms)`;
  if (verdict === 'skip') task.skip(`${check.title}: ${message}`);
  task.title = verdict === 'warn' ? `${words} (warn)` : words;
  if (verdict === 'fail') throw new Error(words);
}
