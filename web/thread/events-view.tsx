/** The items of a turn, in the order in which they happened. */
import type { TurnView, ViewItem } from "../api/turn-view.ts";
import { Markdown } from "../parts/markdown.tsx";
import { shownText } from "../parts/shown-text.ts";
import { ToolCall } from "./tool-call.tsx";

export function EventsView({ view, isRunning }: { view: TurnView; isRunning: boolean }) {
  return (
    <>
      {view.items.map((item, at) => (
        <Item key={item.id} item={item} isOpen={isRunning && at === view.items.length - 1} />
      ))}
    </>
  );
}

function Item({ item, isOpen }: { item: ViewItem; isOpen: boolean }) {
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
      return <ToolCall call={item} />;
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
          Subagent <b>{shownText(item.name)}</b> ({item.status}): {shownText(item.text.slice(0, 300))}
        </p>
      );
  }
}
