/** One turn of a conversation: the instruction, the answer, and what is known about both. */
import { useEffect, useState } from "preact/hooks";
import { followTurn, type FollowedTurn } from "../api/running-turn.ts";
import type { ListedTurn, Thread } from "../api/thread.ts";
import { Markdown } from "../parts/markdown.tsx";
import { count, duration } from "../parts/numbers.ts";
import { Time } from "../parts/time.tsx";
import { stopWords, usageWords } from "../parts/turn-words.ts";
import { pathTo } from "../routes.ts";
import { EventsView } from "./events-view.tsx";
import { Given } from "./given.tsx";
import { markedTurn } from "./marked-turn.ts";
import { TurnName } from "./turn-name.tsx";
import { TurnMenu } from "./turn-menu.tsx";
import { WaitingCalls } from "./waiting-calls.tsx";

interface TurnProps {
  thread: Thread;
  turn: ListedTurn;
  /** The stream of the turn, if this tab follows it. */
  followed: FollowedTurn | null;
  isSelected: boolean;
  /** True if the answer is so far from what is seen that its text is enough. */
  isFar: boolean;
}

export function TurnArticle({ thread, turn, followed, isSelected, isFar }: TurnProps) {
  const [opened, setOpened] = useOpened();
  const isRunning = turn.status === "pending";
  const answer = turn.answer ?? turn.answerSummary ?? "";
  const shown = opened === "answer" ? null : (opened ?? followed);
  return (
    <article
      class={`turn ${turn.status}${isSelected ? " selected" : ""}`}
      id={`turn-${turn.id}`}
      aria-label={`Turn ${turn.sequence}`}
      aria-current={isSelected ? "true" : undefined}
    >
      <header>
        <b>You</b>
        <TurnName thread={thread} turnId={turn.id} />
        <span class="turn-facts">
          {turn.mode !== "ask" && <span class="tag">{turn.mode}</span>}
          {thread.pins.value.some(({ turnId }) => turnId === turn.id) && <span class="tag">pinned</span>}
          {markedTurn.value === turn.id && <span class="tag">marked</span>}
          {turn.rerunOf !== null && <span class="tag">run again</span>}
          <Time at={turn.createdAt} />
        </span>
        <TurnMenu thread={thread} turn={turn} />
      </header>
      <Instruction text={turn.instruction ?? turn.instructionSummary} />
      <Damage turn={turn} />
      <div class="answer" aria-busy={isRunning}>
        {shown !== null && <Streamed turnId={turn.id} followed={shown} isRunning={isRunning} />}
        {shown === null && answer !== "" && (isFar ? answer : <Markdown text={answer} />)}
        {isRunning && followed === null && <p class="dim">Running …</p>}
        <Failures turn={turn} />
        {turn.status === "awaiting_tool_results" && <WaitingCalls thread={thread} turnId={turn.id} />}
      </div>
      {!isRunning && (
        <footer>
          <a class="button quiet small" href={pathTo("turn", { session: thread.id, turn: turn.id })}>
            What it saw
          </a>
          <button
            type="button"
            class="quiet small"
            aria-expanded={shown !== null}
            onClick={() => setOpened(shown === null ? (followed ?? followTurn(turn.id)) : "answer")}
          >
            {shown === null ? "Steps" : "Answer only"}
          </button>
          <Facts turn={turn} />
        </footer>
      )}
    </article>
  );
}

/** What the person chose to see. Null: nothing yet. A stream that was opened ends with the view, and when another is opened. */
function useOpened() {
  // An effect keeps everything that the function around it has, so this is a function of its own without the turn.
  const state = useState<FollowedTurn | "answer" | null>(null);
  const [opened] = state;
  useEffect(() => (opened === null || opened === "answer" ? undefined : () => opened.stop()), [opened]);
  return state;
}

/** Says which of the stored content cannot be read. The beginnings of the texts are kept apart from it. */
function Damage({ turn: { faults = [] } }: { turn: ListedTurn }) {
  if (faults.length === 0) return null;
  return (
    <div class="failure" role="group" aria-label="Stored content of this turn is damaged">
      {faults.map((fault) => (
        <p key={fault}>
          <span class="mark fail" /> {fault}
        </p>
      ))}
      <p class="dim">What is shown is the beginning of each text. `aptove session verify` checks the whole session.</p>
    </div>
  );
}

/** A long instruction, for example with a file pasted into it, begins folded. */
const instructionShownMax = 2_000;

function Instruction({ text }: { text: string }) {
  const [isWhole, setWhole] = useState(text.length <= instructionShownMax);
  return (
    <div class="instruction">
      {isWhole ? text : `${text.slice(0, instructionShownMax)} …`}
      {!isWhole && (
        <button type="button" class="quiet small" onClick={() => setWhole(true)}>
          Show all
        </button>
      )}
    </div>
  );
}

interface StreamedProps {
  turnId: string;
  followed: FollowedTurn;
  isRunning: boolean;
}

function Streamed({ turnId, followed, isRunning }: StreamedProps) {
  const view = followed.view.value;
  // The list may say that a turn has ended before its events are all here.
  const isRead = view.end !== null || followed.failed.value !== null;
  const [first, later] = isRunning ? ["Waiting for the model", "Working"] : ["Reading the steps", "Reading the rest"];
  return (
    <>
      {view.given !== null && <Given given={view.given} />}
      <EventsView turnId={turnId} view={view} isRunning={!isRead} />
      {!isRead && (
        <p class="working">
          <span class="mark run" /> {view.items.length === 0 ? first : later}
          {view.steps > 1 && ` · step ${view.steps}`}
        </p>
      )}
      {followed.failed.value !== null && <p role="alert">{followed.failed.value}</p>}
    </>
  );
}

function Facts({ turn: { durationMs, usage, model, warningCount, stopReason } }: { turn: ListedTurn }) {
  return (
    <span class="turn-facts numbers">
      <span>{model}</span>
      {durationMs !== null && <span>{duration(durationMs)}</span>}
      {usage !== null && (
        <span title={usage.totalTokens === null ? undefined : `${count(usage.totalTokens)} tokens`}>
          {usageWords(usage).join(" · ")}
        </span>
      )}
      {warningCount > 0 && <span class="warned">{warningCount === 1 ? "1 warning" : `${warningCount} warnings`}</span>}
      {stopWords(stopReason) !== null && <span class="warned">{stopWords(stopReason)}</span>}
    </span>
  );
}

function Failures({ turn }: { turn: ListedTurn }) {
  if (turn.status !== "failed") return null;
  return (
    <div class="failure" role="group" aria-label="This turn failed">
      {turn.failures.map(({ code, message, fix }, at) => (
        <p key={at}>
          <span class="mark fail" /> {message} <code>{code}</code>
          <br />
          <span class="dim">What to do: {fix}</span>
        </p>
      ))}
    </div>
  );
}
