// Defaults that depend on who runs the program and where its log goes. Their words are in schema/config.ts.
import { join } from 'node:path';

export interface HostFacts {
  /** 0 is root. */
  uid: number;
  home: string;
  /** Whether standard error, where the log goes, is a terminal. */
  isTerminal: boolean;
}

/** Keyed by key path. */
export function hostDefaults({ uid, home, isTerminal }: HostFacts): Record<string, unknown> {
  const state = uid === 0 ? '/var/lib/svc' : join(home, '.svc');
  return {
    'database.path': join(state, 'svc.db'),
    'images.path': join(state, 'images'),
    'logging.format': isTerminal ? 'pretty' : 'json',
    'providers.microvm.data_dir': join(state, 'microvm'),
    'providers.userspace.workspace_base': join(state, 'userspace'),
  };
}
