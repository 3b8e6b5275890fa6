// Names the providers that work on this host when an image cannot be pulled: the caller cannot repair a registry.
import { ServiceError } from '../../domain/errors.ts';
import type { ProviderSet } from '../../providers/provider.ts';
import type { Probes } from '../runtime/probes.ts';

/** As a provider's failure tells it in `details.reason`. */
const NO_IMAGE = 'no_image';

/** `error`, with the providers that work here named in its remedy where the image was what failed. */
export async function suggestProviders(
  { providers, probes }: { providers: ProviderSet; probes: Pick<Probes, 'read'> },
  kind: string,
  error: unknown,
): Promise<unknown> {
  if (!(error instanceof ServiceError) || error.details?.reason !== NO_IMAGE) return error;
  const others = providers.all.filter((provider) => provider.kind !== kind);
  const probed = await Promise.all(others.map((provider) => probes.read(provider)));
  const healthy = others.filter((_, at) => probed[at]?.report.healthy).map((provider) => provider.kind);
  const [first] = healthy;
  if (first === undefined) return error;
  const { code, message, remedy, details, status, retryAfterMs } = error;
  const ways = `Provider ${healthy.join(' and ')} works here: --provider ${first}, or provider in the request.`;
  return new ServiceError(code, message, {
    cause: error,
    status,
    remedy: remedy === undefined ? ways : `${remedy} ${ways}`,
    ...(details && { details: { ...details, providers: healthy } }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
}
