// Names the providers that work on this host when an image cannot be pulled, since the caller cannot repair a
// registry.
import { ServiceError } from '../../domain/errors.ts';
import type { ProviderSet } from '../../providers/provider.ts';
import type { Probes } from '../runtime/probes.ts';

/** The `details.reason` of a provider failure. */
const NO_IMAGE = 'no_image';

/** `error`, with the healthy providers named in its remedy if the image failed. */
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
