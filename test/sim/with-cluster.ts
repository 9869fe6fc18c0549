import { SimCluster } from "./sim-cluster.ts";

/** Runs `body` with an empty cluster and stops it in any case. */
export async function withCluster(seed: number, body: (cluster: SimCluster) => Promise<void>): Promise<void> {
  const cluster = new SimCluster(seed);
  try {
    await body(cluster);
  } finally {
    await cluster.stop();
  }
}
