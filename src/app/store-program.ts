// Locates the program of the database writer thread (store-thread.ts, built).
import { join } from 'node:path';

export const storeProgram = (packageRoot: string): string =>
  join(packageRoot, 'dist/src/app/store-thread.js');
