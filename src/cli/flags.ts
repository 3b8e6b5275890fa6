// Flags that several commands share. Those of the connection to a server are in connection.ts.
import { Flags } from '@oclif/core';

export const configFlag = Flags.string({
  description: 'Configuration file, read alone; else SVC_CONFIG, else ./svc.yaml over ~/.svc/config.yaml.',
  helpValue: '<file>',
});
