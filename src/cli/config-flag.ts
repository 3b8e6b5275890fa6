// The flag of commands that read the configuration. Apart from what reads it, for commands that seldom do.
import { Flags } from '@oclif/core';

export const configFlag = Flags.string({
  description:
    'Configuration file, read alone; defaults to SVC_CONFIG, then ./svc.yaml over ~/.svc/config.yaml.',
  helpValue: '<file>',
});
