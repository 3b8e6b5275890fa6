// A backend's own id of a runtime: remembered, or found by its label where the reply that held it was lost.
import type { RuntimeListing, RuntimeRef } from '../provider.ts';
import { isOf } from './labels.ts';

/** undefined when the backend has none. `list` is asked only where nothing is remembered. */
export async function runtimeIdOf(
  ref: RuntimeRef,
  list: () => Promise<readonly RuntimeListing[] | undefined>,
): Promise<string | undefined> {
  return ref.runtime_id ?? (await list())?.find((one) => isOf(ref, one))?.runtime_id;
}
