// Warns at the start if the image of the first sandbox is missing.
import type { Logger } from '../domain/ports.ts';
import type { ProviderSet } from '../providers/provider.ts';
import type { ProviderKind } from '../schema/provider.ts';

/** `chosen` is `auto` or a provider kind. Checks once and logs nothing if the image is available. Never rejects. */
export async function hintAtImage(
  { all }: ProviderSet,
  chosen: string,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  const of = (wanted: ProviderKind) => all.find(({ kind }) => kind === wanted);
  const container = chosen === 'auto' || chosen === 'container' ? of('container') : undefined;
  const report = await container?.probe(signal);
  const found = report?.healthy ? report.findings.find(({ name }) => name === 'image') : undefined;
  if (!found || found.ok) return;
  const worksHere = (await of('userspace')?.probe(signal))?.healthy;
  if (signal.aborted) return;
  const remedy = worksHere
    ? 'Without a registry: svc sandbox run --provider userspace -- uname -a'
    : 'Without a registry, name a local image: svc sandbox run --image NAME -- uname -a';
  logger.warn({ provider: 'container' }, `${found.message} ${remedy}`);
}
