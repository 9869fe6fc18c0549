import { expect, test } from "vitest";
import { watchRing } from "../../../../src/services/cluster/watch-ring.ts";
import { fakeMember, fakeView, ServicesFixture } from "../../../support/services-fixture.ts";

const one = fakeView([fakeMember("n1")]);
const two = fakeView([fakeMember("n1"), fakeMember("n2")]);

test("the ring comes now and at each change, until the call ends", async () => {
  const fixture = new ServicesFixture();
  fixture.setView(one);
  const controller = new AbortController();
  const rings = watchRing(fixture.deps)({}, fixture.call(controller.signal));
  expect((await rings.next()).value).toMatchObject({
    ringFingerprint: one.ring.fingerprint,
    replicas: 1,
    hashSeed: "0",
    sites: [{ name: "n1" }],
  });
  const next = rings.next();
  fixture.setView(two);
  expect((await next).value).toMatchObject({ ringFingerprint: two.ring.fingerprint, sites: [{ name: "n1" }, { name: "n2" }] });
  const last = rings.next();
  controller.abort();
  expect((await last).done).toBe(true);
  expect(fixture.listeners.size).toBe(0);
});

test("a change that leaves the sites as they are is not sent, and a slow reader gets the newest", async () => {
  const fixture = new ServicesFixture();
  fixture.setView(one);
  const rings = watchRing(fixture.deps)({}, fixture.call());
  await rings.next();
  const next = rings.next();
  fixture.setView(fakeView([fakeMember("n1"), fakeMember("n3", { status: "failed" })]));
  await new Promise((resolve) => setImmediate(resolve));
  fixture.setView(two);
  fixture.setView(fakeView([fakeMember("n1", { zone: "z" })]));
  expect((await next).value).toMatchObject({ sites: [{ name: "n1", zone: "z" }] });
  await rings.return(undefined);
  expect(fixture.listeners.size).toBe(0);
});
