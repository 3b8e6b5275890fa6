// Rows of a test server's database, read beside the server: from its file, or from PostgreSQL.
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import pg from 'pg';
import type { TestServer } from './server.ts';

export interface ServerRows {
  /** Runs a query that both databases understand. */
  read<R extends object>(sql: string): Promise<R[]>;
  close(): Promise<void>;
}

export async function openRows({ home, env }: Pick<TestServer, 'home' | 'env'>): Promise<ServerRows> {
  const url = env.SVC_DATABASE_URL;
  if (url === undefined) {
    const db = new Sqlite(join(home, 'svc.db'), { readonly: true });
    return {
      read: async <R extends object>(sql: string) => db.prepare<[], R>(sql).all(),
      close: async () => void db.close(),
    };
  }
  const client = new pg.Client(url);
  client.on('error', () => {});
  await client.connect();
  return {
    read: async <R extends object>(sql: string) => (await client.query<R>(sql)).rows,
    close: () => client.end(),
  };
}
