// Makes the doctor's report as a part of something else: strict, and without running a sandbox.
import { planDoctor } from '../ops/doctor/doctor.ts';
import type { DoctorReport } from '../schema/doctor.ts';
import { doctorHere } from './doctor.ts';

/** `file` is the value of `--config`. Checks that have not run when `signal` aborts are skipped. */
export async function doctorReport(
  file: string | undefined,
  signal: AbortSignal = new AbortController().signal,
): Promise<DoctorReport> {
  const plan = planDoctor(doctorHere({ file, production: true, signal }), {
    only: [],
    skip: [],
    probe: false,
  });
  for (const { checks } of plan.groups) for (const check of checks) await check.run();
  return plan.finish();
}
