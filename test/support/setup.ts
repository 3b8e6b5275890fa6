// Runs before each test file: a warning from Node fails the run, and properties see the same inputs in every run
// (`SVC_TEST_SEED=$RANDOM npm test` tries others).
import fc from 'fast-check';

fc.configureGlobal({ seed: Number(process.env.SVC_TEST_SEED ?? 7423) });

process.on('warning', (warning) => {
  throw new Error(`Node warned: ${warning.name}: ${warning.message}`, { cause: warning });
});
