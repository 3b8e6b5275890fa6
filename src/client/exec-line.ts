// The lines of a command's output, by kind. Each kind has the fields of the others as absent, so that a program may read
// `exit_code` of any line and gets its exact type after a look at `stream`.
import type { ExecLine as Shape } from '../schema/exec.ts';

type Line<Kind extends string, Own extends object = object> = { stream: Kind; data: string } & Own & {
    [Other in Exclude<keyof Shape, 'stream' | 'data' | keyof Own>]?: never;
  };
interface End {
  /** The signal that ended the command. */
  signal?: string;
  /** The command reached its timeout. */
  timed_out?: boolean;
  duration_ms?: number;
}

/** First, with the id of the command. `truncated`: older output was dropped. */
export type StartLine = Line<'start', { exec_id: string; truncated?: boolean }>;
export type OutputLine = Line<'stdout' | 'stderr'>;
/** Nothing happened for a while. */
export type KeepaliveLine = Line<'keepalive'>;
/** Last, when the command ended. */
export type ExitLine = Line<'exit', { exit_code: number } & End>;
/** Last, when the server lost the command. */
export type ErrorLine = Line<'error', { code: string; message: string }>;
export type ExecLine = StartLine | OutputLine | KeepaliveLine | ExitLine | ErrorLine;
