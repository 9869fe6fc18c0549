import { until } from "./until.ts";

/** Time limits of a load balancer for tests of what happens, not of how fast: a busy machine must not decide them. */
export const patientDatabase = { probeTimeoutMs: 10_000, connectTimeoutMs: 30_000 } as const;

/** The same, of sticking. */
export const patientSticking = { storeTimeoutMs: 10_000, replicaPositionTimeoutMs: 10_000, primaryPositionTimeoutMs: 10_000 } as const;

/** Waits until every server has answered and may be used: the first checks may take longer than a load balancer waits for them. */
export async function allUsable(lb: { readonly status: readonly { readonly usable: boolean }[] }): Promise<void> {
  await until("every server may be used", () => lb.status.every(({ usable }) => usable), 60_000);
}
