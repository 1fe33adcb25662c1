/** Runs one instruction as a turn and shows it; the shared middle of `ask` and `chat`. */
import type { AgUiEvent, AptoveClient, ExecuteAnswer, ExecuteRequest, StreamedEvent } from "../../../client/client.ts";
import { onAbort } from "../../../system/abort.ts";
import type { Call } from "../call.ts";
import { TurnRenderer } from "./render-turn.ts";
import type { TurnView } from "./render-turn.ts";

export interface InstructionRun {
  call: Call;
  client: AptoveClient;
  request: ExecuteRequest;
  /** `text`: for people. `events`: each event as a line of JSON. `none`: nothing. */
  show: "text" | "events" | "none";
  /** For people: how it is shown; absent: as plain text. */
  view?: TurnView;
  /** Its abort interrupts the turn; the answer then says so. */
  interrupt: AbortSignal;
  /** Told the turn's id as soon as it has one. */
  onTurn?: (turnId: string) => void;
  /** Told every event, after it was shown. */
  onEvent?: (event: AgUiEvent) => void;
}

/** Resolves with the whole answer, also of a failed turn; rejects when the turn was refused. */
export async function runInstruction(run: InstructionRun): Promise<ExecuteAnswer> {
  const { call, client, request, show, interrupt } = run;
  const renderer = run.view ?? new TurnRenderer(call.output);
  let turnId: string | null = null;
  const stop = (): void => {
    if (turnId === null) return;
    client.turns.interrupt(turnId).catch((error: unknown) => {
      call.output.note(`warning: the turn could not be interrupted: ${String(error)}`);
    });
  };
  const onEvent = (streamed: StreamedEvent): void => {
    const { event } = streamed;
    if (show === "events") call.output.line(JSON.stringify({ id: streamed.id, ...event }));
    else if (show === "text") renderer.event(event);
    run.onEvent?.(event);
    if (event.type !== "RUN_STARTED") return;
    turnId = event.runId;
    run.onTurn?.(turnId);
    // Interrupted before the turn had an id: it is stopped as soon as it has one.
    if (interrupt.aborted) stop();
  };
  const removeListener = onAbort(interrupt, stop);
  try {
    const answer = await client.execute(request, { onEvent }).catch((error) => storedAnswer(call, turnId, error));
    if (show === "text") renderer.finish(answer);
    return answer;
  } finally {
    if (show === "text") renderer.endLine();
    removeListener();
  }
}

/**
 * The server of this data folder was stopped or killed in the middle: what became of the turn is in the
 * folder all the same. Throws the error that led here where it is not.
 */
async function storedAnswer(call: Call, turnId: string | null, error: unknown): Promise<ExecuteAnswer> {
  const own = turnId === null ? null : await call.withoutServer();
  if (own === null || turnId === null) throw error;
  return await own.turns.answer(turnId);
}
