// The console: a client of the public API that runs in a browser.
import { render } from 'preact';
import { BASE } from './api/call.ts';
import { startRouter } from './app/router.ts';
import { startSession } from './app/session.ts';
import { startSettings } from './app/settings.ts';
import { Shell } from './app/shell.tsx';

// A relative base would mean another address after the first visit of another screen.
document.querySelector('base')?.setAttribute('href', BASE.href);
startSettings();
startRouter();
void startSession();
const root = document.getElementById('app');
if (root) render(<Shell />, root);
