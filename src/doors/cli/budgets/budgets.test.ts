/** `aptove budget set | list | remove` (F11). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { cliWorld } from "../../../../testing/cli.ts";

test("[F11] [L1] budgets are set, shown with what is left, used up, and removed", async (t) => {
  const on = await cliWorld(t);
  assert.match((await on.run(["budget", "list"])).stderr, /there are no budgets; set one/);
  assert.equal((await on.run(["ask", "hello"])).exit, 0);
  const set = await on.run(["budget", "set", "session", "1_000", "--tokens"]);
  assert.match(
    set.stdout,
    /^budget \w{8}: session \w{8}, in total, 0 tokens of 1,000 tokens spent, 1,000 tokens left$/m,
  );
  assert.equal((await on.run(["budget", "set", "person", "2.50", "--day"])).exit, 0);
  assert.equal((await on.run(["budget", "set", "org", "$500", "--unknown-price", "5", "--wait"])).exit, 0);
  const { stdout } = await on.run(["budget", "list"]);
  assert.match(stdout, /^\w+ +person owner, each day +\$0\.0000 of \$2\.5000 spent, \$2\.5000 left/m);
  assert.match(
    stdout,
    /^\w+ +your org, in total .*turns wait at the limit, models without a price count \$5 for a million/m,
  );

  const refused = await on.run(["ask", "more", "--continue"]);
  assert.equal(refused.exit, 1);
  assert.match(
    refused.stderr,
    /could use up to [\d,]+ tokens, but budget \w{8} \(for this session, in total\) has 1,000 tokens left \(0 tokens of 1,000 tokens spent\); raise the budget, or .* \(budget_exceeded\)\nfix: aptove budget/,
  );
  const dry = await on.run(["ask", "more", "--continue", "--dry-run"]);
  assert.match(dry.stdout, /^budget of the session in total: 1,000 tokens left of .*, so it would not be made$/m);

  const { budgets } = JSON.parse((await on.run(["budget", "list", "--json"])).stdout) as {
    budgets: { id: string; scope: string; limit: number; left: number }[];
  };
  assert.deepEqual(
    budgets.map(({ scope, limit }) => [scope, limit]),
    [
      ["session", 1_000],
      ["person", 2.5],
      ["org", 500],
    ],
  );
  assert.equal((await on.run(["budget", "remove", budgets[0]?.id.slice(-8, -2) ?? ""])).exit, 0);
  const alike = await on.run(["budget", "remove", budgets[1]?.id.slice(0, 4) ?? ""]);
  assert.match(alike.stderr, /matches 2 budgets: .* \(usage\)/);
  const none = await on.run(["budget", "remove", "ffff"]);
  assert.match(none.stderr, /there is no budget "ffff" \(not_found\)\nfix: see: aptove budget list/);
  assert.equal((await on.run(["ask", "more", "--continue"])).exit, 0);
});

test("[F11] [L1] a turn that waits for its budget says so in words, and has the exit code of a failure", async (t) => {
  const on = await cliWorld(t);
  assert.equal((await on.run(["ask", "hello"])).exit, 0);
  await on.run(["budget", "set", "session", "1", "--tokens", "--wait"]);
  const waiting = await on.run(["ask", "--continue", "more"]);
  assert.deepEqual([waiting.exit, waiting.stdout], [1, ""]);
  assert.match(
    waiting.stderr,
    /^the turn waits for approval: .*could use up to [\d,]+ tokens, but budget \w{8} \(for this session/m,
  );
  assert.match(waiting.stderr, /^there is no answer yet; allow or deny it: aptove chat -s \w{8}$/m);
  assert.doesNotMatch(waiting.stderr, /pass_budget|[{}]/);
  assert.equal((await on.run(["ask", "--continue", "again", "--json"])).exit, 1);
});

test("[F11] [L1] a budget that does not make sense is refused, with what to write", async (t) => {
  const on = await cliWorld(t);
  const fails = async (pattern: RegExp, ...argv: string[]): Promise<void> => {
    const run = await on.run(["budget", ...argv]);
    assert.notEqual(run.exit, 0);
    assert.match(run.stderr, pattern);
  };
  await fails(/"much" is not an amount.*\nfix: give US dollars: 2\.50/, "set", "person", "much");
  await fails(/"2\.5" is not an amount.*\nfix: give tokens: 200000/, "set", "person", "2.5", "--tokens");
  await fails(/which key\?.*\nfix: name it: --of <key>/, "set", "key", "1");
  await fails(/there is no user "Grace"/, "set", "person", "1", "--of", "Grace");
  await fails(/there is no session about/, "set", "session", "1");
  await fails(/a budget is from 0 to \$1000000/, "set", "person", "1000001");
  await fails(/only a budget in dollars/, "set", "person", "10", "--tokens", "--unknown-price", "5");
  await fails(/there is no budget "abcd"/, "remove", "abcd");
});
