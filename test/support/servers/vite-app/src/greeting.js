export const greeting = 'Hello from a sandbox';
