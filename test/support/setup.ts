// Runs before each test file: a warning from Node fails the run.
process.on('warning', (warning) => {
  throw new Error(`Node warned: ${warning.name}: ${warning.message}`, { cause: warning });
});
