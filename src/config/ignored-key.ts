// A key that is configured although calls need none: whoever sets one expects it to be asked for.
import type { Config } from '../schema/config.ts';

/** Whether the server has a key and accepts calls without it. */
export const ignoresKey = ({ enabled, api_key, admin_api_key }: Config['auth']): boolean =>
  !enabled && (api_key !== undefined || admin_api_key !== undefined);
