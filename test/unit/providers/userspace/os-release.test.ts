// What a sandbox on the host's programs says that it is.
import { expect, it } from 'vitest';
import { osRelease } from '../../../../src/providers/userspace/etc.ts';

const DEBIAN =
  'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nNAME="Debian GNU/Linux"\nVERSION_ID="12"\nID=debian\n';

it('names the sandbox, and keeps the fields that installers read', () => {
  expect(osRelease(`${DEBIAN}VARIANT="Server"\nVARIANT_ID=server\n$(reboot)\n`)).toBe(
    'PRETTY_NAME="Debian GNU/Linux 12 (bookworm), in an svc sandbox"\nNAME="Debian GNU/Linux"\nVERSION_ID="12"\nID=debian\n' +
      'VARIANT="svc sandbox on the programs of its host"\nVARIANT_ID=svc-sandbox\n',
  );
});

it('is complete without an os-release of the host', () => {
  expect(osRelease('')).toBe(
    'PRETTY_NAME="svc sandbox"\nNAME="Linux"\nID=linux\nVARIANT="svc sandbox on the programs of its host"\nVARIANT_ID=svc-sandbox\n',
  );
});
