// What `svc upgrade rehearse` answers; the documented shape of its `--json`.
import type { BackupReport } from './db-report.ts';

export interface RehearsalStep {
  id:
    | 'configuration'
    | 'doctor'
    | 'templates'
    | 'backup'
    | 'scratch'
    | 'migration'
    | 'checks'
    | 'rows'
    | 'records';
  title: string;
  /** `skip`: a step before it failed. */
  status: 'pass' | 'warn' | 'fail' | 'skip';
  /** What was found, in a few words. */
  result: string;
  problems: string[];
  duration_ms: number;
}

export interface RehearsalReport {
  /** No step failed. */
  ok: boolean;
  /** The configuration that was judged; absent when there is only environment. */
  config?: string;
  database: string;
  program_version: string;
  /** Schema versions of the database, and of this program; absent when the database could not be copied. */
  from_version?: number;
  to_version: number;
  /** The dump of a PostgreSQL database that was left at `--backup-output`. */
  dump?: { output: string; size_bytes: number; sha256: string };
  /** The checked backup that was left at `--backup-output`. */
  backup?: BackupReport;
  steps: RehearsalStep[];
  /** What to do for the real upgrade, in order, and to go back. Empty when a step failed. */
  upgrade: string[];
  way_back: string[];
}
