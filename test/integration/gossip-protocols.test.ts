import { expect, test } from "vitest";
import { neverAborted, startDeadline, systemClock } from "../../src/base/index.ts";
import { createMember, type Member } from "../../src/gossip/index.ts";

async function whenSeen(member: Member, name: string, state: string): Promise<void> {
  using deadline = startDeadline(systemClock, 10_000);
  await new Promise<void>((resolve, reject) => {
    const stop = () => reject(deadline.signal.reason);
    const look = () => {
      if (!member.members().some((each) => each.name === name && each.state === state)) return;
      subscription[Symbol.dispose]();
      deadline.signal.removeEventListener("abort", stop);
      resolve();
    };
    const subscription = member.subscribe(look);
    deadline.signal.addEventListener("abort", stop);
    look();
  });
}

// TestMemberlist_Join_protocolVersions, TestMemberlist_Join_Protocol_Compatibility, TestMemberlistProtocolVersion
test.each([
  [2, 1],
  [2, 3],
  [3, 2],
  [3, 1],
  [5, 1],
  [1, 1],
])("a member that speaks protocol %i and one that speaks %i become one cluster and see each other leave", async (one, other) => {
  const encryptionKeys = [new Uint8Array(16).fill(7)];
  for (const more of [{ gossipIntervalMs: 20 }, { gossipIntervalMs: 20, encryptionKeys }]) {
    await using a = await createMember({ name: "a", bindHost: "127.0.0.1", bindPort: 0, protocolVersion: one, ...more });
    // Protocol 1 tells no ports, so all members of a cluster use one.
    const { port } = a.address;
    const b = await createMember({ name: "b", bindHost: "127.0.0.2", bindPort: port, protocolVersion: other, ...more });
    try {
      expect(await b.join([a.address], neverAborted)).toBe(1);
      await Promise.all([whenSeen(a, "b", "alive"), whenSeen(b, "a", "alive")]);
      expect(a.members().map(({ host, port: at }) => `${host}:${at}`)).toEqual([`127.0.0.1:${port}`, `127.0.0.2:${port}`]);
    } finally {
      await b.close();
    }
    await whenSeen(a, "b", "left");
  }
});
