/** What the first call of a request would take, in one line: its tokens, its price, and the budget that would refuse it. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { ExecuteRequest, WireEstimate } from "../../src/client/client.ts";
import { client, wordsOf } from "../api/connection.ts";
import { count, money } from "../parts/numbers.ts";

/** A person types on; only what stands for a moment is asked about. */
const pauseMs = 400;

/** Null: there is nothing to estimate yet. */
export function Estimate({ request }: { request: ExecuteRequest | null }) {
  const words = useSignal("");
  const asked = request === null ? "" : JSON.stringify(request);
  useEffect(() => {
    words.value = "";
    if (asked === "") return;
    let isCurrent = true;
    const show = (text: string): void => void (isCurrent && (words.value = text));
    const timer = setTimeout(() => {
      client.estimate(JSON.parse(asked) as ExecuteRequest).then((one) => show(estimateWords(one)), showFault);
    }, pauseMs);
    const showFault = (error: unknown): void => show(`No estimate: ${wordsOf(error)}`);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [asked]);
  return <p class="estimate numbers dim">{words.value}</p>;
}

function estimateWords({ tokens, contextTokens, price, budgets }: WireEstimate): string {
  const of = contextTokens === null ? "" : ` of ${count(contextTokens)}`;
  const words = [`About ${count(tokens.total)}${of} tokens`, price === null ? "price not known" : priceWords(price)];
  if (budgets.some(({ refusal }) => refusal !== null)) words.push("a budget refuses it");
  return `${words.join("; ")}.`;
}

function priceWords({ inputMinUsd, inputMaxUsd, outputUsdPerThousand }: NonNullable<WireEstimate["price"]>): string {
  const [least, most] = [money(inputMinUsd), money(inputMaxUsd)];
  const range = least === most ? least : `${least} to ${most}`;
  return `${range}, and ${money(outputUsdPerThousand)} for each 1,000 of the answer`;
}
