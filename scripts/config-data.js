// Puts what follows from the schema of the configuration into the package as data, when it is built.
import { importBundled } from './bundled.js';

/** A plugin for esbuild. */
export const configData = {
  name: 'config-data',
  setup(build) {
    build.onLoad({ filter: /\/src\/schema\/config-walked\.ts$/ }, async () => {
      const { default: found } = await importBundled('src/schema/config-walked.ts');
      return {
        contents: `export default JSON.parse(${JSON.stringify(JSON.stringify(found))});`,
        loader: 'js',
      };
    });
  },
};
