// What reaches the inside of sandboxes: commands, code, files, ports and the console.
import type { Clock, Ids } from '../../domain/ports.ts';
import type { Store } from '../../store/store.ts';
import { dataAccess } from '../access/data-access.ts';
import { files } from '../access/files.ts';
import { logs } from '../access/logs.ts';
import { type PreviewsDeps, previews } from '../access/previews.ts';
import type { ControlPlane } from '../api/control-plane.ts';
import type { ExecLog } from '../records/exec-log.ts';
import type { Publisher } from '../records/publish.ts';
import type { Settings } from '../records/settings.ts';
import { codeRuns } from './code.ts';
import { execs } from './exec.ts';
import type { ExecDeps } from './exec-start.ts';

export interface InsidesDeps
  extends Pick<ExecDeps, 'access' | 'find'>,
    Pick<PreviewsDeps, 'server' | 'runtimes'> {
  store: Store;
  publisher: Publisher;
  execLog: ExecLog;
  settings: Settings;
  ids: Ids;
  clock: Clock;
  /** The files of the code interpreter; absent: sandboxes have none. */
  interpreter?: (() => Record<string, string>) | undefined;
}

type Insides = Pick<ControlPlane, 'exec' | 'code' | 'logs' | 'previews' | 'dataAccess' | 'files'>;

export function insides(deps: InsidesDeps): Insides {
  const { access, clock, settings, store, publisher } = deps;
  const exec = execs({ ...deps, log: deps.execLog });
  const ports = previews(deps);
  const data = dataAccess({ store, sandboxes: store.sandboxes });
  return {
    exec,
    code: codeRuns({
      access,
      exec,
      previews: ports,
      settings,
      clock,
      files: deps.interpreter,
      tokenOf: data.codeToken,
    }),
    logs: logs({ access, clock }),
    previews: ports,
    dataAccess: data,
    files: files({ access, publisher }),
  };
}
