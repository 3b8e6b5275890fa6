// What a configuration allows that its operator may not have meant: told once, in the log of the start. What must not be
// at all is refused instead (http/server.ts); `svc config lint --production` judges more than this.
import type { Config } from '../schema/config.ts';

/** Sentences for the log, each with what to set. */
export function startWarnings({ auth }: Config): string[] {
  return [
    ...(auth.enforce_owner && auth.quota_writes === 'api'
      ? ['Owners may change their own quotas. Set auth.quota_writes to admin unless that is meant.']
      : []),
    ...(auth.enforce_owner && !auth.enabled
      ? ['Owners are kept apart by X-User-ID, which anybody can send. Set auth.enabled.']
      : []),
  ];
}
