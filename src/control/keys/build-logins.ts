// Logins of the console, and downloads: what opens something for a while in place of a key.
import type { Store } from '../../store/store.ts';
import type { ControlPlane } from '../api/control-plane.ts';
import { Codes } from './codes.ts';
import { downloads } from './downloads.ts';
import { type SessionsDeps, sessionViews } from './sessions.ts';

type LoginDeps = Omit<SessionsDeps, 'sessions' | 'codes'> & { store: Pick<Store, 'sessions' | 'instance'> };

export function buildLogins(
  { store, ...deps }: LoginDeps,
  files: ControlPlane['files'],
): Pick<ControlPlane, 'sessions' | 'downloads'> {
  const { sessions, instance } = store;
  const codes = new Codes({ ...deps, sessions, key: instance.key });
  return { sessions: sessionViews({ ...deps, sessions, codes }), downloads: downloads(files, codes) };
}
