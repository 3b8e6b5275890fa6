// What exit codes mean, in words. The codes themselves are the error table's; a test holds the two together.

export const EXIT_CODES: readonly (readonly [code: number, meaning: string])[] = [
  [0, 'Success.'],
  [1, 'The service or a provider failed.'],
  [2, 'Wrong usage, a bad request, or a configuration with problems.'],
  [3, 'A check ran and found failures.'],
  [4, 'What was named does not exist.'],
  [5, 'It conflicts with the present state.'],
  [6, 'Not allowed.'],
  [7, 'A limit is reached.'],
  [8, 'The server or a provider cannot be reached now.'],
  [9, 'A deadline passed.'],
  [130, 'Interrupted.'],
];
