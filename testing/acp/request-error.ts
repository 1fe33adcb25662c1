/** Catches the errors that a door for the Agent Client Protocol answers with. */
import assert from "node:assert/strict";
import { RequestError } from "@agentclientprotocol/sdk";
import { reasonOf } from "../refusals.ts";

/** Returns the RequestError that the request fails with. Fails if it succeeds or if the error has another type. */
export async function requestErrorOf(request: Promise<unknown>): Promise<RequestError> {
  const error = await reasonOf(request);
  assert.ok(error instanceof RequestError, String(error));
  return error;
}

/** Returns the error that the request fails with. On a remote transport it may be the error of the lost connection. */
export async function remoteErrorOf(request: Promise<unknown>): Promise<{ code: number; message: string }> {
  return (await reasonOf(request)) as { code: number; message: string };
}
