/** Runs one instruction as a turn and shows it. `ask` and `chat` share it. */
import type { AgUiEvent, AptoveClient, ExecuteAnswer, ExecuteRequest, StreamedEvent } from "../../../client/client.ts";
import { onAbort } from "../../../system/abort.ts";
import type { CliInvocation } from "../invocation.ts";
import { TurnRenderer, type TurnView } from "../show/render-turn.ts";

export interface InstructionRun {
  call: CliInvocation;
  client: AptoveClient;
  request: ExecuteRequest;
  /** What is shown. `text`: text for people. `events`: each event as a line of JSON. `none`: nothing. */
  show: "text" | "events" | "none";
  /** How `text` is shown. Without it: as plain text. */
  view?: TurnView;
  /** Its abort interrupts the turn. The answer then has that outcome. */
  interrupt: AbortSignal;
  /** Called with the turn's id as soon as the turn has one. */
  onTurn?: (turnId: string) => void;
  /** Called with every event after it was shown. */
  onEvent?: (event: AgUiEvent) => void;
}

/** Resolves with the whole answer, also of a failed turn. Rejects if the turn was refused. */
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
    if (show === "events") call.output.jsonLine({ id: streamed.id, ...event });
    else if (show === "text") renderer.event(event);
    run.onEvent?.(event);
    if (event.type !== "RUN_STARTED") return;
    turnId = event.runId;
    run.onTurn?.(turnId);
    // The signal aborted before the turn had an id. The turn is stopped as soon as it has one.
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
 * Reads the answer from the data folder after its server was stopped or killed during the turn. Throws the first error
 * again if the folder does not have the answer.
 */
async function storedAnswer(invocation: CliInvocation, turnId: string | null, error: unknown): Promise<ExecuteAnswer> {
  const own = turnId === null ? null : await invocation.withoutServer();
  if (own === null || turnId === null) throw error;
  return await own.turns.answer(turnId);
}
