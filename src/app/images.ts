// Wires `svc image` to the configuration's folders and the container engine of this machine.
import { loadProcessConfig } from '../config/process-config.ts';
import { realClock } from '../host/clock.ts';
import { realHost } from '../host/real-host.ts';
import type { BuildDeps } from '../ops/image/stage.ts';
import type { ImageFolders } from '../providers/microvm/images.ts';
import { SILENT } from './doctor.ts';

/** `file` is the value of `--config`. */
export function imagePlacesHere(file: string | undefined): ImageFolders {
  const { microvm } = loadProcessConfig({ file }).config.providers;
  return { dataFolder: microvm.data_dir, configured: microvm.images };
}

export function imageBuildHere(file: string | undefined): BuildDeps {
  const { microvm, container } = loadProcessConfig({ file }).config.providers;
  const clock = realClock();
  return {
    host: realHost(),
    clock,
    dataFolder: microvm.data_dir,
    exportOf: async (reference, work, signal) => {
      // Loaded on demand because it loads the engine's client.
      const { withExport } = await import('../ops/image/container-export.ts');
      return withExport({ clock, logger: SILENT, config: container }, reference, work, signal);
    },
  };
}
