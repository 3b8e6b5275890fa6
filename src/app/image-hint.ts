// What the first sandbox would fail for, said beside the line that says where the server serves.
import type { Logger } from '../domain/ports.ts';
import type { ProviderSet } from '../providers/provider.ts';
import type { ProviderKind } from '../schema/provider.ts';

/** `chosen` is `auto` or a kind. Looks once, and says nothing where all is well. Never rejects. */
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
  const way = worksHere
    ? 'Without a registry: svc sandbox run --provider userspace -- uname -a'
    : 'Without a registry name one that is there: svc sandbox run --image NAME -- uname -a';
  logger.warn({ provider: 'container' }, `${found.message} ${way}`);
}
