// What exit codes mean, in words. The codes themselves are the error table's; a test holds the two together.

export const EXIT_CODES: readonly (readonly [code: number, meaning: string])[] = [
  [0, 'Success.'],
  [1, 'The service or a provider failed.'],
  [2, 'Wrong usage, a bad request, or a configuration with problems.'],
  [3, 'A check ran and found failures.'],
  [4, 'Not found.'],
  [5, 'Conflict with the current state.'],
  [6, 'Not allowed.'],
  [7, 'A limit was reached.'],
  [8, 'The server or a provider is unavailable.'],
  [9, 'A timeout expired.'],
  [130, 'Interrupted.'],
];
