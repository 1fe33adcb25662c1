/** The items of a turn, in the order in which they happened. */
import { useState } from "preact/hooks";
import type { TurnView, ViewItem } from "../api/turn-view.ts";
import { Markdown } from "../parts/markdown.tsx";
import { plural } from "../parts/numbers.ts";
import { shownText } from "../parts/shown-text.ts";
import { ToolCall } from "./tool-call.tsx";

/** A turn can have thousands of calls. The newest are shown first, as many as one reads. */
const itemsPage = 50;

interface EventsViewProps {
  turnId: string;
  view: TurnView;
  isRunning: boolean;
}

export function EventsView({ turnId, view, isRunning }: EventsViewProps) {
  const [shown, setShown] = useState(itemsPage);
  const hidden = Math.max(0, view.items.length - shown);
  return (
    <>
      {hidden > 0 && (
        <button type="button" class="quiet" onClick={() => setShown(shown + itemsPage)}>
          Show {Math.min(itemsPage, hidden)} of {plural(hidden, "earlier step")}
        </button>
      )}
      {view.items.slice(hidden).map((item, at) => (
        <Item key={item.id} turnId={turnId} item={item} isOpen={isRunning && hidden + at === view.items.length - 1} />
      ))}
    </>
  );
}

function Item({ turnId, item, isOpen }: { turnId: string; item: ViewItem; isOpen: boolean }) {
  switch (item.kind) {
    case "text":
      return <Markdown text={item.text} isOpen={isOpen} />;
    case "reasoning":
      return (
        <details class="reasoning">
          <summary>Reasoning</summary>
          <Markdown text={item.text} isOpen={isOpen} />
        </details>
      );
    case "call":
      return <ToolCall call={item} turnId={turnId} />;
    case "steered":
      return (
        <div class="steered">
          <b>You, while it ran</b>
          <p>{shownText(item.text)}</p>
        </div>
      );
    case "warning":
      return (
        <p class="notice wait">
          {item.text} <code>{item.code}</code>
        </p>
      );
    case "subagent":
      return (
        <p class="notice">
          Subagent <bdi>{shownText(item.name)}</bdi> ({item.status}): {shownText(item.text.slice(0, 300))}
        </p>
      );
  }
}
