import { eventLogSuite } from "../event-log.suite.ts";
import { wakeUpsSuite } from "../wake-ups.suite.ts";
import { memoryEventLog } from "./memory-event-log.ts";
import { memoryWakeUps } from "./memory-wake-ups.ts";

eventLogSuite("the live log in memory", () => ({ log: memoryEventLog(), reopen: null }));
wakeUpsSuite("wake-ups in memory", async () => {
  const wakeUps = memoryWakeUps();
  return [wakeUps, wakeUps];
});
