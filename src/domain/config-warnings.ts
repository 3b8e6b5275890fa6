// What a configuration allows that its operator may not have meant: in the log of the start, and in health for as long as
// it holds. What must not be at all is refused instead (http/server.ts); `svc config lint --production` judges more.
import type { Config } from '../schema/config.ts';

/** Sentences, each with what to do. `kernel` is the release of this host's, such as 6.1.0-18-amd64. */
export function configWarnings({ auth, pool }: Pick<Config, 'auth' | 'pool'>, kernel: string): string[] {
  return [...ownerWarnings(auth), ...(pool.enabled ? poolWarnings(kernel) : [])];
}

function ownerWarnings(auth: Config['auth']): string[] {
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

/** Since 6.6 a tmpfs bounds each uid. tmpfs(5) */
const BOUNDS_USERS = [6, 6] as const;

function poolWarnings(kernel: string): string[] {
  const [major, minor = 0] = (/^\d+\.\d+/.exec(kernel)?.[0] ?? 'x').split('.').map(Number);
  // Unknown: the VMs say it (control/system/health.ts).
  if (major === undefined || Number.isNaN(major)) return [];
  if (major > BOUNDS_USERS[0] || (major === BOUNDS_USERS[0] && minor >= BOUNDS_USERS[1])) return [];
  return [
    `One sandbox of the pool can fill the workspaces of all in its VM: Linux ${kernel} bounds them in sum only. Use Linux 6.6 or later, or give each sandbox a runtime of its own (pool.enabled: false).`,
  ];
}
