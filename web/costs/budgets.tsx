/** The budgets that count for this person, with what is used of each (F11). */
import type { WireBudget } from "../../src/client/client.ts";
import { count, money } from "../parts/numbers.ts";
import { shownText } from "../parts/shown-text.ts";

interface BudgetsProps {
  budgets: readonly WireBudget[];
  /** Returns the name of a person or a session. */
  nameOf(id: string): string;
}

export function Budgets({ budgets, nameOf }: BudgetsProps) {
  if (budgets.length === 0) return null;
  return (
    <section aria-label="Budgets">
      <h2>Budgets</h2>
      <ul class="budgets">
        {budgets.map((budget) => (
          <Budget key={budget.id} budget={budget} nameOf={nameOf} />
        ))}
      </ul>
    </section>
  );
}

const targets = { session: "Session", person: "Person", key: "Key", org: "The org" } as const;

function Budget({ budget, nameOf }: { budget: WireBudget; nameOf: BudgetsProps["nameOf"] }) {
  const { scope, targetId, period, unit, limit, spent, reserved, onLimit } = budget;
  const words = (amount: number): string => (unit === "usd" ? money(amount) : `${count(amount)} tokens`);
  const target = scope === "org" ? targets.org : `${targets[scope]} ${shownText(nameOf(targetId))}`;
  const used = spent + reserved;
  return (
    <li>
      <span>
        {target}, {period === "day" ? "each day" : "in total"}
      </span>
      <meter value={Math.min(used, limit)} max={Math.max(limit, 1e-9)} aria-label={`${target}: used`} />
      <span class="numbers dim">
        {words(spent)} of {words(limit)} used
        {reserved > 0 && `, ${words(reserved)} held for running calls`}
        {used >= limit && (onLimit === "wait" ? "; further turns wait for an approval" : "; further turns fail")}
      </span>
    </li>
  );
}
