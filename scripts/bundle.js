// How every bundle of the package is made: modules for the oldest Node that is supported, other packages left outside,
// chunks shared between entry points.
export const BUNDLE = {
  bundle: true,
  splitting: true,
  packages: 'external',
  platform: 'node',
  format: 'esm',
  target: 'node20',
  sourcemap: 'linked',
  sourcesContent: false,
  logLevel: 'warning',
};
