import assert from "node:assert/strict";
import { test } from "node:test";
import { limits } from "../../../domain/limits.ts";
import { decideChain, noProvider, type ChainQuestion } from "./chain.ts";

const parent = {
  provider: "openai",
  model: "gpt-5.1",
  stopReason: "stop",
  chain: { account: "acme", responseId: "resp_1", previousResponseId: null, expiresAt: 100 * limits.chainMarginMs },
  manifest: { promptHash: "p", toolsHash: "t" },
} as ChainQuestion["parent"];

const question: ChainQuestion = {
  parent,
  provider: { name: "openai", account: "acme" },
  model: "gpt-5.1-2025-11-13",
  promptHash: "p",
  toolsHash: "t",
  forgets: false,
  now: 0,
};

test("[C2] a chain is continued when nothing that it rests on has changed", () => {
  assert.deepEqual(decideChain(question), { use: "resp_1" });
});

test("[C2] [E6] each thing that it rests on ends it, with the reason", () => {
  const cases: [Partial<ChainQuestion>, RegExp][] = [
    [{ provider: { name: "other", account: "acme" } }, /provider was openai/],
    [{ provider: { name: "openai", account: "else" } }, /account/],
    [{ parent: { ...parent, provider: noProvider } }, /took place elsewhere/],
    [{ model: "gpt-6" }, /model was gpt-5.1/],
    [{ promptHash: "changed" }, /boot prompt/],
    [{ toolsHash: "changed" }, /tools/],
    [{ forgets: true }, /forgotten/],
    [{ now: 99 * limits.chainMarginMs }, /expire/],
    [{ parent: { ...parent, chain: { ...parent.chain, responseId: null } } }, /kept no/],
    [
      {
        parent: { ...parent, stopReason: "interrupted", chain: { ...parent.chain, responseId: null } } as typeof parent,
      },
      /interrupted/,
    ],
  ];
  for (const [change, reason] of cases) {
    const decision = decideChain({ ...question, ...change });
    assert.ok("rebuild" in decision && reason.test(decision.rebuild), JSON.stringify(decision));
  }
  assert.deepEqual(decideChain({ ...question, now: 99 * limits.chainMarginMs - 1 }), { use: "resp_1" });
});
