import { expect, test } from "vitest";
import { Ring } from "../../../src/ring/index.ts";
import { decide, type Intent, type MemberStatus, type MemberView, ringKey } from "../../../src/routing/index.ts";
import { memberInfo } from "../../support/member-view.ts";

const repository = { storageName: "default", relativePath: "group/app.git" };
const read: Intent = { kind: "read", aware: true, hops: 0, replicas: undefined };
const serve = { unawareClients: "serve" } as const;

function view(self: string, statuses: Record<string, MemberStatus>, replicas = 1): MemberView {
  const members = Object.entries(statuses).map(([name, status]) => memberInfo(name, { status }));
  const sites = members.filter(({ status }) => status === "ready" || status === "suspect");
  return { self, members, ring: new Ring(sites, { replicas }) };
}

const five: Record<string, MemberStatus> = { n1: "ready", n2: "ready", n3: "ready", n4: "ready", n5: "ready" };
const ownersOf = (v: MemberView, k?: number) => v.ring.owners(ringKey("default", "group/app.git"), k).map(({ name }) => name);

test("every node sends a call to the same owner, and the owner serves it", () => {
  const [owner] = ownersOf(view("n1", five)) as [string];
  for (const self of Object.keys(five)) {
    const decision = decide(view(self, five), repository, read, serve);
    if (self === owner) expect(decision).toEqual({ kind: "local" });
    else expect(decision).toMatchObject({ kind: "redirect", owners: [{ name: owner }], fingerprint: view(self, five).ring.fingerprint });
  }
});

test("any of the k owners serves", () => {
  const owners = ownersOf(view("n1", five, 3));
  for (const self of owners) expect(decide(view(self, five, 3), repository, { ...read, kind: "write" }, serve)).toEqual({ kind: "local" });
});

test("a call may ask for its own k", () => {
  const owners = ownersOf(view("n1", five), 5);
  expect(decide(view(owners[4] as string, five), repository, { ...read, replicas: 5 }, serve)).toEqual({ kind: "local" });
  expect(decide(view(owners[4] as string, five), repository, read, serve)).toMatchObject({ kind: "redirect" });
});

// B77
test("a call that was redirected twice is served, whatever this node thinks of the owners", () => {
  const [owner] = ownersOf(view("n1", five)) as [string];
  const other = Object.keys(five).find((name) => name !== owner) as string;
  expect(decide(view(other, five), repository, { ...read, hops: 1 }, serve)).toMatchObject({ kind: "redirect" });
  expect(decide(view(other, five), repository, { ...read, hops: 2 }, serve)).toEqual({ kind: "local" });
});

test("suspect owners are listed last", () => {
  const owners = ownersOf(view("n1", five, 3));
  const outsider = Object.keys(five).find((name) => !owners.includes(name)) as string;
  const decision = decide(view(outsider, { ...five, [owners[0] as string]: "suspect" }, 3), repository, read, serve);
  expect(decision).toMatchObject({ kind: "redirect", owners: [{ name: owners[1] }, { name: owners[2] }, { name: owners[0] }] });
});

test("a client that does not follow is served, unless the node is told to refuse it", () => {
  const [owner] = ownersOf(view("n1", five)) as [string];
  const other = view(Object.keys(five).find((name) => name !== owner) as string, five);
  expect(decide(other, repository, { ...read, aware: false }, serve)).toEqual({ kind: "local" });
  expect(decide(other, repository, { ...read, aware: false }, { unawareClients: "refuse" })).toMatchObject({
    kind: "refuse",
    owners: [{ name: owner }],
  });
});

test("a node without any site beside it serves", () => {
  expect(decide(view("n1", { n1: "draining" }), repository, read, serve)).toEqual({ kind: "local" });
});

test("a draining node redirects to the sites that are left", () => {
  expect(decide(view("n1", { n1: "draining", n2: "ready" }), repository, read, serve)).toMatchObject({
    kind: "redirect",
    owners: [{ name: "n2" }],
  });
});

test("a draining node serves what another node sent to it, and clients that do not follow", () => {
  const draining = view("n1", { n1: "draining", n2: "ready" });
  expect(decide(draining, repository, { ...read, hops: 1 }, serve)).toEqual({ kind: "local" });
  expect(decide(draining, repository, { ...read, aware: false }, serve)).toEqual({ kind: "local" });
});

// B23
test("when a fourth node joins, about a quarter of the repositories move, all of them to it, and each has one owner in every view", () => {
  const three = { n1: "ready", n2: "ready", n3: "ready" } as const;
  const before = view("n1", three);
  const after = view("n1", { ...three, n4: "ready" });
  const paths = Array.from({ length: 1000 }, (_, i) => `group/repo-${i}.git`);
  const moved = paths.filter(
    (path) => before.ring.owners(ringKey("default", path))[0]?.name !== after.ring.owners(ringKey("default", path))[0]?.name,
  );
  expect(moved.length).toBeGreaterThan(195);
  expect(moved.length).toBeLessThan(305);
  for (const path of moved) expect(after.ring.owners(ringKey("default", path))[0]?.name).toBe("n4");
});
