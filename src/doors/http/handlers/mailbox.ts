/** Handlers for the mailbox of a session, and for the turn that takes its waiting messages (A2). */
import { limits } from "../../../domain/limits.ts";
import { withoutNullish } from "../../../protocol/given.ts";
import { toWireMessage } from "../../../protocol/mailbox.ts";
import { answer, type HandlerDependencies, type RouteHandlers } from "./handler.ts";
import { startAndAnswer } from "./execute.ts";
import { toParsedRequest } from "../request/execute-request.ts";

export function mailboxHandlers(door: HandlerDependencies): RouteHandlers<"getMailbox" | "fireMailbox"> {
  return {
    getMailbox: async ({ caller, id, query }) => {
      const limit = query.limit ?? limits.pageSizeDefault;
      const { messages, runningTurnIds } = await door.engine.sessions.mailbox(caller, id, {
        ...withoutNullish(query),
        limit,
      });
      const last = messages.length < limit ? undefined : messages.at(-1);
      const nextAfter = last?.number ?? null;
      return answer("getMailbox", { messages: messages.map(toWireMessage), nextAfter, runningTurnIds });
    },
    fireMailbox: async (call) =>
      await startAndAnswer(door, call, toParsedRequest({ ...call.body, sessionId: call.id, fire: true }, door.limits)),
  };
}
