import { expect, test } from "vitest";
import { createLoadBalancer } from "../../src/db/index.ts";
import { DrivenClock } from "../support/driven-clock.ts";
import { allUsable, patientDatabase, patientSticking } from "../support/patient-database.ts";
import { type PostgresServer, startPostgresCluster } from "../support/postgres-cluster.ts";
import { statusOf } from "../support/reading-servers.ts";
import { until } from "../support/until.ts";

// Case 24, B119
test.each(["everything", "not the newest writes"])(
  "what was written before a failover sticks to the new primary until it expires, whose log has %s of the old one's",
  async (kept) => {
    await using cluster = await startPostgresCluster({ replicas: 2 });
    const [first, second] = cluster.replicas as [PostgresServer, PostgresServer];
    await cluster.sql(cluster.primary, "CREATE TABLE t (id int)");
    await cluster.caughtUp();
    await using clock = new DrivenClock();
    const servers = [cluster.primary, first, second].map(({ port }) => `127.0.0.1:${port}`).join(",");
    await using lb = await createLoadBalancer(
      {
        ...patientDatabase,
        primary: `postgres://postgres@${servers}/postgres`,
        sticking: { ...patientSticking, secret: "a secret for position tokens" },
      },
      { clock },
    );
    await allUsable(lb);
    const port = async () => Number((await lb.query<{ port: string }>("SELECT current_setting('port') AS port")).rows[0]?.port);
    const readers = async (session: { stick?: [string, number][]; token?: string }) =>
      new Set(await Promise.all(Array.from({ length: 10 }, () => lb.session(session, port))));
    const write = (user: number) =>
      lb.session({ stick: [["user", user]] }, async () => {
        await lb.query("INSERT INTO t VALUES ($1)", [user]);
        return (await lb.positionToken()) as string;
      });

    const loses = kept !== "everything";
    if (loses) {
      for (const server of [first, second]) await server.stop();
      // So that the old log's place is beyond whatever the new one writes here.
      await cluster.sql(cluster.primary, "INSERT INTO t VALUES (0); SELECT pg_switch_wal()");
    }
    const token = await write(1);
    await write(4);
    await (loses ? cluster.primary.stop() : cluster.primary.shutDown());
    if (loses) await first.start();
    await first.promote();
    await until("writes go to the new primary", () =>
      write(2).then(
        () => true,
        () => false,
      ),
    );
    if (!loses) await second.shutDown();
    await second.follow(first);
    await second.start();
    await until(
      "the other replica has what was written since",
      async () => (await cluster.sql(second, "SELECT FROM t WHERE id = 2")).length > 0,
    );
    const seen = () => statusOf(lb, second);
    await until("it serves reads, and is known to have changed over", () => seen()?.usable === true && seen()?.timeline === 2);

    expect(await readers({ stick: [["user", 1]] })).toEqual(new Set([first.port]));
    expect(await readers({ token })).toEqual(new Set([first.port]));
    expect(await readers({ stick: [["user", 3]] })).toEqual(new Set([second.port]));
    // Who writes again follows the new log at once, wherever the old one ended.
    await write(4);
    await until("a write of now is followed", async () => !(await readers({ stick: [["user", 4]] })).has(first.port));
    expect(await readers({ stick: [["user", 1]] })).toEqual(new Set([first.port]));
    clock.stepMs = 50;
    await clock.pass(30_000);
    clock.stepMs = 2;
    expect(await readers({ stick: [["user", 1]] })).toEqual(new Set([second.port]));
    expect(await readers({ token })).toEqual(new Set([second.port]));
  },
  60_000,
);
