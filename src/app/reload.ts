// SIGHUP: reads the configuration again and applies the keys that may change while serving.
import type { ReloadableConfig } from '../config/live-config.ts';
import type { LoadedConfig } from '../config/load.ts';
import { ServiceError } from '../domain/errors.ts';
import type { Logger } from '../domain/ports.ts';
import type { GrowingRedactor } from '../redact/growing.ts';
import type { Supervisor } from './supervisor.ts';

export interface ReloadDeps {
  config: Pick<ReloadableConfig, 'reload'>;
  logger: Logger;
  redactor: Pick<GrowingRedactor, 'add'>;
  supervisor: Pick<Supervisor, 'reloading'>;
  /** Throws for a configuration that cannot be used. */
  load(): LoadedConfig;
}

/** Never throws: a configuration that cannot be used is logged, and the previous one stays in effect. */
export function reloader(deps: ReloadDeps): () => void {
  const { logger } = deps;
  return () => {
    void deps.supervisor.reloading();
    try {
      const { config, secrets } = deps.load();
      // Before anything could be logged with one of them.
      deps.redactor.add(secrets);
      const { applied, waiting } = deps.config.reload(config);
      logger.info({ applied, waiting }, words(applied.length, waiting.length));
    } catch (err) {
      const problems = err instanceof ServiceError ? err.details?.problems : undefined;
      logger.error(
        { err, problems },
        'Configuration reload rejected; the previous configuration stays in effect.',
      );
    }
  };
}

function words(applied: number, waiting: number): string {
  if (applied + waiting === 0) return 'Configuration reloaded: nothing changed.';
  const rest = waiting === 0 ? '' : `, ${waiting} ${waiting === 1 ? 'requires' : 'require'} a restart`;
  return `Configuration reloaded: ${applied} ${applied === 1 ? 'change' : 'changes'} applied${rest}.`;
}
