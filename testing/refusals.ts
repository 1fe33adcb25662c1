/** Checks of the typed errors that the tested code throws or rejects with. */
import assert from "node:assert/strict";
import { AptoveError, type ErrorCode } from "../src/domain/errors.ts";

/**
 * Returns a check for `assert.rejects` and `assert.throws`. The error must be an AptoveError with this code. Its detail
 * must match the pattern, or contain the text, if one is given.
 */
export function hasCode(code: ErrorCode, detail?: RegExp | string): (error: unknown) => true {
  return (error) => {
    assert.ok(error instanceof AptoveError, String(error));
    assert.equal(error.code, code, error.message);
    if (typeof detail === "string") assert.ok(error.detail.includes(detail), error.detail);
    if (detail instanceof RegExp) assert.match(error.detail, detail);
    return true;
  };
}

/** Returns the AptoveError that the function throws. Fails if it returns or if the error has another type. */
export function thrownBy(act: () => unknown): AptoveError {
  try {
    act();
  } catch (error) {
    assert.ok(error instanceof AptoveError, String(error));
    return error;
  }
  return assert.fail("nothing was thrown");
}

/** Returns the AptoveError that the promise rejects with. Fails if it resolves or if the error has another type. */
export async function rejectionOf(promise: Promise<unknown>): Promise<AptoveError> {
  const error = await reasonOf(promise);
  assert.ok(error instanceof AptoveError, String(error));
  return error;
}

/** Returns what the promise rejects with, whatever its type. Fails if the promise resolves. */
export async function reasonOf(promise: Promise<unknown>): Promise<unknown> {
  return await promise.then(
    () => assert.fail("the promise resolved"),
    (reason: unknown) => reason,
  );
}
