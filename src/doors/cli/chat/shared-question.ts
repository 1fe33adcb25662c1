/**
 * A question of this chat that can be answered elsewhere too, for example on a phone (V5). The server holds it while the chat asks, and
 * the first answer counts. A server that cannot hold it changes nothing for the person at the terminal.
 */
import { AptoveApiError, type AptoveClient } from "../../../client/client.ts";
import { newId } from "../../../domain/ids.ts";
import { limits } from "../../../domain/limits.ts";
import type { OfferedAlways, ToolCallView } from "../../../domain/tool.ts";
import { pause } from "../../../system/abort.ts";

export interface CallAnswer {
  approved: boolean;
  /** True: such calls are allowed permanently. */
  always?: boolean;
  reason?: string;
}

export interface SharedQuestion {
  /** The answer that came from elsewhere. Null: none came yet. */
  readonly elsewhere: CallAnswer | null;
  /**
   * Ends the question. `own` is the answer that was given here, or null if there was none. Returns the answer that counts. It never
   * rejects: without the server the own answer counts.
   */
  end(own: CallAnswer | null): Promise<CallAnswer | null>;
}

interface AskedCall {
  turnId: string;
  callId: string;
  view: ToolCallView;
  /** How far a permanent permission reaches. */
  scope: OfferedAlways["scope"];
}

/** Asks until `end` is called. Calls `onAnswer` once if the answer comes from elsewhere. */
export function shareQuestion(client: AptoveClient, call: AskedCall, onAnswer: () => void): SharedQuestion {
  const question = { callId: call.callId, askerId: newId() };
  const stop = new AbortController();
  let [elsewhere, isHeld]: [CallAnswer | null, boolean] = [null, false];
  let offersAlways = true;
  const ask = async (): Promise<CallAnswer | null> => {
    const view = askedView(call, { offersAlways });
    const answer = await client.turns.askQuestion(call.turnId, { ...question, view });
    isHeld = true;
    return answer;
  };
  const asking = (async () => {
    while (!stop.signal.aborted) {
      try {
        elsewhere = await ask();
      } catch (error) {
        const code = error instanceof AptoveApiError ? error.code : "";
        // A server of an earlier version does not know what is offered permanently.
        if (code === "request_invalid" && offersAlways) {
          offersAlways = false;
          continue;
        }
        // A server that is away may come back. One that refuses the question will not take it later.
        if (code !== "unreachable") return;
      }
      if (elsewhere !== null) return stop.signal.aborted ? undefined : onAnswer();
      await pause(limits.questionPollMs, stop.signal);
    }
  })();
  return {
    get elsewhere() {
      return elsewhere;
    },
    async end(own) {
      stop.abort();
      await asking;
      if (!isHeld) return own;
      const counts = elsewhere ?? (own === null ? null : await firstAnswer(client, { call, own, ask }));
      await client.turns.withdrawQuestion(call.turnId, question).catch(() => undefined);
      return counts;
    },
  };
}

/** Gives the own answer. If another one came first, returns that one. */
async function firstAnswer(
  client: AptoveClient,
  { call, own, ask }: { call: AskedCall; own: CallAnswer; ask(): Promise<CallAnswer | null> },
): Promise<CallAnswer> {
  try {
    await client.turns.answerQuestion(call.turnId, { callId: call.callId, ...own });
  } catch (error) {
    if (error instanceof AptoveApiError && error.code === "question_not_open") {
      return (await ask().catch(() => null)) ?? own;
    }
  }
  return own;
}

/** The key of a permission stays here. Others see what it allows. */
function askedView({ view, scope }: AskedCall, { offersAlways }: { offersAlways: boolean }) {
  const { title, kind, locations, content, permission } = view;
  return {
    title,
    kind,
    locations,
    content: content.filter((part) => part.type === "text" || part.type === "diff"),
    ...(offersAlways && permission !== null && { always: { label: permission.label, scope } }),
  };
}
