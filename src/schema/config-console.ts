// The web console.
import { choice, duration, flag, integer, section, text } from './config-kinds.ts';

export const ConsoleConfig = section('The web console, at /console (docs/console.md).', {
  enabled: flag(
    true,
    'Serve it on the address of the server. Without authentication it is served on loopback addresses only.',
  ),
  label: text('', 'Name of this installation in the head of each page, for example staging.', {
    maxLength: 40,
    pattern: '^[ -~]*$',
  }),
  label_colour: choice(['none', 'green', 'amber', 'red'], 'none', 'Colour of the label.'),
  session_max: duration('12h', 'Maximum lifetime of a login.'),
  session_idle: duration('30m', 'How long a login lasts without anybody at the page.'),
  max_sessions: integer(
    1000,
    1,
    100_000,
    'Maximum number of logins at once; a further one ends the one that would end first.',
  ),
});
