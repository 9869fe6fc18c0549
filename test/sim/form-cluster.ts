import { neverAborted } from "../../src/base/index.ts";
import { encodePushPull } from "../../src/gossip/codec/push-pull-message.ts";
import { versionVector } from "../../src/gossip/versions.ts";
import type { SimCluster } from "./sim-cluster.ts";
import type { SimNode } from "./sim-node.ts";

const hubHost = "192.0.2.200";

/**
 * Starts `count` members that know each other, in a fraction of the time that joining one after the other takes to simulate: a
 * stranger hands the whole view to each, and what they then tell each other, which all know, is lost on the way.
 */
export async function formCluster(cluster: SimCluster, count: number): Promise<SimNode[]> {
  const { clock, network } = cluster;
  const nodes: SimNode[] = [];
  for (let index = 1; index <= count; index++) nodes.push(await cluster.start(index));
  const hub = await network.factory(hubHost)({ host: hubHost, port: 1 });
  const view = encodePushPull({
    type: "pushPull",
    join: true,
    userState: new Uint8Array(),
    nodes: nodes.map(({ name, host }) => ({
      ...{ name, address: Uint8Array.from(host.split("."), Number), port: 7946, meta: new Uint8Array(), incarnation: 1 },
      ...{ state: "alive" as const, versions: versionVector(2, [0, 0, 0]) },
    })),
  });
  network.faults.loss = 1;
  for (const { member } of nodes) {
    const stream = await clock.until(hub.dial(member.address, neverAborted));
    await stream.write(view, neverAborted);
    while (await clock.until(stream.read(neverAborted)));
    stream.close();
  }
  await cluster.runUntil("the news is told", () => cluster.isQuiet(), 600_000, 1000);
  network.faults.loss = 0;
  await hub.close();
  await cluster.runUntil("all see all", () => cluster.isConverged(), 30_000, 1000);
  // A probe that began before counts no more.
  await cluster.run(10_000);
  return nodes;
}
