import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { ConnectionPool, type PooledConnection } from "../../../../src/db/hosts/connection-pool.ts";
import type { RoleClient } from "../../../../src/db/hosts/role-client.ts";
import { SimClock } from "../../../support/sim-clock.ts";

class FakeClient extends EventEmitter {
  ended = false;
  readonly #opens: Promise<void>;

  constructor(opens: Promise<void>) {
    super();
    this.#opens = opens;
  }

  connect(): Promise<void> {
    return this.#opens;
  }

  async end(): Promise<void> {
    this.ended = true;
  }
}

function scene({
  size = 2,
  opens = () => Promise.resolve(),
  onCreate = () => {},
}: {
  size?: number;
  opens?: () => Promise<void>;
  onCreate?: () => void;
} = {}) {
  const clock = new SimClock();
  const clients: FakeClient[] = [];
  const idleErrors: Error[] = [];
  const pool = new ConnectionPool(
    { size, waitMs: 2000, idleTimeoutMs: 10_000, maxLifetimeMs: 60_000 },
    {
      clock,
      create: () => {
        onCreate();
        const client = new FakeClient(opens());
        clients.push(client);
        return client as unknown as RoleClient;
      },
      verify: async () => {},
      onIdleError: (error) => idleErrors.push(error),
    },
  );
  const wait = () => new Promise<PooledConnection>((granted, refused) => pool.wait({ granted, refused }));
  const lend = async () => pool.take() ?? (await wait());
  return { clock, clients, idleErrors, pool, lend };
}

const open = (clients: readonly FakeClient[]) => clients.filter(({ ended }) => !ended).length;

test("the connection used last is lent first, and no more are opened than are needed at once", async () => {
  const { clients, pool, lend } = scene();
  const [first, second] = [await lend(), await lend()];
  pool.give(first);
  pool.give(second);
  expect(await lend()).toBe(second);
  expect(clients).toHaveLength(2);
});

test("who waits longest is served first, by a connection that comes back", async () => {
  const { pool, lend } = scene({ size: 1 });
  const only = await lend();
  const served: string[] = [];
  const note = (name: string) => (connection: PooledConnection) => {
    served.push(name);
    pool.give(connection);
  };
  const waits = [lend().then(note("first")), lend().then(note("second"))];
  pool.give(only);
  await Promise.all(waits);
  expect(served).toEqual(["first", "second"]);
});

test("a wait ends after its time, and another one may still be served", async () => {
  const { clock, pool, lend } = scene({ size: 1 });
  const only = await lend();
  const early = lend().catch((error: Error) => error.message);
  await clock.advance(1500);
  const late = lend();
  await clock.advance(600);
  expect(await early).toBe("timeout exceeded when trying to connect");
  pool.give(only);
  expect(await late).toBe(only);
});

test("who gives up is not served, and what was opened for him is kept", async () => {
  let opened = () => {};
  const { pool, lend } = scene({ opens: () => new Promise((resolve) => (opened = resolve)) });
  const told: unknown[] = [];
  const waiter = { granted: () => told.push("granted"), refused: () => told.push("refused") };
  pool.wait(waiter);
  expect([pool.withdraw(waiter), pool.withdraw(waiter)]).toEqual([true, false]);
  opened();
  await expect.poll(() => pool.idle).toBe(1);
  expect((await lend()).state).toBe("lent");
  expect(told).toEqual([]);
});

test("a connection that cannot be opened fails one wait, and leaves its place to the next", async () => {
  let works = false;
  const { pool, lend } = scene({ size: 1, opens: () => (works ? Promise.resolve() : Promise.reject(new Error("refused"))) });
  const first = lend().catch((error: Error) => error.message);
  const second = lend();
  works = true;
  expect(await first).toBe("refused");
  expect((await second).state).toBe("lent");
  expect(pool.total).toBe(1);
});

test("a client that cannot even be made fails one wait each, and none once it can", async () => {
  let works = false;
  const onCreate = () => {
    if (!works) throw new Error("no such file");
  };
  const { pool, lend } = scene({ onCreate });
  const reasons = await Promise.all([lend(), lend(), lend()].map((wait) => wait.catch((error: Error) => error.message)));
  expect(reasons).toEqual(["no such file", "no such file", "no such file"]);
  expect([pool.total, pool.users]).toEqual([0, 0]);
  works = true;
  expect((await lend()).state).toBe("lent");
});

test("unused connections are closed after their time, old ones when they come back", async () => {
  const { clock, clients, pool, lend } = scene();
  const [first, second] = [await lend(), await lend()];
  pool.give(first);
  await clock.advance(6000);
  pool.give(second);
  await clock.advance(5000);
  expect(clients.map(({ ended }) => ended)).toEqual([true, false]);
  const again = await lend();
  await clock.advance(60_000);
  pool.give(again);
  expect(open(clients)).toBe(0);
  expect(pool.total).toBe(0);
});

test.each(["broken", "unwanted"] as const)("a connection that is %s does not come back", async (flaw) => {
  const { clients, pool, lend } = scene();
  const one = await lend();
  one[flaw] = true;
  pool.give(one);
  expect([open(clients), pool.idle]).toEqual([0, 0]);
});

test("a connection that dies unused is left out, one that dies in use when it comes back", async () => {
  const { clients, idleErrors, pool, lend } = scene();
  const [first, second] = [await lend(), await lend()];
  pool.give(first);
  for (const client of clients) client.emit("error", new Error("terminated"));
  expect(idleErrors).toHaveLength(1);
  expect(pool.total).toBe(1);
  pool.give(second);
  expect([pool.total, pool.idle]).toEqual([0, 0]);
});

test("the end serves who waits already, refuses who comes, and waits for what is lent", async () => {
  const { clients, pool, lend } = scene({ size: 1 });
  const only = await lend();
  const waiting = lend();
  let ended = false;
  const end = pool.end().then(() => {
    ended = true;
  });
  await expect(lend()).rejects.toThrow("Cannot use a pool after calling end on the pool");
  pool.give(only);
  expect(await waiting).toBe(only);
  expect(ended).toBe(false);
  pool.give(only);
  await end;
  expect(open(clients)).toBe(0);
});

test("at the end, who waits gets a new connection for a broken one, and the end waits for that one, too", async () => {
  const { clock, clients, pool, lend } = scene({ size: 1 });
  const only = await lend();
  const waiting = lend();
  let ended = false;
  const end = pool.end().then(() => {
    ended = true;
  });
  only.broken = true;
  pool.give(only);
  const another = await waiting;
  await clock.advance(1);
  expect(ended).toBe(false);
  pool.give(another);
  await end;
  expect(open(clients)).toBe(0);
  expect(clock.pending).toBe(0);
});

test("a cut ends what is lent, and after the end nobody waits any longer", async () => {
  const { clients, pool, lend } = scene({ size: 1 });
  const only = await lend();
  const waiting = lend().catch((error: Error) => error.message);
  const end = pool.end();
  expect(pool.cut()).toBe(1);
  expect(await waiting).toMatch(/^Cannot use a pool/);
  pool.give(only);
  await end;
  expect(open(clients)).toBe(0);
});

test("a pool is exhausted when those who use it are the reason for a wait, also while it opens one anew", async () => {
  const opened: (() => void)[] = [];
  const openAll = () => {
    for (const resolve of opened.splice(0)) resolve();
  };
  const { clock, pool, lend } = scene({ size: 3, opens: () => new Promise((resolve) => opened.push(resolve)) });
  const lends = [lend(), lend(), lend()];
  await clock.advance(1);
  expect(pool.exhausted).toBe(false);
  openAll();
  const [first, second, third] = await Promise.all(lends);
  expect(pool.exhausted).toBe(true);
  // In place of a broken one the next is opened.
  const waiter = lend().catch((error: Error) => error.message);
  await clock.advance(1500);
  (third as PooledConnection).broken = true;
  pool.give(third as PooledConnection);
  await clock.advance(500);
  expect(await waiter).toBe("timeout exceeded when trying to connect");
  expect([pool.total, pool.exhausted]).toEqual([3, true]);
  // It does not open.
  await clock.advance(600);
  expect(pool.exhausted).toBe(false);
  openAll();
  await expect.poll(() => pool.idle).toBe(1);
  expect(pool.exhausted).toBe(false);
  for (const one of [first, second]) pool.give(one as PooledConnection);
});
