// Warnings for risky settings, logged at the start and shown in health. Forbidden settings are rejected instead
// (http/server.ts); `svc config lint --production` checks more.
import type { Config } from '../schema/config.ts';

/** Returns sentences with their remedy. `kernel` is the kernel release of this host, such as 6.1.0-18-amd64. */
export function configWarnings({ auth, pool }: Pick<Config, 'auth' | 'pool'>, kernel: string): string[] {
  return [...ownerWarnings(auth), ...(pool.enabled ? poolWarnings(kernel) : [])];
}

function ownerWarnings(auth: Config['auth']): string[] {
  if (!auth.enforce_owner) return [];
  const opensAdmin = auth.admin_api_key === undefined && auth.admin_fallback_enabled;
  return [
    ...(opensAdmin
      ? [
          'Every owner can call /admin because there is no admin key. Set auth.admin_api_key, or auth.admin_fallback_enabled to false.',
        ]
      : []),
    ...(auth.quota_writes === 'api'
      ? ['Owners can change their own quotas. Set auth.quota_writes to admin unless this is intended.']
      : []),
    ...(auth.enabled ? [] : ['Owners are identified by X-User-ID, which anyone can send. Set auth.enabled.']),
  ];
}

/** Since Linux 6.6 a tmpfs has a limit per uid. tmpfs(5) */
const BOUNDS_USERS = [6, 6] as const;

function poolWarnings(kernel: string): string[] {
  const [major, minor = 0] = (/^\d+\.\d+/.exec(kernel)?.[0] ?? 'x').split('.').map(Number);
  // For an unknown kernel, the VMs report it (control/system/health.ts).
  if (major === undefined || Number.isNaN(major)) return [];
  if (major > BOUNDS_USERS[0] || (major === BOUNDS_USERS[0] && minor >= BOUNDS_USERS[1])) return [];
  return [
    `One sandbox of the pool can fill the workspaces of all in its VM: Linux ${kernel} bounds them in sum only. Use Linux 6.6 or later, or give each sandbox a runtime of its own (pool.enabled: false).`,
  ];
}
