/** What can be done with a turn (U5). The same actions have keys. */
import type { Signal } from "@preact/signals";
import type { ListedTurn, Thread } from "../api/thread.ts";
import { mayWrite } from "../api/connection.ts";
import { Menu, type MenuItem } from "../parts/menu.tsx";
import { navigate, pathTo } from "../routes.ts";
import { markedTurn } from "./marked-turn.ts";
import { namedTurn } from "./turn-name.tsx";
import { runAgainAsked } from "./run-again-asked.ts";
import { forkAt, isForkedByRerun, makeHead, pinOrUnpin, runAgain } from "./turn-actions.ts";

interface TurnMenuProps {
  thread: Thread;
  turn: ListedTurn;
  isOpen?: Signal<boolean>;
}

export function TurnMenu({ thread, turn, isOpen }: TurnMenuProps) {
  return (
    <Menu
      label={`Actions of turn ${turn.sequence}`}
      items={turnItems(thread, turn)}
      class="quiet icon-button"
      {...(isOpen !== undefined && { isOpen })}
    >
      ⋯
    </Menu>
  );
}

function turnItems(thread: Thread, turn: ListedTurn): MenuItem[] {
  const isHead = thread.session.value?.headTurnId === turn.id;
  const mayBeHead =
    turn.sessionId === thread.id && (turn.status === "completed" || turn.status === "awaiting_tool_results");
  const isPinned = thread.pins.value.some(({ turnId }) => turnId === turn.id);
  const marked = markedTurn.value;
  const writes: MenuItem[] = [
    { label: "Fork here", keys: "f", isDisabled: turn.status === "pending", run: () => forkAt(thread, turn.id) },
    {
      label: isForkedByRerun(thread, turn) ? "Run again in a fork" : "Run again beside it",
      isDisabled: turn.status === "pending",
      run: () => void runAgain(thread, turn.id),
    },
    {
      label: "Run again with …",
      keys: "r",
      isDisabled: turn.status === "pending",
      run: () => void (runAgainAsked.value = { thread, turn, file: null }),
    },
    {
      label: "Ask several from here",
      isDisabled: turn.status === "pending",
      run: () => navigate(pathTo("several", {}, { from: turn.id })),
    },
    {
      label: "Ask this of several",
      isDisabled: turn.status === "pending",
      run: () => navigate(pathTo("several", {}, { again: turn.id })),
    },
    {
      label: isHead ? "Is the head" : "Make it the head",
      isDisabled: isHead || !mayBeHead,
      run: () => void makeHead(thread, turn.id),
    },
    {
      label: thread.names.value.has(turn.id) ? "Change its name" : "Name it",
      keys: "F2",
      run: () => void (namedTurn.value = turn.id),
    },
    {
      label: isPinned ? "Unpin it" : "Pin it: no summary drops it",
      isDisabled: turn.status === "pending",
      run: () => void pinOrUnpin(thread, turn.id),
    },
  ];
  return [
    { label: "What it saw", keys: "Enter", run: () => navigate(pathTo("turn", { session: thread.id, turn: turn.id })) },
    ...(mayWrite.value ? writes : []),
    ...(turn.rerunOf === null
      ? []
      : [
          {
            label: "Compare with the run before",
            run: () => navigate(pathTo("compare", { a: turn.rerunOf ?? "", b: turn.id })),
          },
        ]),
    marked === null || marked === turn.id
      ? {
          label: marked === null ? "Mark for a comparison" : "Unmark",
          keys: "m",
          run: () => void (markedTurn.value = marked === null ? turn.id : null),
        }
      : {
          label: "Compare with the marked turn",
          keys: "c",
          run: () => navigate(pathTo("compare", { a: marked, b: turn.id })),
        },
    { label: "Copy the answer", run: () => void navigator.clipboard.writeText(turn.answer ?? "") },
  ];
}
