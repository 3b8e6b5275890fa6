// Publishes and counts pulls: those of this server, and those that calls cause on workers.
import type { SystemActor } from '../../domain/actor.ts';
import { defined } from '../../domain/defined.ts';
import { asServiceError } from '../../domain/errors.ts';
import type { PullReport, PullReports } from '../../domain/pull-report.ts';
import type { Publisher } from '../records/publish.ts';
import type { Metrics } from './metrics.ts';

export interface ReportDeps {
  publisher: Publisher;
  metrics: Metrics;
}

const ACTOR: SystemActor = 'system:image';

/** From now on. Does nothing where this process does not pull. */
export function reportPulls(deps: ReportDeps, pulls: PullReports | undefined): void {
  if (pulls) pulls.onPulled = (report) => reportPull(deps, report);
}

export function reportPull({ publisher, metrics }: ReportDeps, report: PullReport): void {
  const { image: name, durationMs: duration_ms, account, workerId: worker_id, result, error } = report;
  const subject = defined({ owner_id: account });
  const count = (outcome: string) => metrics.count('svc_image_pulls_total', { outcome });
  if (!result) {
    count('failed');
    const { code, message } = asServiceError(error);
    publisher.note('image.failed', subject, defined({ name, code, message, worker_id }), ACTOR);
    return;
  }
  count(result.isUnchanged ? 'unchanged' : 'pulled');
  if (result.isUnchanged) return;
  const { digest, sizeBytes: size_bytes, fetchedBytes: fetched_bytes } = result;
  metrics.count('svc_image_fetched_bytes_total', {}, fetched_bytes);
  metrics.observe('svc_image_pull_duration_seconds', {}, duration_ms / 1000);
  const data = defined({ name, digest, size_bytes, fetched_bytes, duration_ms, worker_id });
  publisher.note('image.pulled', subject, data, ACTOR);
}
