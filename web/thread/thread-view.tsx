/** A conversation (U4), with its lanes at the left and, if the address names a turn, the inspector at the right. */
import { Fragment, type RefObject } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { mayWrite } from "../api/connection.ts";
import { openedId } from "../api/live.ts";
import { Thread, type ListedTurn } from "../api/thread.ts";
import { spoken } from "../app/status.tsx";
import { viewCommands } from "../app/palette.tsx";
import { useLate } from "../parts/late.tsx";
import { Empty, FailedState, Loading } from "../parts/states.tsx";
import { route } from "../routes.ts";
import { Composer } from "./composer.tsx";
import { ForkBegin } from "./fork-begin.tsx";
import { ForkComposer } from "./fork-composer.tsx";
import { ThreadHead } from "./thread-head.tsx";
import type { SendingOf } from "./sending.ts";
import { runAgainAsked } from "./run-again-asked.ts";
import { TurnRow } from "./turn-row.tsx";
import { actionFault } from "./turn-actions.ts";
import { useThreadKeys } from "./thread-keys.ts";

interface ThreadViewProps {
  session: string | null;
  turn: string | null;
}

export function ThreadView({ session, turn }: ThreadViewProps) {
  return session === null ? <NewSession /> : <Conversation id={session} turn={turn} />;
}

function NewSession() {
  const run: SendingOf["run"] = async (request, idempotencyKey) => {
    const thread = new Thread("");
    const accepted = await thread.run(request, idempotencyKey);
    thread.close();
    return accepted;
  };
  return (
    <main class="view thread new" id="view" tabIndex={-1}>
      <div class="welcome">
        <h1>What should the model do?</h1>
        <p class="dim">
          Every turn is kept with exactly what the model saw. You can fork it, run it again and compare.
        </p>
      </div>
      {mayWrite.value && <Composer thread={null} run={run} takesFocus />}
    </main>
  );
}

function Conversation({ id, turn: selected }: { id: string; turn: string | null }) {
  const thread = useMemo(() => new Thread(id), [id]);
  useEffect(() => {
    void thread.load();
    openedId.value = id;
    return () => {
      openedId.value = null;
      thread.close();
      viewCommands.value = [];
    };
  }, [thread]);
  const { shown, forget } = useThreadKeys(thread);
  useSpokenStates(thread);
  const { session, failed } = thread;
  return (
    <main class={`view thread${selected === null ? "" : " inspecting"}`} id="view" tabIndex={-1}>
      <div class="conversation">
        <ThreadHead thread={thread} />
        {failed.value !== null && session.value === null && (
          <FailedState failed={failed.value} retry={() => void thread.load()} />
        )}
        {session.value === null && failed.value === null && <Loading lines={8} />}
        {actionFault.value !== null && (
          <p class="notice fail" role="alert">
            {actionFault.value}{" "}
            <button type="button" class="quiet small" onClick={() => (actionFault.value = null)}>
              Close
            </button>
          </p>
        )}
        {session.value !== null && <Turns thread={thread} selected={shown} />}
        {(session.value !== null || failed.value === null) && (
          <Bottom thread={thread} fork={route.value.query.get("fork")} forget={forget} />
        )}
      </div>
      {runAgainAsked.value !== null && <AskAgain />}
      {selected !== null && <Beside thread={thread} turnId={selected} />}
    </main>
  );
}

/** What a person wants to run again, and with what. */
function AskAgain() {
  const { Of } = useLate(async () => (await import("./run-again.tsx")).RunAgain);
  return Of === null ? null : <Of />;
}

/** The inspector or the tree, at the right of the conversation. */
function Beside(props: { thread: Thread; turnId: string }) {
  const { Of, waiting } = useLate(async () => (await import("../inspector/inspector.tsx")).Inspector);
  return Of === null ? <aside class="inspector">{waiting}</aside> : <Of {...props} />;
}

interface BottomProps {
  thread: Thread;
  fork: string | null;
  forget(): void;
}

/** The field is there before the session is read: who has begun the session may be writing on. */
function Bottom({ thread, fork, forget }: BottomProps) {
  if (!mayWrite.value) return null;
  if (fork !== null) return thread.session.value && <ForkComposer key={fork} thread={thread} turnId={fork} />;
  if (thread.session.value?.archivedAt != null)
    return <p class="notice">This session is archived. It takes no turns.</p>;
  const run: SendingOf["run"] = (...asked) => {
    // The new turn is what the person wants to see.
    forget();
    return thread.run(...asked);
  };
  return <Composer key="own" thread={thread} run={run} />;
}

/** Tells screen readers that a turn began and ended. The finished answer is read once, as its article is no longer busy. */
function useSpokenStates(thread: Thread): void {
  const before = useRef(false);
  useEffect(() => {
    const isRunning = thread.running.value !== null;
    if (isRunning !== before.current) spoken.value = isRunning ? "The model works" : "The turn has ended";
    before.current = isRunning;
  }, [thread.running.value]);
}

function Turns({ thread, selected }: { thread: Thread; selected: string | null }) {
  const path = thread.path.value;
  const box = useRef<HTMLDivElement>(null);
  const { isFollowing, onScroll } = useFollowing(box, path.length, selected);
  const keepPlace = useKeptPlace(box, path[0]?.id);
  const followed = thread.followed.value;
  if (path.length === 0) return <Empty>This session has no turns yet.</Empty>;
  return (
    <div class="turns-box">
      <div
        class="turns"
        ref={box}
        onScroll={onScroll}
        role="log"
        aria-live="off"
        aria-label="Conversation"
        tabIndex={0}
      >
        <div class="turns-inner">
          {path[0]?.parentId !== null && <Earlier thread={thread} first={path[0]} keepPlace={keepPlace} />}
          {path.map((turn, at) => (
            <Fragment key={turn.id}>
              <TurnRow
                thread={thread}
                turn={turn}
                followed={followed.get(turn.id) ?? null}
                isSelected={turn.id === selected}
              />
              {isForkedAt(thread, turn, path[at + 1]) && <ForkBegin thread={thread} origin={turn} />}
            </Fragment>
          ))}
        </div>
      </div>
      {!isFollowing.value && (
        <button
          type="button"
          class="to-end"
          onClick={() => {
            isFollowing.value = true;
            box.current?.scrollTo({ top: box.current.scrollHeight });
          }}
        >
          To the end ↓
        </button>
      )}
    </div>
  );
}

/**
 * The conversation stays at its end while it grows, until a person scrolls up. The effects keep everything that the function around them
 * has, so this is a function of its own: otherwise each conversation would be kept as it was earlier, too.
 */
function useFollowing(box: RefObject<HTMLDivElement | null>, count: number, selected: string | null) {
  const isFollowing = useSignal(true);
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => {
      if (isFollowing.peek() && selected === null) element.scrollTop = element.scrollHeight;
    });
    for (const child of element.children) observer.observe(child);
    return () => observer.disconnect();
  }, [count, selected]);
  useEffect(() => {
    const turn = selected === null ? null : document.getElementById(`turn-${selected}`);
    if (turn !== null && box.current !== null) bringInSight(turn, box.current);
  }, [selected, count]);
  const lastTop = useRef(0);
  // Only a person scrolls up: text that grows or is laid out moves the end away, and not the place.
  const onScroll = ({
    currentTarget: { scrollTop, scrollHeight, clientHeight },
  }: {
    currentTarget: HTMLElement;
  }): void => {
    if (scrollHeight - scrollTop - clientHeight < 48) isFollowing.value = true;
    else if (scrollTop < lastTop.current - 4) isFollowing.value = false;
    lastTop.current = scrollTop;
  };
  return { isFollowing, onScroll };
}

/** A turn that is out of sight is shown from its beginning. Of one that is partly in sight, a person may be reading the end. */
function bringInSight(turn: HTMLElement, box: HTMLElement): void {
  const [of, within] = [turn.getBoundingClientRect(), box.getBoundingClientRect()];
  const isOut = of.bottom <= within.top + 1 || of.top >= within.bottom - 1;
  turn.scrollIntoView({ block: isOut && of.height > within.height ? "start" : "nearest" });
}

/**
 * Returns what keeps the place that is in sight when turns are put above it. The browser does so by itself, except at the very top, where a
 * person asks for them.
 */
function useKeptPlace(box: RefObject<HTMLDivElement | null>, firstId: string | undefined): () => void {
  const toEnd = useRef<number | null>(null);
  useLayoutEffect(() => {
    if (box.current !== null && toEnd.current !== null)
      box.current.scrollTop = box.current.scrollHeight - toEnd.current;
    toEnd.current = null;
  }, [firstId]);
  return () => void (toEnd.current = box.current === null ? null : box.current.scrollHeight - box.current.scrollTop);
}

/** A fork may have no turn yet. */
function isForkedAt(thread: Thread, turn: ListedTurn, next: ListedTurn | undefined): boolean {
  return next === undefined ? turn.id === thread.session.value?.originTurnId : next.sessionId !== turn.sessionId;
}

interface EarlierProps {
  thread: Thread;
  first: ListedTurn | undefined;
  keepPlace(): void;
}

function Earlier({ thread, first, keepPlace }: EarlierProps) {
  const isElsewhere = first !== undefined && first.parentId === thread.session.value?.originTurnId;
  return (
    <button
      type="button"
      class="quiet earlier"
      onClick={() => {
        keepPlace();
        void thread.loadEarlier();
      }}
    >
      {isElsewhere
        ? "Show the conversation that this was forked from"
        : `Show earlier turns (${(first?.depth ?? 1) - 1})`}
    </button>
  );
}
