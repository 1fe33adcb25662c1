/** A part of a session as Markdown, for a model that reads it. */
import type { AptoveClient } from "../../client/client.ts";
import { shortened } from "./tool-answer.ts";

/** The longest text of a turn in a session. `read_turn` has the whole one. */
const textCharactersMax = 6_000;

export function turnsText(count: number): string {
  return count === 1 ? "1 turn" : `${count} turns`;
}

export interface ConversationPage {
  text: string;
  /** The value of `before` for the older turns. Null: there are none. */
  nextBefore: number | null;
}

/** Returns the newest turns of a session, in their order. */
export async function conversationPage(
  client: AptoveClient,
  sessionId: string,
  { limit, before }: { limit: number; before?: number | undefined },
): Promise<ConversationPage> {
  const [session, { turns, nextBefore }] = await Promise.all([
    client.sessions.get(sessionId),
    client.sessions.turns(sessionId, { texts: "whole", limit, ...(before !== undefined && { before }) }),
  ]);
  const { name, repo, turnCount, activeAt, headTurnId } = session;
  const about = [turnsText(turnCount), `last active ${activeAt}`, ...(repo === null ? [] : [`about ${repo}`])];
  const blocks = turns.toReversed().map(({ id, sequence, status, model, createdAt, instruction = "", answer = "" }) => {
    const head = id === headTurnId ? ", head" : "";
    const facts = `Turn ${sequence} (${id}${head}), ${status}, ${model}, ${createdAt}`;
    return `## ${facts}\n\n**Instruction:** ${shortened(instruction, textCharactersMax)}\n\n**Answer:** ${shortened(answer, textCharactersMax)}`;
  });
  const older = nextBefore === null ? [] : [`Older turns: read_session with before: ${nextBefore}.`];
  return { text: [`# ${name}`, about.join(", "), ...older, ...blocks].join("\n\n"), nextBefore };
}
