"""The client for programs that wait with `await`. The plain one is written from it."""
