import { expect, test } from "vitest";
import { CodedError } from "../../../src/base/index.ts";
import type { CliConfigInput } from "../../../src/cli/index.ts";
import { fakeServer, runFakeCli, StandingClock } from "../../support/fake-cli.ts";

test("a ready node prints its name, its places and the next commands, and a signal drains it", async () => {
  const calls: string[] = [];
  let signal = () => {};
  const { code, stdout, stderr } = await runFakeCli("serve", {
    deps: { createServer: async () => fakeServer({ calls }) },
    onStart: (deliver) => {
      signal = deliver;
    },
    onStdout: (all) => {
      if (all.endsWith("one stops at once\n")) signal();
    },
  });
  expect([code, stderr, calls]).toEqual([0, "", ["drain"]]);
  expect(stdout).toBe(`gitaly 1.2.3: node host:8075 is ready

data dir  /home/u/gitaly
gRPC      127.0.0.1:8075
HTTP      127.0.0.1:8076
gossip    127.0.0.1:7946

create a repository  npx gitaly repo create demo/app.git
push to it           git push http://127.0.0.1:8076/demo/app.git main
add a node           npx gitaly serve --join-addr http://127.0.0.1:8075
stop                 Ctrl-C, or SIGTERM; a second one stops at once
draining; a second signal stops at once
`);
});

test.each([
  [
    { grpc: "127.0.0.1:9000", http: "127.0.0.1:9001" },
    undefined,
    " --addr http://127.0.0.1:9000",
    "http://127.0.0.1:9001",
    "http://127.0.0.1:9000",
  ],
  [{ grpc: "0.0.0.0:8075", http: "[::]:8076" }, undefined, "", "http://127.0.0.1:8076", "http://127.0.0.1:8075"],
  [
    { grpc: "0.0.0.0:8075", http: "0.0.0.0:8076" },
    "10.0.0.1",
    " --addr http://10.0.0.1:8075",
    "http://10.0.0.1:8076",
    "http://10.0.0.1:8075",
  ],
  [{ grpc: "[::1]:9000", http: "[::1]:9001" }, undefined, " --addr http://[::1]:9000", "http://[::1]:9001", "http://[::1]:9000"],
])("the commands name addresses that can be reached: %j", async (addresses, advertiseHost, addr, http, join) => {
  let signal = () => {};
  const { stdout } = await runFakeCli("serve", {
    deps: {
      loadConfig: () => ({ advertiseHost, ignored: [] }),
      createServer: async () => fakeServer({ info: { ...fakeServer().info, ...addresses } }),
    },
    onStart: (deliver) => {
      signal = deliver;
    },
    onStdout: (all) => {
      if (all.endsWith("one stops at once\n")) signal();
    },
  });
  expect(stdout).toContain(`repo create demo/app.git${addr}\n`);
  expect(stdout).toContain(`git push ${http}/demo/app.git main\n`);
  expect(stdout).toContain(`serve --join-addr ${join}\n`);
});

test("while it warms it says once what it waits for", async () => {
  const clock = new StandingClock();
  let ready = () => {};
  let signal = () => {};
  let asked = 0;
  const server = fakeServer({
    whenReady: () =>
      new Promise<void>((resolve) => {
        ready = resolve;
      }),
    waitingFor: () => {
      asked++;
      if (asked === 4) queueMicrotask(ready);
      else setImmediate(() => clock.advance(1000));
      return asked < 3 ? "a member of the cluster at http://a:8075" : "the object store";
    },
  });
  const { code, stdout } = await runFakeCli("serve", {
    deps: {
      clock,
      createServer: async () => {
        setImmediate(() => clock.advance(1000));
        return server;
      },
    },
    onStart: (deliver) => {
      signal = deliver;
    },
    onStdout: (all) => {
      if (all.endsWith("one stops at once\n")) signal();
    },
  });
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /^not ready yet: a member of the cluster at http:\/\/a:8075\nnot ready yet: the object store\ngitaly 1\.2\.3: node/,
  );
});

test("a signal while it warms drains it too", async () => {
  const calls: string[] = [];
  const { code, stdout } = await runFakeCli("serve", {
    deps: {
      createServer: async () =>
        fakeServer({
          calls,
          whenReady: (signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
        }),
    },
    onStart: (deliver) => void setImmediate(deliver),
  });
  expect([code, calls]).toEqual([0, ["drain"]]);
  expect(stdout).toBe("draining; a second signal stops at once\n");
});

test("a second signal destroys the node and ends at once", async () => {
  const calls: string[] = [];
  const clock = new StandingClock();
  let signal = () => {};
  const { code, stderr } = await runFakeCli("serve", {
    deps: {
      clock,
      createServer: async () =>
        fakeServer({
          calls,
          drain: () => {
            calls.push("drain");
            setImmediate(() => {
              clock.advance(1000);
              signal();
            });
            return new Promise(() => {});
          },
        }),
    },
    onStart: (deliver) => {
      signal = deliver;
    },
    onStdout: (all) => {
      if (all.endsWith("one stops at once\n") && calls.length === 0) signal();
    },
  });
  expect([code, stderr, calls]).toEqual([1, "", ["drain", "destroy"]]);
});

test("a node that does not close at once is given up, and what may be left is said", async () => {
  const clock = new StandingClock();
  const { code, stderr } = await runFakeCli("serve", {
    deps: {
      clock,
      createServer: async () =>
        fakeServer({
          whenReady: () => new Promise(() => {}),
          drain: () => new Promise(() => {}),
          destroy: () => {
            setImmediate(() => clock.advance(2000));
            return new Promise(() => {});
          },
        }),
    },
    onStart: (deliver) =>
      void setImmediate(() => {
        deliver();
        clock.advance(1000);
        deliver();
      }),
  });
  expect(code).toBe(1);
  expect(stderr).toBe(
    "gitaly: not everything was closed in time; an embedded PostgreSQL may still run: the next node that uses its directory stops it at its end\n",
  );
});

test("a signal that comes twice within a second, as Ctrl-C through npm does, still drains", async () => {
  const calls: string[] = [];
  const clock = new StandingClock();
  const { code } = await runFakeCli("serve", {
    deps: { clock, createServer: async () => fakeServer({ calls, whenReady: () => new Promise(() => {}) }) },
    onStart: (deliver) =>
      void setImmediate(() => {
        deliver();
        clock.advance(999);
        deliver();
      }),
  });
  expect([code, calls]).toEqual([0, ["drain"]]);
});

test("two signals before there is a node end at once", async () => {
  const clock = new StandingClock();
  const { code } = await runFakeCli("serve", {
    deps: { clock, createServer: () => new Promise(() => {}) },
    onStart: (deliver) =>
      void setImmediate(() => {
        deliver();
        clock.advance(1000);
        deliver();
      }),
  });
  expect(code).toBe(1);
});

test("what forces the node to close ends the process with 1 and one line", async () => {
  const calls: string[] = [];
  const { code, stderr } = await runFakeCli("serve", {
    deps: {
      createServer: async () =>
        fakeServer({
          calls,
          whenReady: () => new Promise(() => {}),
          closed: Promise.reject(new CodedError("cluster_mismatch", "the peer belongs to another cluster", { own: "a1", theirs: "b2" })),
        }),
    },
  });
  expect([code, calls]).toEqual([1, ["destroy"]]);
  expect(stderr).toBe("gitaly: the peer belongs to another cluster (own: a1, theirs: b2)\n");
});

test("a data directory in use names the running node and what to do", async () => {
  const { code, stderr } = await runFakeCli("serve", {
    deps: {
      createServer: () =>
        Promise.reject(
          new CodedError("data_dir_in_use", "another node uses the data directory", {
            pid: 7,
            node: "a:1",
            joinWith: "gitaly serve --join-addr http://127.0.0.1:8075",
          }),
        ),
    },
  });
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /^gitaly: another node uses the data directory \(pid: 7, node: a:1\)\nhint: .*: npx gitaly serve --join-addr http:\/\/127\.0\.0\.1:8075; .*\n$/,
  );
});

test("every problem of the configuration is a line of its own, exit code 2", async () => {
  const problems = [
    { code: "bad_config", where: "gitaly.toml:3", name: "cluster.replicas", message: "must be a whole number" },
    { code: "bad_config", where: "", name: "listen_addr", message: "is open" },
  ];
  const { code, stderr } = await runFakeCli("serve", {
    deps: {
      loadConfig: () => {
        throw new CodedError("bad_config", "the configuration is wrong", { problems });
      },
    },
  });
  expect(code).toBe(2);
  expect(stderr).toBe("gitaly: gitaly.toml:3: cluster.replicas: must be a whole number\ngitaly: listen_addr: is open\n");
});

test("flags reach the configuration under their own names, repeated ones as lists", async () => {
  let seen: CliConfigInput | undefined;
  const line = "serve --config f --join-addr a --join-addr b --node-name n --data-dir d --listen-addr l --http-addr h --gossip-addr g";
  const more =
    "--advertise-host ah --advertise-http au --object-storage o --database p --database r --token-file t --ready-file rf --insecure";
  const { code } = await runFakeCli(`${line} ${more}`, {
    env: { A: "1" },
    deps: {
      loadConfig: (input) => {
        seen = input;
        throw new CodedError("bad_config", "enough seen");
      },
    },
  });
  expect(code).toBe(2);
  expect(seen?.env).toEqual({ A: "1" });
  expect(seen?.flags).toEqual({
    config: "f",
    "join-addr": ["a", "b"],
    "node-name": "n",
    "data-dir": "d",
    "listen-addr": "l",
    "http-addr": "h",
    "gossip-addr": "g",
    "advertise-host": "ah",
    "advertise-http": "au",
    "object-storage": "o",
    database: ["p", "r"],
    "token-file": "t",
    "ready-file": "rf",
    insecure: true,
  });
});

test("what the configuration gives without effect is named", async () => {
  let signal = () => {};
  const { stdout } = await runFakeCli("serve", {
    deps: { loadConfig: () => ({ advertiseHost: undefined, ignored: ["bin_dir", "prometheus"] }), createServer: async () => fakeServer() },
    onStart: (deliver) => {
      signal = deliver;
    },
    onStdout: (all) => {
      if (all.endsWith("one stops at once\n")) signal();
    },
  });
  expect(stdout).toMatch(/^ignored, they have no effect here: bin_dir, prometheus\n/);
});
