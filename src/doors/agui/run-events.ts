/** The events of a turn for an AG-UI client, with the ids that the client gave to its thread and its run (O6). */
import type { SequencedEvent } from "../../domain/events.ts";
import { toAgUi, type AgUiEvent } from "../../protocol/ag-ui.ts";
import type { ServerSentEvent } from "../event-stream.ts";
import { messageId } from "./message-ids.ts";

export interface Run {
  threadId: string;
  runId: string;
  turnId: string;
  sessionId: string;
}

export async function* runEvents(events: AsyncIterable<SequencedEvent>, run: Run): AsyncGenerator<ServerSentEvent> {
  const messages = new MessageIds(run.turnId);
  for await (const sequenced of events) {
    const event = toAgUi(sequenced, { sessionId: run.threadId, turnId: run.runId });
    yield { data: JSON.stringify(messages.in(event)) };
    if (event.type !== "RUN_STARTED") continue;
    const value = { sessionId: run.sessionId, turnId: run.turnId };
    yield { data: JSON.stringify({ type: "CUSTOM", name: "aptove.turn", value }) };
  }
}

/** Gives each message an id that names the turn. Calls of one answer belong to one message. */
class MessageIds {
  readonly #turnId: string;
  #answers = 0;

  constructor(turnId: string) {
    this.#turnId = turnId;
  }

  in(event: AgUiEvent): object {
    switch (event.type) {
      case "RUN_STARTED": {
        // The parent is a turn, which is no run of the client.
        const { parentRunId: _turn, ...started } = event;
        return started;
      }
      case "TOOL_CALL_START":
        return { ...event, parentMessageId: this.#id(`calls-${this.#answers}`) };
      case "TOOL_CALL_RESULT":
        this.#answers += 1;
        return { ...event, messageId: this.#id(event.messageId) };
      default:
        return "messageId" in event ? { ...event, messageId: this.#id(event.messageId) } : event;
    }
  }

  #id(id: string): string {
    return messageId(this.#turnId, id);
  }
}
