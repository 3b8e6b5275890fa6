// The configuration: that it loads, and what lint says of its file.
import type { ConfigFile } from '../../../config/config-file.ts';
import { type CheckGroup, fail, pass, skip, warn } from '../check.ts';

const loads = (files: readonly ConfigFile[]) =>
  `${files.map(({ name }) => name).join(' and ')} load${files.length === 1 ? 's' : ''}.`;

export const CONFIGURATION: CheckGroup = {
  id: 'configuration',
  title: 'Configuration',
  checks: [
    {
      name: 'loads',
      title: 'Loads',
      look: async ({ loaded }) =>
        pass(
          loaded.files.length === 0
            ? 'No configuration file. Defaults and environment variables apply.'
            : loads(loaded.files),
        ),
    },
    {
      name: 'rules',
      title: 'Lint rules',
      look: async ({ loaded, lint, production }) => {
        if (loaded.files.length === 0) return skip('No configuration file is in use.');
        const { file, errors, warnings } = lint(loaded.files);
        if (errors + warnings === 0) return pass('Lint reports no findings.');
        const words = `Lint reports ${errors} errors and ${warnings} warnings.`;
        const remedy = `Run svc config lint${loaded.files.length > 1 ? '' : ` --file ${file}`}${production ? ' --production' : ''}.`;
        return errors > 0 ? fail(words, remedy) : warn(words, remedy);
      },
    },
  ],
};
