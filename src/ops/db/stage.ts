// How far a task on a database is, for the line on a terminal.

export type Stage = 'copy' | 'check' | 'fold' | 'keep' | 'clear' | 'install' | 'migrate' | 'load';

/** Called when a stage starts and, where bytes are copied, with its progress. */
export type OnStage = (stage: Stage, done?: number, total?: number) => void;

export interface TaskOptions {
  signal?: AbortSignal | undefined;
  onStage?: OnStage | undefined;
}
