// What `svc db` and `svc upgrade rehearse` answer; the documented shapes of their `--json`. Stamps are ISO 8601.

/** One table; stamps are those of its oldest and newest row, absent for tables without rows or without time. */
export interface TableFacts {
  name: string;
  rows: number;
  oldest?: string;
  newest?: string;
}

/** What a database file is, without judging it. */
export interface DatabaseFacts {
  file: string;
  size_bytes: number;
  /** The size of the write-ahead log beside it, whose content belongs to the database. */
  wal_bytes: number;
  /** Whether the file carries the mark of this service. */
  ours: boolean;
  schema_version: number;
  /** The newest version that this program knows. */
  known_schema_version: number;
  /** Named when the file is ours. */
  instance?: string;
  /** Empty unless the schema is the one of its version. */
  tables: TableFacts[];
}

/** One thing that was looked at. `problems` is empty when it passed. */
export interface DatabaseCheck {
  id: 'identity' | 'schema' | 'integrity' | 'foreign_keys' | 'counters' | 'rows';
  title: string;
  problems: string[];
}

export interface VerifyReport {
  ok: boolean;
  facts: DatabaseFacts;
  checks: DatabaseCheck[];
}

export interface BackupReport {
  database: string;
  output: string;
  size_bytes: number;
  sha256: string;
  schema_version: number;
  instance: string;
  rows: number;
  tables: TableFacts[];
  duration_ms: number;
}

export interface RestoreReport {
  input: string;
  database: string;
  /** Nothing was changed. */
  dry_run: boolean;
  /** The path of the backup. */
  sha256: string;
  size_bytes: number;
  schema_version: number;
  rows: number;
  /** Where the database that was replaced is kept; absent when there was none. */
  safety_copy?: string;
  /** What brings the replaced database back. */
  way_back?: string;
  warnings: string[];
  duration_ms: number;
}

/** What an unclean stop took although it was acknowledged. */
export interface DatabaseLoss {
  found_at: string;
  /** How the write-ahead log was found. */
  log: 'missing' | 'cut' | 'foreign';
}

export interface AcceptReport {
  database: string;
  /** Absent when nothing was missing. */
  accepted?: DatabaseLoss;
}

/** What a PostgreSQL database is. Row numbers of its tables are estimates of the server. */
export interface PostgresFacts {
  /** Hosts and name, without user and password. */
  database: string;
  hosts: { host: string; state: 'primary' | 'standby' | 'down'; reason?: string }[];
  server_version: string;
  encrypted: boolean;
  size_bytes: number;
  synchronous_standby_names: string;
  /** Standbys that are connected to the primary. */
  standbys: number;
  /** 0: no server has used it yet. */
  schema_version: number;
  known_schema_version: number;
  instance?: string;
  tables: { name: string; rows: number; bytes: number }[];
  /** Servers; `alive`: it beat while it was looked at. */
  replicas?: { id: string; url: string; version: string; config_print: string; alive: boolean }[];
  roles?: { name: string; holder: string | null }[];
  waiting_spawns?: number;
}

/** One table that was copied. Equal hashes: the same rows. */
export interface CopiedTable {
  name: string;
  rows: number;
  sha256: string;
}

export interface CopyReport {
  /** A file, or hosts and name of a PostgreSQL database. */
  from: string;
  to: string;
  schema_version: number;
  instance: string;
  rows: number;
  /** As they were read again from the target. */
  tables: CopiedTable[];
  warnings: string[];
  /** The replaced file, and the command that brings it back; absent when there was none. */
  safety_copy?: string;
  way_back?: string;
  /** For the configuration file of the service. */
  configuration: string;
  duration_ms: number;
}
