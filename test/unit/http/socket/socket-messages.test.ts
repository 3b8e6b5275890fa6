// Messages of a WebSocket client that are large in structure: refused before they are built.
import { expect, it } from 'vitest';
import { readStart } from '../../../../src/http/socket/socket-messages.ts';

const frame = (text: string) => ({ data: Buffer.from(text), isBinary: false });

it('a message with too much structure and a damaged message are refused with their reasons', () => {
  expect(() => readStart(frame(`{"type":"start","args":[${'[],'.repeat(300_000)}[]]}`))).toThrow(
    'nested too deeply',
  );
  expect(() => readStart(frame('{"type":"start"'))).toThrow('not valid JSON');
  expect(readStart(frame('{"type":"start","command":"true"}'))).toMatchObject({ command: 'true' });
});
