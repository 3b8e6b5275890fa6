// The environment that programs for E2B expect in a sandbox.
import type { Person } from './users.ts';

interface Surroundings {
  sandbox_id: string;
  template: string;
}

export function environmentOf({ name, home }: Person, { sandbox_id, template }: Surroundings) {
  return {
    HOME: home,
    USER: name,
    LOGNAME: name,
    E2B_SANDBOX: 'true',
    E2B_SANDBOX_ID: sandbox_id,
    E2B_TEMPLATE_ID: template,
  };
}
