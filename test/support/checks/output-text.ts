// Output as the control plane hands it over.
import { OutputText } from '../../../src/domain/output.ts';

export function outputText(text: string): OutputText {
  return new OutputText([Buffer.from(text)], 'utf8', false);
}
