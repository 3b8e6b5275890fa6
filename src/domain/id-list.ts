// Lists of ids in a query.
import { ServiceError } from './errors.ts';

export const MOST_IDS = 100;

/** The ids of `sb-1,sb-2`. Throws `bad_request` for more than 100. */
export function parseIds(text: string): string[] {
  const ids = [...new Set(text.split(',').map((id) => id.trim()))];
  if (ids.length > MOST_IDS)
    throw new ServiceError('bad_request', `ids has more than ${MOST_IDS} ids.`, {
      remedy: 'Ask several times.',
    });
  return ids;
}
