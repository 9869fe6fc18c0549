import type { Host, Lease } from "../hosts/host.ts";
import type { Permit } from "./permit.ts";

/** The host, for work that keeps its connection: the permit is given back with it. */
export function heldHost(host: Host, permit: Permit): Pick<Host, "acquire" | "name" | "role"> {
  return {
    name: host.name,
    role: host.role,
    acquire: async (signal) => {
      const lease = await host.acquire(signal);
      const held = permit.retain();
      return {
        query: lease.query,
        get transactionStatus(): Lease["transactionStatus"] {
          return lease.transactionStatus;
        },
        discard: lease.discard,
        [Symbol.dispose]: () => {
          lease[Symbol.dispose]();
          held[Symbol.dispose]();
        },
      };
    },
  };
}
