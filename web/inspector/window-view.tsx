/** The bar of the window, to scale with the model's window, and the pieces of the part that is chosen. */
import { type Signal, useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { WireTurn, WireTurnContext } from "../../src/client/client.ts";
import { count, money, percent, plural, short } from "../parts/numbers.ts";
import { shownText } from "../parts/shown-text.ts";
import { models, windowOf } from "../thread/choices.ts";
import { windowOfTurn, type WindowBar, type WindowKind, type WindowPart } from "./window.ts";

interface WindowViewProps {
  turn: WireTurn;
  context: WireTurnContext;
  request: string | null;
}

/** A part that is thinner than this cannot be hit with a finger or seen. */
const thinnestShare = 0.006;

export function WindowView({ turn, context, request }: WindowViewProps) {
  const bar = useMemo(() => windowOfTurn({ turn, context, request }), [turn, context, request]);
  const opened = useSignal<WindowKind | null>(null);
  /** The part under the pointer, or with the focus. */
  const named = useSignal<string | null>(null);
  const size = windowOf(turn.provider, turn.model);
  const toggle = (kind: WindowKind): void => void (opened.value = opened.value === kind ? null : kind);
  return (
    <section aria-label="What filled the window">
      <Bar bar={bar} size={size} opened={opened.value} toggle={toggle} named={named} />
      <p class="window-words numbers">{named.value ?? words(turn, bar, size)}</p>
      <ul class="legend">
        {bar.parts.map((part) => (
          <li key={part.kind} class={named.value?.startsWith(`${part.label}:`) === true ? "named" : ""}>
            <button
              type="button"
              class="quiet"
              aria-expanded={opened.value === part.kind}
              onClick={() => toggle(part.kind)}
            >
              <span class={`swatch kind-${part.kind}`} />
              <span class="legend-label">{part.label}</span>
              <span class="numbers">{short(part.tokens)}</span>
              <span class="numbers dim">{percent(part.tokens / bar.tokens)}</span>
            </button>
            {opened.value === part.kind && <Pieces part={part} />}
          </li>
        ))}
      </ul>
    </section>
  );
}

interface BarProps {
  bar: WindowBar;
  /** Null: it is not known, and the bar is as wide as what was sent. */
  size: number | null;
  opened: WindowKind | null;
  toggle(kind: WindowKind): void;
  named: Signal<string | null>;
}

/** One stop of the Tab key. Arrows move from part to part, Enter opens the pieces of one. */
function Bar({ bar: { parts, tokens: all }, size, opened, toggle, named }: BarProps) {
  const at = useSignal(0);
  const whole = Math.max(size ?? all, all, 1);
  const free = whole - all;
  const wordsOf = ({ label, tokens }: WindowPart): string =>
    `${label}: ${count(tokens)} tokens, ${percent(tokens / Math.max(1, all))}`;
  const onKeyDown = (event: KeyboardEvent & { currentTarget: HTMLElement }): void => {
    const next = { ArrowRight: at.value + 1, ArrowLeft: at.value - 1, Home: 0, End: parts.length - 1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    at.value = Math.min(parts.length - 1, Math.max(0, next));
    event.currentTarget.querySelectorAll("button")[at.value]?.focus();
  };
  return (
    <div class="window" role="toolbar" aria-label="Parts of the window" onKeyDown={onKeyDown}>
      {parts.map((part, place) => (
        <button
          key={part.kind}
          type="button"
          class={`window-part kind-${part.kind}`}
          style={{ flexGrow: Math.max(part.tokens / whole, thinnestShare) }}
          tabIndex={place === at.value ? 0 : -1}
          aria-label={wordsOf(part)}
          aria-expanded={opened === part.kind}
          onClick={() => toggle(part.kind)}
          onFocus={() => {
            at.value = place;
            named.value = wordsOf(part);
          }}
          onBlur={() => (named.value = null)}
          onPointerEnter={() => (named.value = wordsOf(part))}
          onPointerLeave={() => (named.value = null)}
        />
      ))}
      <div
        class="window-free"
        style={{ flexGrow: free / whole }}
        onPointerEnter={() => (named.value = `free: ${count(free)} tokens, ${percent(free / whole)} of the window`)}
        onPointerLeave={() => (named.value = null)}
      />
    </div>
  );
}

function words(turn: WireTurn, { tokens, isCounted }: WindowBar, size: number | null): string {
  const usage = turn.run?.usage;
  const about = isCounted ? "" : "about ";
  const of = size === null ? "" : ` of ${count(size)}`;
  const sentences = [`${about}${count(tokens)}${of} tokens`];
  if (size === null) sentences.push("the window of this model is not known");
  if (usage?.cachedTokens != null && usage.inputTokens != null && usage.cachedTokens > 0) {
    sentences.push(`${percent(usage.cachedTokens / usage.inputTokens)} was cached`);
  }
  const price = models.value?.find(({ provider, model }) => provider === turn.provider && model === turn.model)?.price;
  if (price == null) sentences.push("the price of this model is not known");
  else {
    const [least, most] = [price.cached, price.input].map((dollars) => (tokens * dollars) / 1e6);
    sentences.push(`next turn about ${money(least ?? 0)} to ${money(most ?? 0)}`);
  }
  return sentences.join("; ");
}

const shownAtFirst = 12;

function Pieces({ part: { pieces, tokens } }: { part: WindowPart }) {
  const shown = useSignal(shownAtFirst);
  if (pieces.length === 0) {
    return <p class="dim small-text">The provider keeps it; its size is what the count of tokens leaves over.</p>;
  }
  const all = pieces.reduce((sum, { characters }) => sum + characters, 0);
  return (
    <div class="pieces">
      {pieces.slice(0, shown.value).map(({ name, characters, text }, at) => (
        <details key={at}>
          <summary>
            <bdi class="path">{shownText(name)}</bdi>
            <span class="numbers dim">{short(Math.round((tokens * characters) / all))}</span>
          </summary>
          <pre class="output" tabIndex={0}>
            {text.slice(0, 20_000)}
          </pre>
        </details>
      ))}
      {pieces.length > shown.value && (
        <button type="button" class="quiet small" onClick={() => (shown.value += 200)}>
          {plural(pieces.length - shown.value, "more piece")}
        </button>
      )}
    </div>
  );
}
