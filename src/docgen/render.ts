// All documents that are made from the configuration schema and the command manifest. The same input gives the same
// bytes: a test compares them with the committed files.
import { configReference } from './config-reference.ts';
import { commandPage, pageName } from './man-command.ts';
import { configPage, programPage } from './man-svc.ts';
import { documentedCommands, type Manifest } from './manifest.ts';
import { metricsReference } from './metrics-reference.ts';
import { sampleConfig } from './sample-config.ts';

export interface RenderedFile {
  /** Relative to the package root, with slashes. */
  path: string;
  text: string;
}

export function renderAll(manifest: Manifest): RenderedFile[] {
  const pages = documentedCommands(manifest).map((command) => ({
    path: `man/${pageName(command)}.1`,
    text: commandPage(command, manifest.version),
  }));
  return [
    { path: 'svc.yaml', text: sampleConfig() },
    { path: 'docs/configuration.md', text: configReference() },
    { path: 'docs/metrics.md', text: metricsReference() },
    { path: 'man/svc.1', text: programPage(manifest) },
    { path: 'man/svc.yaml.5', text: configPage(manifest.version) },
    ...pages,
  ];
}
