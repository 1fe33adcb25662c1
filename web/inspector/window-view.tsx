/** The bar of the window, to scale with the model's window, and the pieces of the part that is chosen. */
import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { WireTurn, WireTurnContext } from "../../src/client/client.ts";
import { count, money, percent, plural, short } from "../parts/numbers.ts";
import { shownText } from "../parts/shown-text.ts";
import { models, windowOf } from "../thread/choices.ts";
import { windowOfTurn, type WindowKind, type WindowPart } from "./window.ts";

interface WindowViewProps {
  turn: WireTurn;
  context: WireTurnContext;
  request: string | null;
}

/** A part that is thinner than this cannot be hit with a finger or seen. */
const thinnestShare = 0.006;

export function WindowView({ turn, context, request }: WindowViewProps) {
  const bar = useMemo(() => windowOfTurn({ turn, context, request }), [turn, context, request]);
  const chosen = useSignal<WindowKind | null>(null);
  const size = windowOf(turn.provider, turn.model);
  const whole = Math.max(size ?? bar.tokens, bar.tokens, 1);
  const part = bar.parts.find(({ kind }) => kind === chosen.value);
  return (
    <section aria-label="What filled the window">
      <div class="window" role="group" aria-label="Parts of the window">
        {bar.parts.map(({ kind, label, tokens }) => (
          <button
            key={kind}
            type="button"
            class={`window-part kind-${kind}`}
            style={{ flexGrow: Math.max(tokens / whole, thinnestShare) }}
            aria-label={`${label}: ${count(tokens)} tokens, ${percent(tokens / bar.tokens)}`}
            title={`${label}: ${count(tokens)} tokens`}
            aria-expanded={chosen.value === kind}
            onClick={() => (chosen.value = chosen.value === kind ? null : kind)}
          />
        ))}
        <div
          class="window-free"
          style={{ flexGrow: Math.max(0, 1 - bar.tokens / whole) }}
          title={`${count(whole - bar.tokens)} tokens are free`}
        />
      </div>
      <p class="window-words numbers">{words(turn, bar, size)}</p>
      <ul class="legend">
        {bar.parts.map(({ kind, label, tokens }) => (
          <li key={kind}>
            <button
              type="button"
              class="quiet"
              aria-expanded={chosen.value === kind}
              onClick={() => (chosen.value = chosen.value === kind ? null : kind)}
            >
              <span class={`swatch kind-${kind}`} />
              <span class="legend-label">{label}</span>
              <span class="numbers">{short(tokens)}</span>
              <span class="numbers dim">{percent(tokens / bar.tokens)}</span>
            </button>
            {part?.kind === kind && <Pieces part={part} />}
          </li>
        ))}
      </ul>
    </section>
  );
}

function words(
  turn: WireTurn,
  { tokens, isCounted }: { tokens: number; isCounted: boolean },
  size: number | null,
): string {
  const usage = turn.run?.usage;
  const about = isCounted ? "" : "about ";
  const of = size === null ? "" : ` of ${count(size)}`;
  const sentences = [`${about}${count(tokens)}${of} tokens`];
  if (usage?.cachedTokens != null && usage.inputTokens != null && usage.cachedTokens > 0) {
    sentences.push(`${percent(usage.cachedTokens / usage.inputTokens)} was cached`);
  }
  const price = models.value?.find(({ provider, model }) => provider === turn.provider && model === turn.model)?.price;
  if (price != null) {
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
