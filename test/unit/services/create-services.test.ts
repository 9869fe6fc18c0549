import { expect, test } from "vitest";
import { packageDefinition } from "../../../src/proto/index.ts";
import { createServices } from "../../../src/services/index.ts";
import { ServicesFixture } from "../../support/services-fixture.ts";

test("every RPC of our .proto files has a handler, and no handler is without its RPC", () => {
  const defined = Object.entries(packageDefinition)
    .filter(([name, definition]) => /^gitaly(_gossip\.v1)?\.\w+$/.test(name) && !("format" in definition))
    .flatMap(([service, methods]) => Object.keys(methods).map((method) => `${service}/${method}`));
  const handled = Object.entries(createServices(new ServicesFixture().deps)).flatMap(([service, handlers]) =>
    Object.keys(handlers).map((method) => `${service}/${method}`),
  );
  expect(handled.sort()).toEqual(defined.sort());
});
