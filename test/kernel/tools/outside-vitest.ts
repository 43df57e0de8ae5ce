// Stands for vitest in the victim's bundle: its process is no test, and what it opened ends with it.
export const afterAll = (): void => {};
export const onTestFinished = (): void => {};
export const TestRunner = { getCurrentTest: (): undefined => undefined };
