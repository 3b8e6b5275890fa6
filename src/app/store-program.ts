// Where the program of the thread that writes the database is (store-thread.ts, built).
import { join } from 'node:path';

export const storeProgram = (packageRoot: string): string =>
  join(packageRoot, 'dist/src/app/store-thread.js');
