import { expect, test } from "vitest";
import { formatAddress } from "../../../src/gossip/address.ts";
import { Strangers } from "../../../src/gossip/strangers.ts";
import { SimClock } from "../../support/sim-clock.ts";
import { simRandom } from "../../support/sim-random.ts";

function create(exchangeMs: number) {
  const clock = new SimClock();
  const met: string[] = [];
  const strangers = new Strangers(
    { intervalMs: 1000, sameAddressMs: 15_000 },
    {
      clock,
      synchronize: (to) => {
        met.push(`${clock.monotonic()} ${formatAddress(to)}`);
        return clock.sleep(exchangeMs, new AbortController().signal);
      },
    },
  );
  return { clock, met, strangers };
}
const stranger = (index: number) => ({ host: `10.0.${index >> 8}.${index & 255}`, port: 7946 });

test("views are exchanged with a stranger at once, and with the same one not again for a while", async () => {
  const { clock, met, strangers } = create(10);
  for (let i = 0; i < 20; i++) {
    strangers.heard(stranger(1));
    await clock.advance(1000);
  }
  expect(met).toEqual(["0 10.0.0.1:7946", "15000 10.0.0.1:7946"]);
});

test("however many strangers there are, one exchange runs at a time and one begins in each interval", async () => {
  const { clock, met, strangers } = create(2500);
  const random = simRandom(1);
  for (let i = 0; i < 10_000; i++) {
    strangers.heard(stranger(random.int(60_000)));
    await clock.advance(1);
  }
  expect(met.map((line) => Number.parseInt(line, 10))).toEqual([0, 2500, 5000, 7500]);
});
