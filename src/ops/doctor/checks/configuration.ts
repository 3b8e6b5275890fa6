// The configuration: that it loads, and what lint says of its file.
import { type CheckGroup, fail, pass, skip, warn } from '../check.ts';

export const CONFIGURATION: CheckGroup = {
  id: 'configuration',
  title: 'Configuration',
  checks: [
    {
      name: 'loads',
      title: 'Loads',
      look: async ({ loaded }) =>
        pass(loaded.file === undefined ? 'No file; defaults and variables.' : `${loaded.file} loads.`),
    },
    {
      name: 'rules',
      title: 'Keeps the rules of lint',
      look: async ({ loaded, lint, production }) => {
        if (loaded.file === undefined) return skip('There is no file to judge.');
        const { file, errors, warnings } = lint(loaded.file);
        if (errors + warnings === 0) return pass('Lint finds nothing.');
        const words = `Lint finds ${errors} errors and ${warnings} warnings.`;
        const fix = `Run svc config lint --file ${file}${production ? ' --production' : ''}.`;
        return errors > 0 ? fail(words, fix) : warn(words, fix);
      },
    },
  ],
};
