// What a configuration allows that its operator may not have meant: in the log of the start, and in health for as long as
// it holds. What must not be at all is refused instead (http/server.ts); `svc config lint --production` judges more.
import type { Config } from '../schema/config.ts';

/** Sentences, each with what to set. */
export function configWarnings({ auth }: Pick<Config, 'auth'>): string[] {
  if (!auth.enforce_owner) return [];
  const opensAdmin = auth.admin_api_key === undefined && auth.admin_fallback_enabled;
  return [
    ...(opensAdmin
      ? [
          'Every owner may call /admin: there is no admin key. Set auth.admin_api_key, or auth.admin_fallback_enabled to false.',
        ]
      : []),
    ...(auth.quota_writes === 'api'
      ? ['Owners may change their own quotas. Set auth.quota_writes to admin unless that is meant.']
      : []),
    ...(auth.enabled
      ? []
      : ['Owners are kept apart by X-User-ID, which anybody can send. Set auth.enabled.']),
  ];
}
