// The environment of a server that shares nothing with another one on this host, for the bench and for the tests: a free
// port, all its state below one folder, no sandboxes before they are asked for, and no engine unless it is named.
import { join } from 'node:path';

export function cleanEnv(home: string): Record<string, string> {
  return {
    HOME: home,
    SVC_SERVER_PORT: '0',
    SVC_DATABASE_PATH: join(home, 'svc.db'),
    SVC_IMAGES_PATH: join(home, 'images'),
    SVC_PREWARM_AUTO: 'false',
    SVC_PROVIDERS_DEFAULT: 'userspace',
    SVC_PROVIDERS_CONTAINER_ENABLED: 'false',
    SVC_PROVIDERS_USERSPACE_WORKSPACE_BASE: join(home, 'workspaces'),
  };
}
