// Flags that several commands share. The flags of the connection are in connection.ts.
import { Flags } from '@oclif/core';

export const configFlag = Flags.string({
  description:
    'Configuration file, read alone; defaults to SVC_CONFIG, then ./svc.yaml over ~/.svc/config.yaml.',
  helpValue: '<file>',
});
