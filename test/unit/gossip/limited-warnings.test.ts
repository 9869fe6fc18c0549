import { expect, test } from "vitest";
import { LimitedWarnings } from "../../../src/gossip/limited-warnings.ts";
import { silentLogger } from "../../../src/observability/index.ts";
import { SimClock } from "../../support/sim-clock.ts";

test("each kind of warning is said once a minute, with how often it was not said in between", async () => {
  const clock = new SimClock();
  const said: string[] = [];
  const logger = { ...silentLogger, warn: (message: string, fields?: object) => void said.push(`${message} ${JSON.stringify(fields)}`) };
  const warnings = new LimitedWarnings({ clock, logger });
  for (let peer = 1; peer <= 4; peer++) warnings.warn("a", { peer });
  warnings.warn("b", { peer: 1 });
  await clock.advance(59_999);
  warnings.warn("a", { peer: 5 });
  await clock.advance(1);
  warnings.warn("a", { peer: 6 });
  await clock.advance(60_000);
  warnings.warn("a", { peer: 7 });
  expect(said).toEqual(['a {"peer":1}', 'b {"peer":1}', 'a {"peer":6,"unsaid":4}', 'a {"peer":7}']);
});
