import { CodedError } from "../../src/base/index.ts";

/** The CodedError that a promise rejects with; anything else is an error of the test. */
export async function failureOf(promise: Promise<unknown>): Promise<CodedError> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!CodedError.is(error)) throw new Error("a CodedError was expected", { cause: error });
  return error;
}
