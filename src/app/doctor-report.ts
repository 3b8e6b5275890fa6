// Makes the doctor's report as a part of something else: strict, and without running a sandbox.
import type { DoctorDeps } from '../ops/doctor/check.ts';
import { planDoctor } from '../ops/doctor/doctor.ts';
import type { DoctorReport } from '../schema/doctor.ts';
import { doctorHere } from './doctor.ts';

/** `file` is the value of `--config`. Checks that have not run when `signal` aborts are skipped. */
export function doctorReport(
  file: string | undefined,
  signal: AbortSignal = new AbortController().signal,
): Promise<DoctorReport> {
  return reportOf(doctorHere({ file, production: true, signal }), []);
}

/** Only whether the templates of this database can get their images. */
export function templateReport(
  file: string | undefined,
  database: { path: string } | { url: string },
): Promise<DoctorReport> {
  const deps = doctorHere({ file, production: true, signal: new AbortController().signal });
  const load = () => {
    const loaded = deps.load();
    const { url: _, ...others } = loaded.config.database;
    return { ...loaded, config: { ...loaded.config, database: { ...others, ...database } } };
  };
  return reportOf({ ...deps, load }, ['database.template_images']);
}

async function reportOf(deps: DoctorDeps, only: readonly string[]): Promise<DoctorReport> {
  const plan = planDoctor(deps, { only, skip: [], probe: false });
  for (const { checks } of plan.groups) for (const check of checks) await check.run();
  return plan.finish();
}
