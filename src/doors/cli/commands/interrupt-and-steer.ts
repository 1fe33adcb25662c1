/** `aptove session interrupt | steer`: stops the running turn, or sends it a message (V4, T10). */
import type { CliInvocation } from "../invocation.ts";
import { exitCodes, type ExitCode } from "../failure.ts";
import { namedSession, shortId } from "../lookup/find-by-id.ts";

export async function interruptSession(invocation: CliInvocation, id: string | undefined): Promise<ExitCode> {
  const client = await invocation.client();
  const session = await namedSession(client, id, (await invocation.copy()).repo);
  const interruptedTurnId = await client.sessions.interrupt(session.id);
  const { output } = invocation;
  if (invocation.json) output.json({ interruptedTurnId });
  else if (interruptedTurnId === null) output.note(`no turn is running in ${shortId(session.id)}`);
  else output.line(`turn ${shortId(interruptedTurnId)} is being stopped; its output so far is kept`);
  return exitCodes.fine;
}

export async function steerSession(
  invocation: CliInvocation,
  words: string[],
  options: { session?: string },
): Promise<ExitCode> {
  const client = await invocation.client();
  const session = await namedSession(client, options.session, (await invocation.copy()).repo);
  const steeredTurnId = await client.sessions.steer(session.id, words.join(" "));
  if (invocation.json) invocation.output.json({ steeredTurnId });
  else invocation.output.line(`turn ${shortId(steeredTurnId)} gets the message at its next step`);
  return exitCodes.fine;
}
