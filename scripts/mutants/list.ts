/** All faults that are kept. A fault that the tests once missed is added here with the test that notices it now. */
import { doorFaults } from "./door-faults.ts";
import { embeddedFaults } from "./embedded-faults.ts";
import { engineFaults } from "./engine-faults.ts";
import { liveFaults } from "./live-faults.ts";
import type { Mutant } from "./mutant.ts";
import { storeFaults } from "./store-faults.ts";
import { summaryFaults } from "./summary-faults.ts";

export const allMutants: readonly Mutant[] = [
  ...storeFaults,
  ...embeddedFaults,
  ...engineFaults,
  ...liveFaults,
  ...summaryFaults,
  ...doorFaults,
];
