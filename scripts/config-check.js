// Compiles the schema of the configuration when the package is built, in place of the module that does so at run time.
import { join } from 'node:path';
import standaloneModule from 'ajv/dist/standalone/index.js';
import { importBundled } from './bundled.js';

// CommonJS: the function is the default export of the default export.
const standalone = /** @type {any} */ (standaloneModule).default ?? standaloneModule;

/** A plugin for esbuild. */
export const configCheck = {
  name: 'config-check',
  setup(build) {
    build.onLoad({ filter: /\/src\/config\/config-check\.ts$/ }, async ({ path }) => {
      const { compileConfig } = await importBundled('src/config/config-check.ts');
      const { ajv, validate } = compileConfig({
        messages: false,
        loopRequired: 1,
        code: { source: true, esm: true },
      });
      const resolveDir = join(path, '..');
      return { contents: standalone(ajv, validate), loader: 'js', resolveDir };
    });
  },
};
