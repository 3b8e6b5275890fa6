// The environment that programs for E2B expect in a sandbox.
import type { RpcCall } from './rpc/rpc.ts';

export interface Surroundings {
  home: string;
  template: string;
}

export function environmentOf({ sandbox_id, user }: RpcCall, { home, template }: Surroundings) {
  const name = user === '' ? 'user' : user;
  return {
    HOME: home,
    USER: name,
    LOGNAME: name,
    E2B_SANDBOX: 'true',
    E2B_SANDBOX_ID: sandbox_id,
    E2B_TEMPLATE_ID: template,
  };
}
